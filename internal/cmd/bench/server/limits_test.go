package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"custody/internal/cmd/bench/server"
)

// send sends a DeleteObjects of n versions below each prefix and says whether it was let through, with its body whole.
func send(t *testing.T, h http.Handler, n int, prefixes ...string) bool {
	t.Helper()
	var body string
	for _, p := range prefixes {
		body += strings.Repeat("<Object><Key>"+p+"k</Key><VersionId>v</VersionId></Object>", n)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/bucket?delete", strings.NewReader(body)))
	switch {
	case w.Code == http.StatusServiceUnavailable && strings.Contains(w.Body.String(), "<Code>SlowDown</Code>"):
		return false
	case w.Code == http.StatusOK && w.Body.String() == body:
		return true
	}
	t.Fatalf("status %d with %d bytes, want the body as it was sent", w.Code, w.Body.Len())
	return false
}

// echo answers with the body that it got.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
}

func limited(l server.Limits) http.Handler {
	g := server.NewGate(func(string) {})
	g.Set(l)
	return g.Paced(echo())
}

func TestNoMoreThanTheRateIsLetThrough(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]int{"a thousand at once": 1000, "ten at once": 10, "three hundred and thirty-three at once": 333} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const rate, seconds = 3500, 4
				limits := server.Limits{DeletesPerSecond: rate}
				h, passed := limited(limits), 0
				for began := time.Now(); time.Since(began) < seconds*time.Second; time.Sleep(10 * time.Millisecond) {
					for send(t, h, batch, "pod/wh-17/") {
						passed += batch
					}
				}
				most := rate*seconds + limits.Burst()
				if passed > most || passed < most-2*batch-rate/100 {
					t.Errorf("%d deletes in %d s, want %d less at most two batches", passed, seconds, most)
				}
			})
		})
	}
}

func TestARestIsWorthOneBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := limited(server.Limits{DeletesPerSecond: 100})
		if !send(t, h, 1000, "a/") || send(t, h, 1, "a/") {
			t.Error("a whole burst was to pass, and nothing behind it")
		}
		time.Sleep(time.Hour)
		if !send(t, h, 1000, "a/") || send(t, h, 1, "a/") {
			t.Error("an hour of rest is worth a burst and no more")
		}
		time.Sleep(999 * time.Millisecond)
		if send(t, h, 100, "a/") {
			t.Error("99 deletes of rate were enough for 100")
		}
		time.Sleep(2 * time.Millisecond)
		if !send(t, h, 100, "a/") {
			t.Error("100 deletes of rate were not enough for 100")
		}
	})
}

func TestTheBurstIsASecondAndAtLeastOneRequest(t *testing.T) {
	t.Parallel()
	for rate, want := range map[int]int{1: 1000, 1000: 1000, 3500: 3500} {
		synctest.Test(t, func(t *testing.T) {
			h, passed := limited(server.Limits{DeletesPerSecond: rate}), 0
			for send(t, h, 10, "a/") {
				passed += 10
			}
			if passed != want {
				t.Errorf("%d deletes passed at once at a rate of %d, want %d", passed, rate, want)
			}
		})
	}
}

func TestPrefixesHaveRatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := limited(server.Limits{DeletesPerSecond: 100})
		if !send(t, h, 1000, "a/x/") || send(t, h, 1, "a/y/") {
			t.Error("folders below the first one share its rate")
		}
		if !send(t, h, 500, "b/") {
			t.Error("another first folder has its own rate")
		}
		if send(t, h, 10, "b/", "a/") {
			t.Error("a request passed one of whose prefixes is used up")
		}
		if !send(t, h, 500, "b/") || send(t, h, 1, "b/") {
			t.Error("what was refused was taken from the other prefix")
		}
	})
}

func TestSingleDeletesCountAndReadsDoNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := server.Limits{DeletesPerSecond: 1}
		h := limited(limits)
		status := func(method, target string) int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
			return w.Code
		}
		for range limits.Burst() {
			if code := status(http.MethodDelete, "/bucket/a/key?versionId=v"); code != http.StatusOK {
				t.Fatalf("status %d within the burst", code)
			}
		}
		if code := status(http.MethodDelete, "/bucket/a/key?versionId=v"); code != http.StatusServiceUnavailable {
			t.Errorf("status %d behind the burst, want 503", code)
		}
		if code := status(http.MethodGet, "/bucket?versions"); code != http.StatusOK {
			t.Errorf("status %d of a listing, want 200", code)
		}
	})
}

func TestLatencyIsAddedToEachRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := server.NewGate(func(string) {})
		g.Set(server.Limits{Latency: 5 * time.Millisecond})
		began := time.Now()
		for range 3 {
			g.Delayed(echo()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}
		if took := time.Since(began); took != 15*time.Millisecond {
			t.Errorf("three requests took %s, want 15ms", took)
		}
	})
}
