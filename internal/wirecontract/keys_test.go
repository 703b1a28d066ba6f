package wirecontract_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"custody/internal/localaws/lambda"
)

// vault is a Secrets Manager that holds one keyring, or is down.
type vault struct {
	mu      sync.Mutex
	keyring string // empty: it is down
	calls   int
	hang    chan struct{} // not nil: it does not answer until this closes
}

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	v.mu.Lock()
	v.calls++
	keyring, hang := v.keyring, v.hang
	v.mu.Unlock()
	if hang != nil {
		<-hang
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if keyring == "" || r.Header.Get("X-Amz-Target") != "secretsmanager.GetSecretValue" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException","Message":"no"}`)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"Name": "keys", "SecretString": keyring})
}

func (v *vault) hold(keyring string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.keyring = keyring
}

func (v *vault) asked() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.calls
}

// beside starts the webhook again, beside the stack's own and on the same tables, with its keys in a vault.
func (s stack) beside(t *testing.T, v *vault) target {
	t.Helper()
	secrets := httptest.NewServer(v)
	t.Cleanup(secrets.Close)
	env := map[string]string{
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": secrets.URL, "CUSTODY_STACK": "beside", "CUSTODY_SIGNATURE_SCHEME": s.scheme.name,
		"CUSTODY_SIGNING_SECRET": "arn:aws:secretsmanager:us-east-1:123456789012:secret:keys-AbCdEf", "CUSTODY_RECORD_ONLY": "true",
		"CUSTODY_ACK_TIMEOUT": "2s", "CUSTODY_MIN_OBJECT_AGE": "0s",
	}
	for _, pair := range s.local.Env() {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "AWS_") || name == "CUSTODY_TABLE" || name == "CUSTODY_BUCKET" {
			env[name] = value
		}
	}
	f, err := lambda.NewFunction(lambda.Config{
		Name: "webhook", Binary: filepath.Join(os.Getenv(builtFunctions), "webhook", "bootstrap"), Environment: env,
		Timeout: 10 * time.Second, Memory: 256, Output: s.record.said, Concurrency: 1, // one process: one cache of keys
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	server := httptest.NewServer(lambda.NewURL(f, nil))
	t.Cleanup(server.Close)
	front := s.target
	front.url = parseURL(t, server.URL+"/")
	return front
}

// The secret is not asked for before every cheap check has passed, and one answer serves all that come after; neither a bad
// signature nor a name that cannot be a key's makes it asked for again, and an unknown name does so once.
func TestSecretIsAskedForAsSeldomAsCanBe(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			v := &vault{keyring: fmt.Sprintf(`{"k1":%q,"k2":%q}`, s.key, s.second)}
			front := s.beside(t, v)
			send := func(f fault, sentence string) {
				t.Helper()
				m := front.deliveryOf(s)
				f.spoil(&m)
				front.expect(t, f.sentence+sentence, m, f.want)
			}
			for _, f := range s.faults() {
				if f.rank < rankSignature {
					send(f, "")
				}
			}
			if n := v.asked(); n > 0 {
				t.Errorf("the secret was asked for %d times before the signature's turn", n)
			}
			unknown := 0
			for _, f := range s.faults() {
				if f.rank == rankSignature && f.sentence != "a signature with a key that is over, without its name" {
					send(f, ", with keys from the vault")
					if f.reason == "unknown_key" {
						unknown = 1
					}
				}
			}
			front.expect(t, "a good one", front.deliveryOf(s), "204 accepted")
			if n := v.asked(); n > 1+unknown {
				t.Errorf("the secret was asked for %d times, want %d at most", n, 1+unknown)
			}
		})
	}
}

