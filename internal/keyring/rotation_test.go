package keyring_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"custody/internal/keyring"
	"custody/internal/signature"
)

// receiver is a stack's front door as far as keys go, with a store that the test changes and a clock that it moves.
type receiver struct {
	scheme signature.Scheme
	store  *manager
	ring   *keyring.Secret
	texts  map[string]string
}

func newReceiver(scheme signature.Scheme) *receiver {
	m, ring := newSecretOf(scheme)
	r := &receiver{scheme: scheme, store: m, ring: ring}
	r.texts = map[string]string{"k1": "the old key", "k2": "the new key", "k9": "a stranger's"}
	if _, webhooks := scheme.(signature.StandardWebhooks); webhooks {
		for id, text := range r.texts {
			r.texts[id] = signature.SecretPrefix + base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	return r
}

// names reports whether a request of the scheme can name its key.
func (r *receiver) names() bool { return r.scheme != signature.Scheme(signature.StandardWebhooks{}) }

// delivery is one request: made by the key, signed so long before it arrives.
type delivery struct {
	by     string
	named  bool
	signed time.Duration // before the arrival
}

// verdict is the key that was found, or the reason of the refusal.
func (r *receiver) verdict(t *testing.T, d delivery) string {
	t.Helper()
	name := ""
	if d.named {
		name = d.by
	}
	body := []byte(`{"run_id":"r-1"}`)
	headers := r.scheme.Sign(signature.NewKey(name, r.texts[d.by], time.Time{}), "d-1", r.store.at.Add(-d.signed), body)
	e, err := r.scheme.Read(func(n string) (string, bool) { v, ok := headers[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	keys, err := r.ring.Active(t.Context(), e.KeyID, r.store.at)
	if err != nil {
		t.Fatal(err)
	}
	id, err := r.scheme.Verify(e, body, keys)
	if err == nil {
		err = e.Fresh(r.store.at, 300*time.Second)
	}
	if bad, refused := errors.AsType[*signature.Error](err); refused {
		return string(bad.Reason)
	}
	return id
}

// phases of a rotation as docs/operations.md tells it to operators: the old key, both, the new key. In each a delivery is
// in flight that was signed before the change and arrives behind it.
func phases() []phase {
	const end = 20 * time.Minute // the old key's not_after, behind the begin of the rotation
	return []phase{
		{"the old key verifies", 0, "old", delivery{by: "k1"}, "k1"},
		{"it does when it is named", time.Second, "", delivery{by: "k1", named: true}, "k1"},
		{"the new one does not yet", 2 * time.Second, "", delivery{by: "k2"}, "invalid"},
		{"nor when it is named, and that asks the store", 31 * time.Second, "", delivery{by: "k2", named: true}, "unknown_key"},

		{"both: in flight since before the change", 40 * time.Second, "both", delivery{by: "k1", signed: 30 * time.Second}, "k1"},
		{"both: the new key is named too soon behind the last fetch", 60 * time.Second, "", delivery{by: "k2", named: true}, "unknown_key"},
		{"both: the new key's name makes it known", 61 * time.Second, "", delivery{by: "k2", named: true}, "k2"},
		{"both: a name that nobody has changes nothing", 62 * time.Second, "", delivery{by: "k9", named: true}, "unknown_key"},
		{"both: without a name the age makes it known", 7 * time.Minute, "", delivery{by: "k2"}, "k2"},
		{"both: the old key still verifies", 7*time.Minute + time.Second, "", delivery{by: "k1"}, "k1"},
		{"both: named as well", 7*time.Minute + time.Second, "", delivery{by: "k1", named: true}, "k1"},

		{"the end: a second before", end - time.Second, "", delivery{by: "k1"}, "k1"},
		{"the end: to the second, in flight for five minutes", end, "", delivery{by: "k1", signed: 300 * time.Second}, "k1"},
		{"the end: to the second, named", end, "", delivery{by: "k1", named: true}, "k1"},
		{"the end: a millisecond behind", end + time.Millisecond, "", delivery{by: "k1", signed: time.Minute}, "invalid"},
		{"the end: a second behind", end + time.Second, "", delivery{by: "k1", signed: time.Second}, "invalid"},
		{"the end: a second behind, named", end + time.Second, "", delivery{by: "k1", named: true}, "unknown_key"},
		{"the end: what was refused comes again, signed by the new key", end + 2*time.Second, "", delivery{by: "k2"}, "k2"},

		{"the new key: in flight since before the old one was removed", 30 * time.Minute, "new", delivery{by: "k2", signed: time.Minute}, "k2"},
		{"the new key: the old one is gone", 36 * time.Minute, "", delivery{by: "k1", signed: time.Minute}, "invalid"},
		{"the new key: the old one is gone by name", 37 * time.Minute, "", delivery{by: "k1", named: true}, "unknown_key"},
		{"the new key: it verifies", 38 * time.Minute, "", delivery{by: "k2", named: true}, "k2"},
	}
}

// phase is one delivery at a time behind the begin, and what the store has held since.
type phase struct {
	sentence string
	at       time.Duration
	store    string // "" for no change
	delivery delivery
	want     string
}

func (r *receiver) hold(name string, begin time.Time) {
	end := begin.Add(20 * time.Minute).Format(time.RFC3339)
	r.store.hold(map[string]string{
		"old":  fmt.Sprintf(`{"k1":%q}`, r.texts["k1"]),
		"both": fmt.Sprintf(`{"k2":%q,"k1":{"key":%q,"not_after":%q}}`, r.texts["k2"], r.texts["k1"], end),
		"new":  fmt.Sprintf(`{"k2":%q}`, r.texts["k2"]),
	}[name])
}

func TestRotation(t *testing.T) {
	t.Parallel()
	for _, name := range signature.SchemeNames() {
		scheme, err := signature.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, begin := newReceiver(scheme), now()
			for _, p := range phases() {
				if p.store != "" {
					r.hold(p.store, begin)
				}
				r.store.at = begin.Add(p.at)
				if p.delivery.named && !r.names() {
					continue // and no request asks the store before the keys have their age
				}
				if got := r.verdict(t, p.delivery); got != p.want {
					t.Errorf("%s: %q, want %q", p.sentence, got, p.want)
				}
			}
		})
	}
}

// A key that leaked is removed without waiting. It lives on for as long as the last keyring does, and the docs say so.
func TestWithdrawnKey(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	for sentence, c := range map[string]struct {
		after time.Duration // the removal
		down  error
		lives bool
	}{
		"five minutes later": {5 * time.Minute, nil, true},
		"a second more":      {5*time.Minute + time.Second, nil, false},
		"an hour and five minutes, the store being down":    {65 * time.Minute, down, true},
		"a second more than that, the store being down":     {65*time.Minute + time.Second, down, false},
		"a day, the store being down":                       {24 * time.Hour, down, false},
		"an hour and five minutes, the store being back up": {65 * time.Minute, nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(signature.Timestamped{})
			r.hold("both", now().AddDate(0, 1, 0)) // far from the end of the key
			if got := r.verdict(t, delivery{by: "k1"}); got != "k1" {
				t.Fatal(got)
			}
			r.hold("new", now())
			r.store.err = c.down
			r.store.later(c.after)
			keys, err := r.ring.Active(t.Context(), "", r.store.at)
			if keys.Has("k1") != c.lives || c.down != nil && !errors.Is(err, keyring.ErrUnavailable) {
				t.Errorf("the withdrawn key is active: %t, want %t; error %v", keys.Has("k1"), c.lives, err)
			}
		})
	}
}
