package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/keyring"
	"custody/internal/signature"
)

// manager is a Secrets Manager with one secret and a clock.
type manager struct {
	mu    sync.Mutex
	at    time.Time
	text  *string
	err   error
	hangs bool // until the request is given up
	calls int
}

func (m *manager) GetSecretValue(
	ctx context.Context, in *secretsmanager.GetSecretValueInput, _ ...func(*secretsmanager.Options),
) (*secretsmanager.GetSecretValueOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.hangs {
		<-ctx.Done()
		return nil, fmt.Errorf("operation error: %w", ctx.Err())
	}
	if *in.SecretId != "the-secret" {
		return nil, &types.ResourceNotFoundException{}
	}
	return &secretsmanager.GetSecretValueOutput{SecretString: m.text}, m.err
}

func (m *manager) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *manager) later(d time.Duration) { m.at = m.at.Add(d) }

func (m *manager) hold(text string) { m.text, m.err = &text, nil }

// look asks for the keys and returns what came: ids, calls since the last look, and the error.
func (m *manager) look(t *testing.T, s *keyring.Secret, id string) ([]string, int, error) {
	t.Helper()
	m.calls = 0
	cached, atHand := s.Cached(id, m.at)
	if m.calls > 0 {
		t.Errorf("for what is cached the store was asked")
	}
	keys, err := s.Active(t.Context(), id, m.at)
	if want := m.calls == 0 && err == nil; atHand != want || atHand && !cmp.Equal(ids(keys), ids(cached)) {
		t.Errorf("cached are %q (%v), and %q with %d calls, error %v", ids(cached), atHand, ids(keys), m.calls, err)
	}
	return ids(keys), m.calls, err
}

func newSecret() (*manager, *keyring.Secret) { return newSecretOf(signature.Timestamped{}) }

func newSecretOf(scheme signature.Scheme) (*manager, *keyring.Secret) {
	m := &manager{at: now()}
	m.hold(`{"k1":"a"}`)
	return m, keyring.NewSecret(m, "the-secret", scheme, m.now)
}

// source is what a keyring is for the front door.
type source interface {
	Active(ctx context.Context, id string, at time.Time) (signature.Keys, error)
}

// step is one look at the keyring and what must come of it.
type step struct {
	sentence  string
	before    func(*manager)
	id        string
	wantKeys  []string
	wantCalls int
	wantErr   error
}

