package keyring_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"custody/internal/keyring"
	"custody/internal/signature"
)

// The suite says what the keyring relies on of Secrets Manager, through the real SDK over HTTP. It runs against the small
// server of this package, or, with CUSTODY_TEST_SECRETSMANAGER_ENDPOINT set, against the one there.
const endpointVariable = "CUSTODY_TEST_SECRETSMANAGER_ENDPOINT"

// vault is one secret of a Secrets Manager.
type vault interface {
	id() string                       // as SigningSecret has it: the ARN
	put(t *testing.T, text string)    // makes the secret, or a new version of it
	putBinary(t *testing.T, b []byte) // the same with bytes
	remove(t *testing.T)              // marks it for deletion
	restore(t *testing.T)             // takes that back
	client() *secretsmanager.Client
}

func openVault(t *testing.T) vault {
	t.Helper()
	name := "custody/test/" + rand.Text()
	if endpoint := os.Getenv(endpointVariable); endpoint != "" {
		return &remote{sdk: clientOf(endpoint), name: name}
	}
	f, endpoint := newFake(t)
	return &local{fake: f, name: name, sdk: clientOf(endpoint)}
}

// clientOf makes the SDK's client as the function does, but for endpoint and credentials, and without its pauses.
func clientOf(endpoint string) *secretsmanager.Client {
	return secretsmanager.New(secretsmanager.Options{
		BaseEndpoint: &endpoint, Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		RetryMaxAttempts: 1,
	})
}

// local is a secret of the fake.
type local struct {
	fake *fake
	name string
	sdk  *secretsmanager.Client
}

func (l *local) id() string                     { return fakeARN + l.name }
func (l *local) client() *secretsmanager.Client { return l.sdk }
func (l *local) put(_ *testing.T, text string) {
	l.fake.change(l.name, func(s *fakeSecret) { s.text, s.binary, s.version = &text, nil, rand.Text() })
}
func (l *local) putBinary(_ *testing.T, b []byte) {
	l.fake.change(l.name, func(s *fakeSecret) { s.text, s.binary, s.version = nil, b, rand.Text() })
}
func (l *local) remove(*testing.T)  { l.fake.change(l.name, func(s *fakeSecret) { s.deleted = true }) }
func (l *local) restore(*testing.T) { l.fake.change(l.name, func(s *fakeSecret) { s.deleted = false }) }

// remote is a secret of the Secrets Manager behind the endpoint variable.
type remote struct {
	sdk  *secretsmanager.Client
	name string
	arn  string
}

func (r *remote) id() string                     { return r.arn }
func (r *remote) client() *secretsmanager.Client { return r.sdk }

func (r *remote) put(t *testing.T, text string)    { r.write(t, &text, nil) }
func (r *remote) putBinary(t *testing.T, b []byte) { r.write(t, nil, b) }

