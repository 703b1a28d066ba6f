package signature_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"custody/internal/signature"
)

func TestKeyHidesItself(t *testing.T) {
	t.Parallel()
	type holder struct {
		Open   signature.Key
		hidden signature.Key
		List   signature.Keys
		Ptr    *signature.Key
	}
	k := key("k2", current)
	h := holder{k, k, signature.Keys{k}, &k}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p"} {
		fmt.Fprintf(&out, verb+verb+verb, k, h, h.hidden) //nolint:govet // a verb that does not fit must not show it either
	}
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(handler).Info("x", "key", k, "holder", h, "keys", h.List, "pointer", &k)
	}
	if _, err := json.Marshal(h); err == nil {
		t.Error("a key was marshalled")
	}
	if text, err := k.MarshalText(); err == nil {
		t.Errorf("a key was marshalled to %d bytes", len(text))
	}
	_ = gob.NewEncoder(&out).Encode(k)

	for _, secret := range []string{current, fmt.Sprintf("%x", current), fmt.Sprintf("%X", current), fmt.Sprint([]byte(current))} {
		if strings.Contains(out.String(), strings.Trim(secret, "[]")) {
			t.Errorf("the key is shown as %s", secret)
		}
	}
	if !strings.Contains(out.String(), "k2") {
		t.Error("the id of the key is not shown, which is what a log is for")
	}
}