func TestSecretIsFetchedCachedAndRotated(t *testing.T) {
	t.Parallel()
	later := func(d time.Duration) func(*manager) { return func(m *manager) { m.later(d) } }
	down := func(d time.Duration) func(*manager) {
		return func(m *manager) { m.later(d); m.err = errors.New("connection refused") }
	}
	hold := func(d time.Duration, text string) func(*manager) {
		return func(m *manager) { m.later(d); m.hold(text) }
	}
	k1, both, k2 := []string{"k1"}, []string{"k2", "k1"}, []string{"k2"}

	for sentence, steps := range map[string][]step{
		"an old key, both, the new key": {
			{"the first request fetches", nil, "k1", k1, 1, nil},
			{"the next one does not", later(time.Second), "k1", k1, 0, nil},
			{"a new key is not known yet", hold(time.Second, `{"k2":"b","k1":"a"}`), "", k1, 0, nil},
			{"its name makes it known, an interval behind the last fetch", later(30 * time.Second), "k2", both, 1, nil},
			{"the old one is withdrawn", hold(4*time.Minute, `{"k2":"b"}`), "k1", both, 0, nil},
			{"which the age of the cache finds out", later(2 * time.Minute), "", k2, 1, nil},
		},
		"an unknown key id asks once per interval": {
			{"the first request fetches", nil, "k9", k1, 1, nil},
			{"nothing new within the interval", later(29 * time.Second), "k9", k1, 0, nil},
			{"once behind it", later(time.Second), "k9", k1, 1, nil},
			{"not again", nil, "k9", k1, 0, nil},
			{"nor for a name that can be no key's", later(time.Minute), "k9,k9", k1, 0, nil},
			{"nor without a name", nil, "", k1, 0, nil},
			{"nor for a name that is known, whatever its signature", later(time.Minute), "k1", k1, 0, nil},
		},
		"old keys serve on while the store is down, up to a bound": {
			{"the first request fetches", nil, "", k1, 1, nil},
			{"the age is over and the store down", down(5*time.Minute + time.Second), "", k1, 1, keyring.ErrUnavailable},
			{"the next one does not ask", later(time.Second), "", k1, 0, keyring.ErrUnavailable},
			{"the last moment", later(65*time.Minute - 5*time.Minute - 2*time.Second), "", k1, 1, keyring.ErrUnavailable},
			{"behind it", later(30 * time.Second), "", nil, 1, keyring.ErrUnavailable},
			{"the store is back", hold(30*time.Second, `{"k2":"b"}`), "", k2, 1, nil},
		},
		"a secret that broke counts as an outage": {
			{"the first request fetches", nil, "", k1, 1, nil},
			{"then it is no keyring", hold(6*time.Minute, `SECRET`), "", k1, 1, keyring.ErrMalformed},
			{"then it is binary", func(m *manager) { m.later(time.Minute); m.text = nil }, "", k1, 1, keyring.ErrMalformed},
		},
		"without any keyring one request asks each second": {
			{"down from the start", down(0), "", nil, 1, keyring.ErrUnavailable},
			{"nothing new within the second", later(999 * time.Millisecond), "", nil, 0, keyring.ErrUnavailable},
			{"still down behind it", later(time.Millisecond), "", nil, 1, keyring.ErrUnavailable},
			{"up", hold(time.Second, `{"k1":"a"}`), "", k1, 1, nil},
		},
		"a keyring without an active key is asked for again soon": {
			{"it is empty", hold(0, `{"k1":" "}`), "", nil, 1, nil},
			{"it is filled", hold(29*time.Second, `{"k1":"a"}`), "", nil, 0, nil},
			{"which is found an interval later", later(time.Second), "", k1, 1, nil},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			m, s := newSecret()
			for _, step := range steps {
				if step.before != nil {
					step.before(m)
				}
				keys, calls, err := m.look(t, s, step.id)
				if diff := cmp.Diff(step.wantKeys, keys); diff != "" || calls != step.wantCalls || !errors.Is(err, step.wantErr) {
					t.Fatalf("%s: %d calls, want %d; error %v, want %v; keys (-want +got):\n%s",
						step.sentence, calls, step.wantCalls, err, step.wantErr, diff)
				}
				if err != nil && strings.Contains(err.Error(), "SECRET") {
					t.Errorf("%s: error %q shows the secret", step.sentence, err)
				}
			}
		})
	}
}

func TestVendorErrorsStopHere(t *testing.T) {
	t.Parallel()
	m, _ := newSecret()
	_, err := keyring.NewSecret(m, "another", signature.Timestamped{}, m.now).Active(t.Context(), "", m.at)
	if _, vendor := errors.AsType[*types.ResourceNotFoundException](err); vendor || !errors.Is(err, keyring.ErrUnavailable) {
		t.Errorf("error %v, want an unavailable keyring without the vendor's type", err)
	}
	if err == nil || !strings.Contains(err.Error(), "ResourceNotFoundException") {
		t.Errorf("error %v does not say what the vendor said", err)
	}
}

func TestSecretServesManyAtOnce(t *testing.T) {
	t.Parallel()
	m, s := newSecret()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if keys, err := s.Active(t.Context(), "", now()); err != nil || len(keys) != 1 {
				t.Errorf("%d keys, error %v", len(keys), err)
			}
		})
	}
	wg.Wait()
	if m.calls != 1 {
		t.Errorf("%d calls for one keyring", m.calls)
	}
}
