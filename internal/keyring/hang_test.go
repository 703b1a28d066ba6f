package keyring_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/keyring"
)

// A store that hangs is worse than one that is down: it takes the time of the request that asked. While there are keys it
// gets only a part of it.
func TestStoreThatHangsCostsNoDelivery(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		known    bool          // there are keys already
		age      time.Duration // of them
		budget   time.Duration // of the request
		want     []string
		wantTook time.Duration
	}{
		"with keys, two seconds":                  {true, 6 * time.Minute, 10 * time.Second, []string{"k1"}, 2 * time.Second},
		"with keys, never more than half":         {true, 6 * time.Minute, 3 * time.Second, []string{"k1"}, 1500 * time.Millisecond},
		"without a keyring, all that there is":    {false, 0, 3 * time.Second, nil, 3 * time.Second},
		"with keys behind their bound, all of it": {true, 66 * time.Minute, 3 * time.Second, nil, 3 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, s := newSecret()
				if c.known {
					if keys, err := s.Active(t.Context(), "", m.at); err != nil || len(keys) != 1 {
						t.Fatalf("%d keys, error %v", len(keys), err)
					}
				}
				m.later(c.age)
				m.hangs = true
				ctx, cancel := context.WithTimeout(t.Context(), c.budget)
				defer cancel()
				begun := time.Now()
				keys, err := s.Active(ctx, "", m.at)
				if diff := cmp.Diff(c.want, ids(keys)); diff != "" || !errors.Is(err, keyring.ErrUnavailable) {
					t.Errorf("error %v, keys (-want +got):\n%s", err, diff)
				}
				if took := time.Since(begun); took != c.wantTook {
					t.Errorf("it took %s, want %s", took, c.wantTook)
				}
			})
		})
	}
}

func TestPatienceHasNoDeadlineToHalve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newSecret()
		if _, err := s.Active(t.Context(), "", m.at); err != nil {
			t.Fatal(err)
		}
		m.later(6 * time.Minute)
		m.hangs = true
		begun := time.Now()
		keys, err := s.Active(t.Context(), "", m.at)
		if len(keys) != 1 || !errors.Is(err, keyring.ErrUnavailable) || time.Since(begun) != 2*time.Second {
			t.Errorf("%d keys after %s, error %v", len(keys), time.Since(begun), err)
		}
	})
}

// While somebody fetches, nobody else waits for it to learn that nothing is cached.
func TestNothingIsCachedWhileSomebodyFetches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, s := newSecret()
		m.hangs = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var fetching sync.WaitGroup
		fetching.Go(func() { _, _ = s.Active(ctx, "", m.at) })
		synctest.Wait()
		began := time.Now()
		if keys, ok := s.Cached("", m.at); ok || keys != nil || time.Since(began) > 0 {
			t.Errorf("%d keys are cached (%v), after %s", len(keys), ok, time.Since(began))
		}
		fetching.Wait()
	})
}
