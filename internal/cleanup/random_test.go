package cleanup_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// entryOf is one version of the model: what a random bucket holds, newest first within its key.
type entryOf struct {
	key, id string
	at      time.Time
}

// survivors says independently of the product which versions must be there in the end: what is young or held, and the newest of
// a key over anything of it that stays.
func survivors(byKey map[string][]entryOf, held func(string) bool, prefix string) []string {
	out := []string{}
	for key, vs := range byKey {
		stays := make([]bool, len(vs))
		for i, v := range vs {
			stays[i] = !strings.HasPrefix(key, prefix) || held(key) || !v.at.Before(cutoff)
		}
		if slices.Contains(stays[1:], true) {
			stays[0] = true
		}
		for i, v := range vs {
			if stays[i] {
				out = append(out, v.key+" "+v.id)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestRandomBucketsKeepExactlyWhatMustBeKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		pages := rapid.IntRange(1, 7).Draw(rt, "page size")
		byKey := map[string][]entryOf{}
		for range rapid.IntRange(0, 40).Draw(rt, "writes") {
			k := rapid.SampledFrom([]string{"p/a", "p/a b", "p/a+b", "p/a/b", "p/é", "p/z", "q/a", "p"}).Draw(rt, "key")
			at := cutoff.Add(time.Duration(rapid.IntRange(-3, 1).Draw(rt, "age")) * time.Second)
			w.at(at)
			id := ""
			if rapid.Bool().Draw(rt, "delete marker") {
				id = w.mark(k)
			} else {
				id = w.put(k)
			}
			byKey[k] = append([]entryOf{{k, id, at}}, byKey[k]...)
		}
		holds := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"p/a", "p/é", "p/z", "p/a/"}), rapid.ID[string]).Draw(rt, "holds")
		for _, h := range holds {
			field := "key"
			if strings.HasSuffix(h, "/") {
				field = "prefix"
			}
			w.hold(map[string]any{"scope": scope, "hold_id": h, field: h, "reason": "legal_hold"})
		}
		held := func(k string) bool {
			return slices.ContainsFunc(holds, func(h string) bool { return k == h || strings.HasSuffix(h, "/") && strings.HasPrefix(k, h) })
		}
		w.set.DeleteConcurrency = rapid.IntRange(1, 3).Draw(rt, "concurrency")
		risen := w.watch(pages)
		w.at(day)
		wake := w.claim(cutoff, "p/")
		w.at(later)
		got := w.deliver(t.Context(), "rec-1", wake)
		if got.Outcome != inbox.SliceCompleted {
			rt.Fatalf("the slice ended as %s: %s", got.Outcome, got.Problem)
		}
		left := w.left()
		slices.Sort(left)
		if diff := cmp.Diff(survivors(byKey, held, "p/"), left); diff != "" {
			rt.Errorf("left in the bucket (-want +got):\n%s", diff)
		}
		if len(*risen) > 0 {
			rt.Errorf("older versions became current: %q", *risen)
		}
	})
}

// watch makes pages small, so that keys cross their borders, and notes every older version that becomes current.
func (w *world) watch(pages int) *[]string {
	current := map[string]string{}
	for _, v := range w.listing() {
		if v.Currency == retention.Current {
			current[v.Key] = v.ID
		}
	}
	risen := new([]string)
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Has("max-keys") {
			q.Set("max-keys", fmt.Sprint(pages))
			r.URL.RawQuery = q.Encode()
		}
		w.objects.ServeHTTP(rw, r)
		if operation(r) != "delete" {
			return
		}
		for _, v := range w.listing() {
			if v.Currency == retention.Current && current[v.Key] != v.ID {
				w.mu.Lock()
				*risen = append(*risen, v.Key+" "+v.ID)
				w.mu.Unlock()
			}
		}
	})
	return risen
}