// Without a key every request that comes to its signature is a 503 and an error line, those with garbage for a signature too; what is
// wrong before that is answered as always.
func TestWithoutAKeyNothingIsVerified(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			for sentence, keyring := range map[string]string{
				"the vault is down": "", "the keyring is empty": "{}", "the one key is blank": `{"k1":" \n"}`,
				"the keyring is broken": `{"k1":`, "the one key is over": fmt.Sprintf(`{"k1":{"key":%q,"not_after":"2020-01-01T00:00:00Z"}}`, s.key),
			} {
				t.Run(sentence, func(t *testing.T) {
					t.Parallel()
					v := &vault{keyring: keyring}
					front := s.beside(t, v)
					m := front.deliveryOf(s)
					front.expect(t, "a good delivery while "+sentence, m, "503 retryable_failure")
					if line, err := s.record.lineOf(t.Context(), m.id); err != nil || line.Level != "ERROR" || line.Signature != "no_key" {
						t.Errorf("the line is %+v, want an error about no_key: %v", line, err)
					}
					garbage := front.deliveryOf(s)
					garbage.set(sc.signature, "garbage")
					front.expect(t, "garbage for a signature while "+sentence, garbage, "503 retryable_failure")
					headless := front.deliveryOf(s)
					headless.drop(sc.signature)
					front.expect(t, "no signature while "+sentence, headless, "400 rejected")
					if n := s.gate.callsAbout(m.id) + s.gate.callsAbout(garbage.id); n > 0 {
						t.Errorf("%d store calls", n)
					}
					if sentence == "the vault is down" {
						v.hold(fmt.Sprintf(`{"k1":%q}`, s.key))
						// The vault is asked once a second while there has never been a key; a sender repeats for longer.
						front.becomes(t, "the redelivery, when the vault is back", m, "204 accepted")
					}
				})
			}
		})
	}
}

// A vault that hangs costs the sender the ack timeout and no more.
func TestVaultThatHangs(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0])
	v := &vault{keyring: fmt.Sprintf(`{"k1":%q}`, s.key), hang: make(chan struct{})}
	front := s.beside(t, v)
	front.expect(t, "while the vault hangs", front.deliveryOf(s), "503 retryable_failure")
	v.mu.Lock()
	close(v.hang)
	v.mu.Unlock()
	front.expect(t, "afterwards", front.deliveryOf(s), "204 accepted")
}

// A change of keys has three phases: the old key, both, the new one. Each is a function that has just read the keyring, as after five
// minutes. The delivery that began in the first is tried in all of them, and it stays one.
func TestRotationWithADeliveryInFlight(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			inFlight := s.delivery()
			for _, phase := range []struct {
				name, keyring string
				old, fresh    string // what deliveries signed with the old key are answered, and with the new one
				again         string // the delivery in flight, with the key that its sender has by then
				with          func(*message)
			}{
				{"the old key", fmt.Sprintf(`{"k1":%q}`, s.key), "204 accepted", "401 rejected", "204 accepted", same},
				{"both", fmt.Sprintf(`{"k2":%q,"k1":{"key":%q,"not_after":"2999-01-01T00:00:00Z"}}`, s.second, s.key),
					"204 accepted", "204 accepted", "204 already_processed", same},
				{"both, and the sender has changed", fmt.Sprintf(`{"k1":%q,"k2":%q}`, s.key, s.second),
					"204 accepted", "204 accepted", "204 already_processed", s.withSecondKey},
				{"the new key", fmt.Sprintf(`{"k2":%q}`, s.second), "401 rejected", "204 accepted", "204 already_processed", s.withSecondKey},
				{"the new key, and the old one is over", fmt.Sprintf(`{"k1":{"key":%q,"not_after":"2020-01-01T00:00:00Z"},"k2":%q}`, s.key, s.second),
					"401 rejected", "204 accepted", "204 already_processed", s.withSecondKey},
			} {
				front := s.beside(t, &vault{keyring: phase.keyring})
				for _, named := range []string{"with its name", "without its name"} {
					old, fresh := front.deliveryOf(s), front.deliveryOf(s)
					s.withSecondKey(&fresh)
					if named == "without its name" {
						old.keyID, fresh.keyID = "", ""
					}
					front.expect(t, phase.name+": the old key "+named, old, phase.old)
					front.expect(t, phase.name+": the new key "+named, fresh, phase.fresh)
				}
				m := front.message(inFlight.id, string(inFlight.body))
				phase.with(&m)
				front.expect(t, phase.name+": the delivery in flight", m, phase.again)
			}
		})
	}
}
