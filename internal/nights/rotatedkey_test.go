package nights_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"custody/internal/inbox"
)

const oldKey, newKey = "the key that both have had for a year", "the key that the producer has now"

// rotatedKey: the producer signs with a new key, of which the stack does not know.
func rotatedKey() night {
	var vault *vault
	return night{
		settings: map[string]string{"CUSTODY_SIGNING_KEYS": fmt.Sprintf(`{"k1": %q}`, oldKey)},
		functions: func(t *testing.T, w *world) string {
			vault = newVault(t, fmt.Sprintf(`{"k1": %q}`, oldKey))
			w.cloud.hasVault(w, vault)
			return withSecret(t, vault.url)
		},
		arrange: func(t *testing.T, w *world) {
			w.put(t, "2026-06-01", numbered("pod/wh-17/2026-06/", 5)...)
			w.put(t, "2026-07-20", "pod/wh-17/2026-07/001")
			// The producer tries each of five deliveries five times.
			for range 5 {
				for _, run := range fiveRuns() {
					w.sends(t, run, http.StatusUnauthorized)
				}
			}
		},
		events: map[string]func(*testing.T, *world){
			"with an editor, the producer's new key is put into keyring.json": func(t *testing.T, w *world) {
				if got := w.shell.reads(t, "keyring.json"); strings.TrimSpace(got) != fmt.Sprintf(`{"k1": %q}`, oldKey) {
					t.Errorf("keyring.json has %s", got)
				}
				w.shell.edits(t, "keyring.json", fmt.Sprintf(`{"k2": %q, "k1": {"key": %q, "not_after": "2099-12-31T00:00:00Z"}}`, newKey, oldKey))
			},
			"half a minute later the producer tries once more": func(t *testing.T, w *world) {
				// A fresh process reads the secret as one does that asked more than 30 s ago.
				w.kill(t, "webhook")
				// One after another: which of five runs at once deletes what is up to chance.
				for _, run := range fiveRuns() {
					w.sends(t, run, http.StatusNoContent)
					w.until(t, run, "is done", in(inbox.StateDone))
				}
			},
		},
		after: func(t *testing.T, w *world) {
			w.left(t, "pod/wh-17/2026-07/001")
			if status := w.delivers(t, "d-old", "r-old", "2026-07-01T00:00:00Z", "k1", oldKey); status != http.StatusNoContent {
				t.Errorf("who still has the old key is answered %d", status)
			}
			for _, line := range w.lines("webhook", time.Time{}) {
				if strings.Contains(line, oldKey) || strings.Contains(line, newKey) {
					t.Errorf("a key is in the log: %s", line)
				}
			}
		},
	}
}

func fiveRuns() []string { return []string{"r-1", "r-2", "r-3", "r-4", "r-5"} }

// sends is the producer with the delivery of a run, signed anew by the new key.
func (w *world) sends(t *testing.T, run string, want int) {
	t.Helper()
	delivery := strings.Replace(run, "r-", "d-", 1)
	if status := w.delivers(t, delivery, run, "2026-07-01T00:00:00Z", "k2", newKey); status != want {
		t.Errorf("delivery %s was answered %d, want %d", delivery, status, want)
	}
}

// withSecret is a folder with the functions whose webhook takes its keys from Secrets Manager, as a deployed one does: the local stack
// gives it the keyring itself.
func withSecret(t *testing.T, endpoint string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nunset CUSTODY_SIGNING_KEYS\nexport CUSTODY_SIGNING_SECRET=%s AWS_ENDPOINT_URL_SECRETS_MANAGER='%s'\nexec '%s'\n",
		secretName, endpoint, filepath.Join(built(), "webhook", "bootstrap"))
	problems := []error{os.Mkdir(filepath.Join(dir, "webhook"), 0o755),
		os.WriteFile(filepath.Join(dir, "webhook", "bootstrap"), []byte(script), 0o755)}
	for _, name := range []string{"cleanup", "sweeper"} {
		problems = append(problems, os.Symlink(filepath.Join(built(), name), filepath.Join(dir, name)))
	}
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// secretName is what the output SigningSecret says: an ARN, as of every secret that a stack makes.
const secretName = "arn:aws:secretsmanager:us-east-1:000000000000:secret:" + stackName + "-SigningSecret-AbCdEf"

// vault is a Secrets Manager with one secret.
type vault struct {
	url string

	mu   sync.Mutex
	text string
}

func newVault(t *testing.T, text string) *vault {
	t.Helper()
	v := &vault{text: text}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	v.url = server.URL
	return v
}

func (v *vault) value() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text
}

// ServeHTTP is GetSecretValue, which is all that the function asks.
func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" || !strings.Contains(string(body), `"`+secretName+`"`) {
		http.Error(w, `{"__type":"ResourceNotFoundException"}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	answer, _ := json.Marshal(map[string]string{"Name": secretName, "SecretString": v.value()}) // two texts always marshal
	_, _ = w.Write(answer)
}

// hasVault makes the cloud answer for the secret, and for the saved query of the refused deliveries.
func (c *cloud) hasVault(w *world, v *vault) {
	c.outputs["SigningSecret"] = secretName
	c.answers["secretsmanager get-secret-value"] = func(args []string) (string, error) {
		if flagOf(args, "--secret-id") != secretName || flagOf(args, "--query") != "SecretString" {
			return "", fmt.Errorf("(ResourceNotFoundException) when calling the GetSecretValue operation: %q", args)
		}
		return v.value(), nil
	}
	c.answers["secretsmanager put-secret-value"] = func(args []string) (string, error) {
		name, isFile := strings.CutPrefix(flagOf(args, "--secret-string"), "file://")
		text, err := os.ReadFile(filepath.Join(w.shell.dir, name))
		if err != nil || !isFile || flagOf(args, "--secret-id") != secretName {
			return "", fmt.Errorf("(Unknown) the command line is not that of the runbook: %q: %w", args, err)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.text = string(text)
		return fmt.Sprintf(`{
    "ARN": "%s",
    "Name": "%s",
    "VersionId": "5b0a6e1c-7f7d-4c5e-9d53-0c8f4e1f2a3b",
    "VersionStages": [
        "AWSCURRENT"
    ]
}`, secretName, stackName+"-SigningSecret"), nil
	}
	const asked = `filter msg = "delivery" and status = 401 | stats count(*) as answers by key_id, signature`
	c.answers["logs start-query"] = func(args []string) (string, error) {
		if flagOf(args, "--query-string") != asked || flagOf(args, "--query") != "queryId" {
			return "", fmt.Errorf("(MalformedQueryException) when calling the StartQuery operation: %q", args)
		}
		return "2d3c4b5a-0f1e-4697-8879-6a5b4c3d2e1f", nil
	}
	c.answers["logs get-query-results"] = func([]string) (string, error) {
		return w.refusedByKey(), nil
	}
}

// refusedByKey is what the query gives of what the webhook has really logged.
func (w *world) refusedByKey() string {
	counts := map[string]int{}
	for _, line := range w.lines("webhook", time.Time{}) {
		if fits, err := lineFits(`$.msg = "delivery" && $.status = 401`, line); err != nil || !fits {
			continue
		}
		var l struct {
			KeyID     string `json:"key_id"`
			Signature string `json:"signature"`
		}
		if json.Unmarshal([]byte(line), &l) == nil {
			counts[l.KeyID+"\t"+l.Signature]++
		}
	}
	var rows []string
	for key, n := range counts {
		rows = append(rows, fmt.Sprintf("%s\t%d", key, n))
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}
