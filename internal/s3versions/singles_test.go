package s3versions_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

const (
	perBatch = 8                                    // requests about single versions that are made at once for each batch
	atOnce   = perBatch * s3versions.DefaultBatches // and by a client to which nothing was said
)

// many are versions that are there, enough for several rounds.
func many(n int) []retention.Version {
	vs := make([]retention.Version, n)
	for i := range vs {
		vs[i] = retention.Version{Key: fmt.Sprint(i), ID: "1"}
	}
	return vs
}

const noTags = "<Tagging><TagSet></TagSet></Tagging>"

func TestAsManyVersionsAreAskedAtOnceAsTheClientHasSlots(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(*s3versions.Client)
		want int64
	}{
		"for four batches, where nothing is set": {func(*s3versions.Client) {}, atOnce},
		"for one batch":                          {func(c *s3versions.Client) { c.Batches(1) }, perBatch},
		"for sixteen batches":                    {func(c *s3versions.Client) { c.Batches(16) }, 16 * perBatch},
		"for one batch, where none is asked for": {func(c *s3versions.Client) { c.Batches(0) }, perBatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var flying, most atomic.Int64
			full := make(chan struct{}) // closed when all slots are taken
			sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := flying.Add(1)
				defer flying.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if n == tt.want {
					close(full)
				}
				<-full
				_, _ = w.Write([]byte(noTags))
			}))
			c := s3versions.New(sdk, "", time.Now)
			tt.set(c)
			var batches errgroup.Group
			for range 16 { // batches that work side by side share the slots
				batches.Go(func() error {
					_, err := c.Marks(t.Context(), bucket, many(16), tagsAlone)
					return err
				})
			}
			if err := batches.Wait(); err != nil {
				t.Fatal(err)
			}
			if most.Load() != tt.want {
				t.Errorf("%d requests were on their way at once, want %d", most.Load(), tt.want)
			}
		})
	}
}

func TestTheFirstErrorEndsTheReading(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		answer(w, http.StatusServiceUnavailable, "SlowDown")
	}))
	got, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, many(1000), tagsAlone)
	if inbox.CategoryOf(err) != inbox.CategoryThrottled || got != nil {
		t.Errorf("marks %v, error %v, want none and category %s", got, err, inbox.CategoryThrottled)
	}
	if n.Load() > 2*atOnce {
		t.Errorf("%d requests were made, want no more than were on their way", n.Load())
	}
}

func TestTheReadingEndsWithItsTime(t *testing.T) {
	t.Parallel()
	why := errors.New("out of time")
	ctx, cancel := context.WithCancelCause(t.Context())
	var n atomic.Int64
	sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		cancel(why)
		<-r.Context().Done()
	}))
	c := s3versions.New(sdk, "", time.Now)
	for _, when := range []string{"meanwhile", "before"} {
		got, err := c.Marks(ctx, bucket, many(1000), tagsAlone)
		if inbox.CategoryOf(err) != inbox.CategoryUnavailable || !errors.Is(err, why) || got != nil {
			t.Errorf("%s: marks %v, error %v, want none and category %s because of %v", when, got, err, inbox.CategoryUnavailable, why)
		}
	}
	if n.Load() > atOnce {
		t.Errorf("%d requests were made, want no more than were on their way", n.Load())
	}
}

func TestWhatWaitsForASlotEndsWithItsTime(t *testing.T) {
	t.Parallel()
	full, release := make(chan struct{}), make(chan struct{})
	var flying atomic.Int64
	sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if flying.Add(1) == atOnce {
			close(full)
		}
		<-release
		_, _ = w.Write([]byte(noTags))
	}))
	c := s3versions.New(sdk, "", time.Now)
	var other errgroup.Group
	other.Go(func() error {
		_, err := c.Marks(t.Context(), bucket, many(atOnce), tagsAlone)
		return err
	})
	<-full
	why := errors.New("out of time")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	got, err := c.Marks(ctx, bucket, many(1), tagsAlone) // hangs, if it waits for a slot alone
	if inbox.CategoryOf(err) != inbox.CategoryUnavailable || !errors.Is(err, why) || got != nil {
		t.Errorf("marks %v, error %v, want none and category %s because of %v", got, err, inbox.CategoryUnavailable, why)
	}
	close(release)
	if err := other.Wait(); err != nil {
		t.Errorf("the batch that has the slots: %v", err)
	}
}

func TestTheFirstErrorCutsOffWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	var flying atomic.Int64
	full := make(chan struct{})
	sdk := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if flying.Add(1) == atOnce {
			close(full)
		}
		<-full
		if r.URL.Path == "/"+bucket+"/7" {
			answer(w, http.StatusServiceUnavailable, "SlowDown")
			return
		}
		<-r.Context().Done() // until the client hangs up
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // only a failing test waits for it
	defer cancel()
	_, err := s3versions.New(sdk, "", time.Now).Marks(ctx, bucket, many(atOnce), tagsAlone)
	if inbox.CategoryOf(err) != inbox.CategoryThrottled {
		t.Errorf("error %v, want category %s", err, inbox.CategoryThrottled)
	}
	if ctx.Err() != nil {
		t.Error("the other requests were waited for")
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(noTags)) }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(func() { _ = server.Config.Close() })
	options := clientOf(t, http.NotFoundHandler()).Options()
	options.BaseEndpoint, options.HTTPClient = &server.URL, s3versions.HTTPClient(s3versions.DefaultBatches)
	c := s3versions.New(s3.New(options), "", time.Now)
	for range 5 {
		if _, err := c.Marks(t.Context(), bucket, many(400), tagsAlone); err != nil {
			t.Fatal(err)
		}
	}
	if opened.Load() > 2*atOnce {
		t.Errorf("%d connections were opened for %d requests that are made %d at once", opened.Load(), 2000, atOnce)
	}
}

func TestVersionsThatGoOneByOneDoNotOutliveTheirHolds(t *testing.T) {
	t.Parallel()
	var clock sync.Mutex
	now := time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC)
	started := now
	// What is left of the holds' time is measured by a true timer once a request is on its way. With 10 s of 50 s left at least, a
	// busy machine stays below that.
	const slow = 10 * time.Second
	sdk := local(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete { // S3 takes its time: a fifth of what there is
				clock.Lock()
				now = now.Add(slow)
				clock.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	})
	vs := []retention.Version{}
	for i := range 200 {
		key := fmt.Sprintf("%d\x01", i)
		vs = append(vs, retention.Version{Key: key, ID: put(t, sdk, key)})
	}
	c := s3versions.New(sdk, "", func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		return now
	})
	fates, err := c.Delete(t.Context(), bucket, vs, started.Add(5*slow))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[retention.FateKind]int{}
	for _, f := range fates {
		kinds[f.Kind]++
	}
	left := len(all(t, c, ""))
	if kinds[retention.FateDeleted] < 5 || kinds[retention.FateDeleted] > 5+atOnce ||
		kinds[retention.FateTransient] != left || kinds[retention.FateDeleted]+left != len(vs) {
		t.Errorf("fates %v with %d versions left, want 5 deleted, some more that were on their way, and the rest transient", kinds, left)
	}
}
