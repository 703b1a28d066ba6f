package invariants

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// checkPlace holds a written place against the bucket: it never passes an expired version that is still there and that nothing
// keeps. A worker that dies right behind the write would never look at it again.
func (o *observer) checkPlace(x exchange, run *runBook, c change) {
	if c.new.text("mode") != "delete" {
		return
	}
	place := c.new["place"].M
	prefix, key := int(place.number("prefix")), place.text("key")
	for _, left := range o.expired(run) {
		at, _ := run.prefixOf(left.key)
		passed := at < prefix || at == prefix && left.key <= key
		if passed && !o.kept(run, left, x.process, c.new) {
			o.violate("I5: %s wrote the place %d %q of scan %d behind a version of %q that nothing keeps", x.call, prefix, key,
				place.number("scan"), left.key)
		}
	}
}

// expiredVersion is a version in a run's selection that is there.
type expiredVersion struct {
	key string
	*versionBook
}

func (o *observer) expired(run *runBook) []expiredVersion {
	var out []expiredVersion
	for _, key := range slices.Sorted(maps.Keys(o.keys)) {
		if _, in := run.prefixOf(key); !in {
			continue
		}
		for _, v := range o.keys[key].versions {
			if v.modified.Before(run.cutoff) {
				out = append(out, expiredVersion{key, v})
			}
		}
	}
	return out
}

// kept says whether the run's present scan had a reason to keep the version: a hold, tag or lock that its worker was told of, a
// version below a current one, or a refusal by S3 that the item names.
func (o *observer) kept(run *runBook, v expiredVersion, p *process, now item) bool {
	for _, r := range run.reads {
		if r.at.Before(run.scanFrom) {
			continue
		}
		// A worker may go by its clock before it asked: what runs out while it waits for the answer may still be kept.
		r.clock = run.scanFrom.Add(p.skew)
		if h, covered := r.covers(v.key); covered && h.Reason != "stop" {
			return true
		}
	}
	if run.marks.kept(v.id, run.scanFrom, p.skew) {
		return true
	}
	k := o.keys[v.key]
	wasCurrent := v.notNewer.IsZero() || !v.notNewer.Before(run.scanFrom)
	if wasCurrent && (len(k.versions) > 1 || k.last.foreign(run, p)) {
		return true
	}
	refused := now["place"].M["refused"].L
	if now["place"].M.number("refused_count") > int64(len(refused)) {
		return true // the item names a hundred of them; it may be one of the others
	}
	for _, a := range refused {
		if a.M.text("version_id") == v.id {
			return true
		}
	}
	return false
}

// completed is I5, at the moment of the write: the scan that completes a run deleted nothing, and its retained versions are
// exactly the expired ones that are left.
func (o *observer) completed(x exchange, run *runBook, c change) {
	if c.new.text("mode") != "delete" {
		return
	}
	place := c.new["place"].M
	if place["deleted"].BOOL {
		o.violate("I5: %s completed %s with a scan that deleted something", x.call, run.pk)
	}
	if place.number("refused_count") > 0 {
		o.violate("I5: %s completed %s with %d refused versions", x.call, run.pk, place.number("refused_count"))
	}
	if int(place.number("prefix")) != len(run.prefixes) {
		o.violate("I5: %s completed %s at prefix %d of %d", x.call, run.pk, place.number("prefix"), len(run.prefixes))
	}
	retained := int64(0)
	for reason := range place["retained"].M {
		retained += place["retained"].M.number(reason)
	}
	left := int64(len(o.expired(run)))
	if retained < left || retained > left && !o.foreignDeletes(run, x.process) {
		o.violate("I5: %s completed %s with %d versions retained, %d expired ones are left", x.call, run.pk, retained, left)
	}
}

// foreignDeletes: something of the selection was removed during the run's last scan, and not by it.
func (o *observer) foreignDeletes(run *runBook, p *process) bool {
	for key, k := range o.keys {
		if _, in := run.prefixOf(key); in && k.last.foreign(run, p) {
			return true
		}
	}
	return false
}

// acknowledged is I9: at the moment of a 204, both items are there and are what the sender asked for.
func (w *World) acknowledged(d Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := &w.observer
	there, run := o.deliveries["delivery#"+d.ID], o.runs[d.runItem()]
	switch {
	case there == nil || there.text("body_sha256") != d.bodyHash():
		o.violate("I9: delivery %s was acknowledged, its item is %v", d.ID, there)
	case run == nil || !d.names(run):
		o.violate("I9: delivery %s was acknowledged, and its run %s is not there as it was asked for", d.ID, d.Run)
	}
}

// Ended says whether every run has come to an end and nothing is on its way to the cleanup function.
func (w *World) Ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range w.observer.runs {
		if isOpen(run.item) {
			return false
		}
	}
	return w.mapping.working == 0
}