func (r *remote) write(t *testing.T, text *string, b []byte) {
	t.Helper()
	if r.arn == "" {
		out, err := r.sdk.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &r.name, SecretString: text, SecretBinary: b})
		if err != nil {
			t.Fatal(err)
		}
		r.arn = *out.ARN
		t.Cleanup(func() {
			_, _ = r.sdk.DeleteSecret(context.WithoutCancel(t.Context()), &secretsmanager.DeleteSecretInput{
				SecretId: &r.arn, ForceDeleteWithoutRecovery: aws.Bool(true),
			})
		})
		return
	}
	in := &secretsmanager.PutSecretValueInput{SecretId: &r.arn, SecretString: text, SecretBinary: b}
	if _, err := r.sdk.PutSecretValue(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func (r *remote) remove(t *testing.T) {
	t.Helper()
	in := &secretsmanager.DeleteSecretInput{SecretId: &r.arn, RecoveryWindowInDays: aws.Int64(7)}
	if _, err := r.sdk.DeleteSecret(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func (r *remote) restore(t *testing.T) {
	t.Helper()
	if _, err := r.sdk.RestoreSecret(t.Context(), &secretsmanager.RestoreSecretInput{SecretId: &r.arn}); err != nil {
		t.Fatal(err)
	}
}

// clock is a clock that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// ask is one request for keys.
func ask(t *testing.T, ring *keyring.Secret, c *clock, id string) ([]string, error) {
	t.Helper()
	keys, err := ring.Active(t.Context(), id, c.now())
	return ids(keys), err
}

func TestKeyTextsComeThroughTheStore(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct{ text, key string }{
		"a plain one":                 {`{"k1":"a key"}`, "a key"},
		"a newline behind it":         {`{"k1":"a key\n"}`, "a key\n"},
		"angle brackets":              {`{"k1":"<a>&\"key\\"}`, `<a>&"key\`},
		"escaped by another tool":     {`{"k1":"\u003ca\u003e\u00fc"}`, "<a>ü"},
		"another script":              {`{"k1":"ключ🗝"}`, "ключ🗝"},
		"a newline behind the ring":   {"{\"k1\":\"a key\"}\n", "a key"},
		"as large as a secret may be": {`{"k1":"` + strings.Repeat("k", 65000) + `"}`, strings.Repeat("k", 65000)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			v := openVault(t)
			v.put(t, c.text)
			keys, err := keyring.NewSecret(v.client(), v.id(), signature.Timestamped{}, now).Active(t.Context(), "", now())
			if err != nil {
				t.Fatal(err)
			}
			if got := verifies(t, keys, c.key); got != "k1" {
				t.Errorf("verified by %q, want k1", got)
			}
			if got := verifies(t, keys, c.key+"\n"); got != "" {
				t.Errorf("with one more newline: verified by %q", got)
			}
		})
	}
}

func TestRotationThroughTheStore(t *testing.T) {
	t.Parallel()
	v, c := openVault(t), &clock{at: now()}
	v.put(t, `{"k1":"a"}`)
	ring := keyring.NewSecret(v.client(), v.id(), signature.Timestamped{}, c.now)
	for _, step := range []struct {
		sentence string
		change   func()
		id       string
		want     []string
		wantErr  error
	}{
		{"the old key", func() {}, "", []string{"k1"}, nil},
		{"both, by the new one's name", func() { v.put(t, `{"k2":"b","k1":"a"}`); c.later(30 * time.Second) }, "k2", []string{"k2", "k1"}, nil},
		{"the new key, by age", func() { v.put(t, `{"k2":"b"}`); c.later(6 * time.Minute) }, "", []string{"k2"}, nil},
		{"the secret is marked for deletion", func() { v.remove(t); c.later(6 * time.Minute) }, "", []string{"k2"}, keyring.ErrUnavailable},
		{"it stays so, up to a bound", func() { c.later(time.Hour) }, "", nil, keyring.ErrUnavailable},
		{"it is restored", func() { v.restore(t); c.later(30 * time.Second) }, "", []string{"k2"}, nil},
		{"it becomes binary", func() { v.putBinary(t, []byte(`{"k3":"c"}`)); c.later(6 * time.Minute) }, "", []string{"k2"}, keyring.ErrMalformed},
		{"it becomes no keyring", func() { v.put(t, "SECRET"); c.later(time.Minute) }, "", []string{"k2"}, keyring.ErrMalformed},
		{"it is mended", func() { v.put(t, `{"k3":"c"}`); c.later(time.Minute) }, "", []string{"k3"}, nil},
	} {
		step.change()
		got, err := ask(t, ring, c, step.id)
		if diff := cmp.Diff(step.want, got); diff != "" || !errors.Is(err, step.wantErr) {
			t.Fatalf("%s: error %v, want %v; keys (-want +got):\n%s", step.sentence, err, step.wantErr, diff)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: error %q shows the secret", step.sentence, err)
		}
	}
}

func TestSecretsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	v.put(t, `{"k1":"a"}`)
	ring := keyring.NewSecret(v.client(), "custody/test/nowhere", signature.Timestamped{}, now)
	if keys, err := ring.Active(t.Context(), "", now()); len(keys) != 0 || !errors.Is(err, keyring.ErrUnavailable) ||
		!strings.Contains(err.Error(), "ResourceNotFoundException") {
		t.Errorf("a name that is not there: %d keys, error %v", len(keys), err)
	}
	v.remove(t)
	ring = keyring.NewSecret(v.client(), v.id(), signature.Timestamped{}, now)
	if keys, err := ring.Active(t.Context(), "", now()); len(keys) != 0 || !errors.Is(err, keyring.ErrUnavailable) ||
		!strings.Contains(err.Error(), "InvalidRequestException") {
		t.Errorf("marked for deletion from the start: %d keys, error %v", len(keys), err)
	}
}

// What no other engine can be asked to do, the fake does.
func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	for sentence, fault := range map[string]func(http.ResponseWriter){
		"access denied":          func(w http.ResponseWriter) { refuse(w, "AccessDeniedException", "User: arn:… is not authorized") },
		"its key cannot be used": func(w http.ResponseWriter) { refuse(w, "DecryptionFailure", "") },
		"throttled":              func(w http.ResponseWriter) { refuse(w, "ThrottlingException", "Rate exceeded") },
		"broken inside": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"__type":"InternalServiceError"}`)
		},
		"a page of a proxy": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>bad gateway</html>")
		},
		"an answer that is cut off": func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"SecretString":"{\"k`) },
		"a connection that breaks":  func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f, endpoint := newFake(t)
			l := &local{fake: f, name: "s", sdk: clientOf(endpoint)}
			l.put(t, `{"k1":"a"}`)
			c := &clock{at: now()}
			cold := keyring.NewSecret(l.sdk, l.id(), signature.Timestamped{}, c.now)
			warm := keyring.NewSecret(l.sdk, l.id(), signature.Timestamped{}, c.now)
			if got, err := ask(t, warm, c, ""); err != nil || len(got) != 1 {
				t.Fatalf("keys %v, error %v", got, err)
			}
			f.fail(fault)
			c.later(6 * time.Minute)
			for _, look := range []struct {
				name string
				ring *keyring.Secret
				want []string
			}{{"from the start", cold, nil}, {"with keys", warm, []string{"k1"}}} {
				got, err := ask(t, look.ring, c, "")
				if diff := cmp.Diff(look.want, got); diff != "" || !errors.Is(err, keyring.ErrUnavailable) {
					t.Fatalf("%s: error %v, keys (-want +got):\n%s", look.name, err, diff)
				}
				if strings.Contains(err.Error(), "arn:") {
					t.Errorf("%s: error %q tells what the store said of the account", look.name, err)
				}
			}
			f.fail(nil)
			c.later(30 * time.Second)
			for _, ring := range []*keyring.Secret{cold, warm} {
				if got, err := ask(t, ring, c, ""); err != nil || len(got) != 1 {
					t.Errorf("behind it: keys %v, error %v", got, err)
				}
			}
		})
	}
}
