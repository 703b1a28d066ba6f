package invariants

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"

	"custody/internal/report"
)

// CheckReports reads the report of each run that is done back once more, with what came when its end was written.
func (w *World) CheckReports() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range w.observer.runs {
		if run.item.text("state") == "done" {
			w.observer.checkReport(run)
		}
	}
}

// checkReport reads the report of a run back, as the operator's tool does, and holds it against the bucket: what it says is gone
// must be gone, what went through the run was selected, and what is left of the selection stays for a reason.
func (o *observer) checkReport(run *runBook) {
	h := o.history(run)
	if h == nil {
		return
	}
	told, tally := map[versionName]report.Version{}, report.NewTally(run.prefixes)
	for v := range h.Versions() {
		name := versionName{v.Key, v.VersionID}
		told[name] = v
		there := o.keys[v.Key].find(v.VersionID) != nil
		switch {
		case there && v.State == report.StateGone:
			o.violate("audit: the report of %s says that version %s of %q is gone, and it is there", run.pk, v.VersionID, v.Key)
		case !there && v.State == report.StateStays && o.wentBefore(v):
			o.violate("audit: the report of %s says that version %s of %q stays, and it had gone by the same worker", run.pk, v.VersionID, v.Key)
		}
		if there {
			tally.Add(v)
		}
	}
	for name, by := range o.wentBy {
		if by.run == run.pk && !selectedIn(told[name]) {
			o.violate("audit: version %s of %q went through %s, and its report has not selected it", name.id, name.key, run.pk)
		}
	}
	o.checkLeft(run, told, tally)
}

// checkLeft: each expired version that is left is one of which the last scan has told the report that it stays, and the report knows of
// no others in the bucket. Clocks that differ may put the line of a slice that died behind that of the next one.
func (o *observer) checkLeft(run *runBook, told map[versionName]report.Version, tally *report.Tally) {
	left := o.expired(run)
	for _, v := range left {
		t := told[versionName{v.key, v.id}]
		if o.world.options.Skew != nil && keptIn(t) {
			continue
		}
		if scan := o.lastScan(t); t.State != report.StateStays || scan != run.scan {
			o.violate("audit: version %d of %q is left by scan %d, and scan %d tells the report of %s that it %q %s", v.n, v.key, run.scan, scan,
				run.pk, t.State, t.Fate)
		}
	}
	sum := int64(0)
	for _, row := range tally.Rows() {
		sum += row.Versions
	}
	if sum != int64(len(left)) {
		o.violate("audit: the report of %s counts %d versions that are in the bucket, %d expired ones are left", run.pk, sum, len(left))
	}
}

// wentBefore says whether the scan that wrote the last line about the version had removed it by then. Others may remove what it keeps:
// another run, or a request of an earlier scan that was on its way for long.
func (o *observer) wentBefore(v report.Version) bool {
	last := o.reports[v.Lines[len(v.Lines)-1].Object]
	by, known := o.wentBy[versionName{v.Key, v.VersionID}]
	if last == nil || !known || by.on == nil {
		return false
	}
	sameScan := by.on.name.LeaseToken == last.name.LeaseToken && by.on.name.Scan == last.name.Scan
	return sameScan && !by.at.After(last.stored)
}

// lastScan is which scan wrote the last line about the version; 0 where there is none.
func (o *observer) lastScan(v report.Version) int64 {
	if len(v.Lines) == 0 {
		return 0
	}
	return int64(o.reports[v.Lines[len(v.Lines)-1].Object].name.Scan)
}

func selectedIn(v report.Version) bool {
	for _, l := range v.Lines {
		if l.Kind == report.KindSelection && l.Decision == report.DecisionDelete {
			return true
		}
	}
	return false
}

func keptIn(v report.Version) bool {
	for _, l := range v.Lines {
		if l.Decision == report.DecisionKeep || l.Fate == report.FateLocked {
			return true
		}
	}
	return false
}

// history reads the objects of the run from the bucket itself.
func (o *observer) history(run *runBook) *report.History {
	commandType, key, _ := strings.Cut(strings.TrimPrefix(run.pk, "run#"), "#")
	prefix, err := report.Prefix(commandType, key)
	if err != nil {
		o.violate("audit: %s has no report: %v", run.pk, err)
		return nil
	}
	h := report.NewHistory(commandType, key, nil)
	for query := (url.Values{"list-type": {"2"}, "prefix": {prefix}}); query != nil; {
		var page struct {
			Contents              []struct{ Key string }
			NextContinuationToken string
		}
		a := o.world.s3(http.MethodGet, reportBucket, "", query.Encode(), "")
		if err := xml.Unmarshal(a.body.Bytes(), &page); err != nil || !a.ok() {
			o.violate("audit: the report of %s cannot be listed: %s", run.pk, a.body.String())
			return nil
		}
		for _, object := range page.Contents {
			data := o.world.s3(http.MethodGet, reportBucket, object.Key, "", "")
			if err := h.Add(object.Key, data.body.Bytes()); err != nil {
				o.violate("audit: the report of %s cannot be read: %v", run.pk, err)
			}
		}
		if query = nil; page.NextContinuationToken != "" {
			query = url.Values{"list-type": {"2"}, "prefix": {prefix}, "continuation-token": {page.NextContinuationToken}}
		}
	}
	return h
}
