package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"custody/internal/config"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const key = "correct horse"
	w, err := config.LoadWebhook([]string{"CUSTODY_STACK=trial", "CUSTODY_TABLE=inbox", "CUSTODY_BUCKET=proofs", `CUSTODY_SIGNING_KEYS={"k1":"` + key + `"}`})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%T"} {
		fmt.Fprintf(&out, verb+" "+verb+"\n", w, w.SigningKeys)
	}
	if err := json.NewEncoder(&out).Encode(w); err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "settings", w, "keys", w.SigningKeys)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "settings", w, "keys", w.SigningKeys)
	for _, leak := range []string{key, fmt.Sprintf("%x", key), fmt.Sprintf("%X", key)} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the key shows as %q in\n%s", leak, out.String())
		}
	}
	if !strings.Contains(w.SigningKeys.Reveal(), key) {
		t.Error("the key is lost")
	}
}

func TestWrongSecretIsNotShownInTheError(t *testing.T) {
	t.Parallel()
	_, err := config.LoadWebhook([]string{"CUSTODY_STACK=trial", "CUSTODY_TABLE=inbox", "CUSTODY_BUCKET=proofs", "CUSTODY_SIGNING_KEYS=correct horse"})
	if err == nil || !strings.Contains(err.Error(), "CUSTODY_SIGNING_KEYS") || strings.Contains(err.Error(), "horse") {
		t.Errorf("got %v", err)
	}
	if err := config.Check("CUSTODY_SIGNING_KEYS", "correct horse"); err == nil || strings.Contains(err.Error(), "horse") {
		t.Errorf("got %v", err)
	}
}