// Settle lets time pass until every run has ended, at most for the given time. A run that has not is a violation of I4.
func (w *World) Settle(most time.Duration) {
	for end := time.Now().Add(most); time.Now().Before(end); {
		if w.Ended() {
			return
		}
		w.Sleep(2 * time.Second)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for pk, run := range w.observer.runs {
		if isOpen(run.item) {
			w.observer.violate("I4: %s is %s after %s, with %d attempts, wake %q, lease %q", pk, run.item.text("state"), most,
				run.item.number("attempts"), run.item.text("wake"), run.item.text("lease_token"))
		}
	}
}

// RunView is a run as its item stands.
type RunView struct {
	State, Mode, Category, Wake, Lease string
	Message                            string // of the last error
	Cause                              string // category of what came before the ceiling
	Attempts, Slices, Scan             int64
	Deleted, Absent, Confirmed         int64
	Retained                           map[string]int64
	Refused                            int64
	Named                              int // of the refused versions
	NextAttemptAt                      time.Time
}

// Run is what the observer knows of a run; false where there is none.
func (w *World) Run(key string) (RunView, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run := w.observer.runs[runItem(key)]
	if run == nil {
		return RunView{}, false
	}
	i := run.item
	place, counters := i["place"].M, i["counters"].M
	v := RunView{
		State: i.text("state"), Mode: i.text("mode"), Category: i["last_error"].M.text("category"), Wake: i.text("wake"), Cause: i["cause"].M.text("category"), Message: i["last_error"].M.text("message"),
		Lease: i.text("lease_token"), Attempts: i.number("attempts"), Slices: i.number("slices"), Scan: place.number("scan"),
		Deleted: counters.number("deleted"), Absent: counters.number("absent"), Confirmed: run.confirmed,
		Retained: map[string]int64{}, Refused: place.number("refused_count"),
		Named: len(place["refused"].L),
	}
	if i.has("next_attempt_at") {
		v.NextAttemptAt = time.UnixMilli(i.number("next_attempt_at"))
	}
	for reason := range place["retained"].M {
		v.Retained[reason] = place["retained"].M.number(reason)
	}
	return v, true
}

// Left lists the bucket's versions as "key n", where n counts the versions that the key ever had, from 1: version ids are
// different in each world.
func (w *World) Left() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []string{}
	for _, key := range slices.Sorted(maps.Keys(w.observer.keys)) {
		for _, v := range w.observer.keys[key].versions {
			out = append(out, fmt.Sprintf("%s %d", key, v.n))
		}
	}
	return out
}

// Expect is a violation where the run does not stand as it is said in the middle of a story.
func (w *World) Expect(run, state, category string, left ...string) {
	if v, _ := w.Run(run); v.State != state || v.Category != category {
		w.violate("run %s is %s %s (%+v), want %s %s", run, v.State, v.Category, v, state, category)
	}
	if got := w.Left(); !slices.Equal(got, left) {
		w.violate("the bucket holds %q, want %q", got, left)
	}
}

// Report enters a violation that a test has found.
func (w *World) Report(format string, args ...any) { w.violate(format, args...) }

// Calm changes what the options' functions see, under the lock that they are called under.
func (w *World) Calm(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// CheckBooks compares the observer's books with what the engine lists: an observer that is wrong proves nothing.
func (w *World) CheckBooks() {
	w.mu.Lock()
	defer w.mu.Unlock()
	listed, known := 0, 0
	for query := (url.Values{"versions": {""}}); query != nil; {
		query = w.checkPage(query, &listed)
	}
	for _, k := range w.observer.keys {
		known += len(k.versions)
	}
	if listed != known {
		w.observer.violate("the bucket holds %d versions, the books %d", listed, known)
	}
}

// checkPage looks at one page of the bucket's versions and returns the query of the next, nil behind the last.
func (w *World) checkPage(query url.Values, listed *int) url.Values {
	type entry struct {
		Key, VersionId string //nolint:revive // as S3 writes it
		IsLatest       bool
	}
	var page struct {
		Version, DeleteMarker              []entry
		IsTruncated                        bool
		NextKeyMarker, NextVersionIdMarker string //nolint:revive // as S3 writes it
	}
	a := w.s3("GET", Bucket, "", query.Encode(), "")
	if err := xml.Unmarshal(a.body.Bytes(), &page); err != nil {
		w.observer.violate("the bucket cannot be listed: %v", err)
		return nil
	}
	for _, v := range append(page.Version, page.DeleteMarker...) {
		*listed++
		k := w.observer.keys[v.Key]
		if there := k.find(v.VersionId); there == nil || v.IsLatest != (there == k.current()) {
			w.observer.violate("the books know nothing of %s of %q, current: %v", v.VersionId, v.Key, v.IsLatest)
		}
	}
	if !page.IsTruncated {
		return nil
	}
	return url.Values{"versions": {""}, "key-marker": {page.NextKeyMarker}, "version-id-marker": {page.NextVersionIdMarker}}
}
