package cleanup_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"pgregory.net/rapid"

	"custody/internal/inbox"
	"custody/internal/retention"
)

// worldly are the hands of others in a world.
type worldly struct {
	*world
	locking bool
	placed  []map[string]dbtypes.AttributeValue // keys of the holds table's rows
}

func (w *worldly) list() []seen {
	all := []seen{}
	for _, v := range w.listing() {
		all = append(all, seen{name{v.Key, v.ID}, v.LastModified, v.DeleteMarker, v.Currency == retention.Current})
	}
	return all
}

func (w *worldly) write(key string, marker bool) string {
	if marker {
		return w.world.mark(key)
	}
	return w.put(key)
}

func (w *worldly) remove(n name) { w.world.remove(n.key, n.id) }

func (w *worldly) mark(n name, m marks) {
	value := "false"
	if m.tag {
		value = "case 4"
	}
	w.tag(n.key, n.id, "custody-hold", value)
	if m.legal {
		w.legalHold(n.key, n.id)
	}
	if m.until.After(w.clock()) { // S3 takes no other
		w.retain(n.key, n.id, m.until)
	}
}

// suspend does nothing on a bucket with Object Lock, whose versioning S3 does not change.
func (w *worldly) suspend(on bool) {
	switch {
	case w.locking:
	case on:
		w.versioning(types.BucketVersioningStatusSuspended)
	default:
		w.versioning(types.BucketVersioningStatusEnabled)
	}
}

func (w *worldly) place(rows []row) {
	for _, k := range w.placed {
		_, err := w.db.DeleteItem(context.WithoutCancel(w.t.Context()), &dynamodb.DeleteItemInput{TableName: aws.String("holds"), Key: k})
		w.must(err)
	}
	w.placed = nil
	for i, r := range rows {
		item := map[string]any{"scope": r.scope, "hold_id": fmt.Sprint(i), "reason": "legal_hold"}
		switch {
		case r.stop:
			item["reason"] = "stop"
		case r.key != "":
			item["key"] = r.key
		default:
			item["prefix"] = r.prefix
		}
		if r.unreadable {
			item["reason"] = "because"
		}
		if !r.expires.IsZero() {
			item["expires_at"] = r.expires.Unix()
		}
		w.hold(item)
		w.placed = append(w.placed, map[string]dbtypes.AttributeValue{
			"scope": &dbtypes.AttributeValueMemberS{Value: r.scope}, "hold_id": &dbtypes.AttributeValueMemberS{Value: fmt.Sprint(i)},
		})
	}
}

// staged is a plan on the local engines, through the real SDK. Others act before each request that reaches S3, and the judge looks
// behind each that may have changed something.
type staged struct {
	*others
	hands *worldly
	mu    sync.Mutex
	fresh bool // the slice has not looked at the bucket yet
}

func stage(t *testing.T, pl plan) *staged {
	t.Helper()
	h := &worldly{world: newSocketless(t), locking: pl.Locking}
	if pl.Locking {
		h.lockable()
	}
	h.set.CheckTags, h.set.DeleteConcurrency, h.set.ScanCeiling = pl.Tags, pl.Batches, 100
	h.jitter = func(time.Duration) time.Duration { return 0 }
	s := &staged{others: newOthers(pl, h, h.clock, cutoff), hands: h}
	s.fill(cutoff, h.at)
	h.at(cutoff.Add(beforehand))
	return s
}

// watch puts the others and the judge between the worker and the engines.
func (s *staged) watch() {
	s.judge.look()
	s.hands.answer(s.serve)
	s.hands.mu.Lock()
	defer s.hands.mu.Unlock()
	s.hands.onDB = func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			next.ServeHTTP(rw, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		of := "*"
		if strings.Contains(string(body), scope) {
			of = scope
		}
		s.judge.holdsRead(of)
		next.ServeHTTP(rw, r)
		if s.Batches == 1 { // else it would pass between another batch's look at the clock and its request
			s.hands.at(s.hands.clock().Add(time.Duration(take(&s.Waits)) * 100 * time.Millisecond))
			s.judge.look()
		}
	}
}

func (s *staged) serve(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	if s.act(); q.Has("max-keys") {
		if q.Get("prefix") == planPrefixes()[0] && !q.Has("key-marker") {
			s.judge.scanBegan()
		}
		q.Set("max-keys", fmt.Sprint(s.plan.Page))
		r.URL.RawQuery = q.Encode()
	}
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n := name{key, q.Get("versionId")}
	switch {
	case q.Has("delete") || r.Method == http.MethodDelete:
		sent := sentIn(r, n)
		s.hands.objects.ServeHTTP(rw, r)
		s.judge.sent(sent)
		return
	case q.Has("versioning"):
		if s.judge.versioningRead(); s.fresh {
			s.judge.sliceBegan()
		}
		s.fresh = false
	case q.Has("tagging") || q.Has("legal-hold") || q.Has("retention"):
		s.judge.marksRead(n, q.Has("tagging"), q.Has("legal-hold"), q.Has("retention"))
	}
	s.hands.objects.ServeHTTP(rw, r)
}

// sentIn are the versions that a delete request names.
func sentIn(r *http.Request, one name) []name {
	if r.Method == http.MethodDelete {
		return []name{one}
	}
	var in struct {
		Object []struct {
			Key       string
			VersionID string `xml:"VersionId"`
		}
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = xml.Unmarshal(body, &in)
	}
	if err != nil {
		return nil // then the judge misses what goes
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var sent []name
	for _, o := range in.Object {
		sent = append(sent, name{o.Key, o.VersionID})
	}
	return sent
}

// work works a run to its end.
func (s *staged) work(run string) inbox.Run {
	s.hands.key = inbox.RunKey{Type: "cleanup.run", Key: run}
	wake := s.hands.claim(cutoff, planPrefixes()...)
	for n := range mostSlices {
		s.fresh = true
		s.hands.deliver(s.hands.t.Context(), fmt.Sprintf("rec-%s-%d", run, n), wake)
		now := s.hands.run()
		if now.State == inbox.StateDone || now.State == inbox.StateFailed {
			return now
		}
		s.hands.at(s.hands.clock().Add(2 * time.Hour))
		if s.lift(func(r row) bool { return r.stop }); s.hands.wakeOf(s.hands.clock(), s.hands.key) {
			wake = s.hands.run().Wake
		}
	}
	return s.hands.run()
}

func TestRandomBucketsKeepExactlyWhatMustBeKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := plans().Draw(rt, "plan")
		s := stage(t, p)
		s.watch()
		run := s.work("r-1")
		if run.State != inbox.StateDone {
			s.judge.wrong("the run is %s: %+v", run.State, run.LastError)
		} else {
			s.judge.done(run.Place.Retained)
		}
		if len(s.judge.says) > 0 {
			rt.Fatal(verdictOf(p, s.judge.says))
		}
	})
}
