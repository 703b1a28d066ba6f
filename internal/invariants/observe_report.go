package invariants

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"custody/internal/report"
)

type versionName struct{ key, id string }

// reportObject is an object of the report bucket.
type reportObject struct {
	name       report.Name
	process    *process
	invocation string // of the SDK
	data       []byte
	stored     time.Time
	selected   map[versionName]bool // of a selection: true as long as no request has named the version
}

// tryOf is what a report object is about, in words: names of two tellings differ by the lease token.
func tryOf(object string) string {
	n, err := report.ParseName(object)
	if err != nil {
		return object
	}
	_, try, _ := strings.Cut(strings.TrimPrefix(object, report.Root+n.CommandType+"/"+n.RunKey+"/"), "/")
	return n.RunKey + " " + strings.TrimSuffix(try, ".jsonl.gz")
}

// reported sees a request that writes a report object. No object is ever written over another; what the SDK repeats of one write is
// the one exception, and S3 refuses that by the condition.
func (o *observer) reported(x exchange, run *runBook, object string, serve func() *answer) *answer {
	name, err := report.ParseName(object)
	header := x.request.Header
	switch {
	case err != nil:
		o.violate("audit: %s writes %q: %v", x.call, object, err)
	case run == nil || runItem(name.RunKey) != run.pk:
		o.violate("audit: %s writes %q for the run %q", x.call, object, x.task.run)
	case x.process.leases[name.LeaseToken] != run.pk: // perhaps not the last one: an acquire that was given up may be served later
		o.violate("audit: %s writes %q, and has never had that lease", x.call, object)
	case run.item.text("lease_token") == name.LeaseToken && run.item.number("slices") != int64(name.Slice):
		o.violate("audit: %s writes %q in slice %d", x.call, object, run.item.number("slices"))
	}
	if header.Get("If-None-Match") != "*" || header.Get("X-Amz-Expected-Bucket-Owner") != owner {
		o.violate("audit: %s has the wrong conditions: %v", x.call, header)
	}
	invocation := header.Get("Amz-Sdk-Invocation-Id")
	before := o.reports[object]
	if before != nil && (before.process != x.process || before.invocation != invocation || !bytes.Equal(before.data, x.body)) {
		o.violate("audit: %s writes %q, which is there already", x.call, object)
	}
	a := serve()
	if a.ok() && before == nil && run != nil {
		stored := &reportObject{name: name, process: x.process, invocation: invocation, data: x.body, stored: time.Now()}
		o.reports[object] = stored
		o.enter(x, run, object, stored)
	}
	return a
}

// enter reads an object that is stored. It must be of its run, and what it says is gone must be.
func (o *observer) enter(x exchange, run *runBook, object string, stored *reportObject) {
	read, err := report.Decode(object, stored.data)
	if err != nil {
		o.violate("audit: %s wrote what cannot be read: %v", x.call, err)
		return
	}
	h := read.Header
	if h.Scope != run.scope || h.Bucket != Bucket || !h.Cutoff.Equal(run.cutoff) || !slices.Equal(h.Prefixes, run.prefixes) ||
		string(h.Mode) != run.item.text("mode") {
		o.violate("audit: %s wrote %q with the header of another run: %+v", x.call, object, h)
	}
	if h.Kind == report.KindSelection {
		stored.selected = map[versionName]bool{}
		for _, s := range read.Selections {
			if s.Decision == report.DecisionDelete {
				stored.selected[versionName{s.Key, s.VersionID}] = true
			}
		}
		x.process.wrote = append(x.process.wrote, stored)
	}
	for _, f := range read.Outcomes {
		there := o.keys[f.Key].find(f.VersionID) != nil
		if there && (f.Fate == report.FateDeleted || f.Fate == report.FateAbsent) {
			o.violate("audit: %s says of a version of %q that it is %s, and it is there", x.call, f.Key, f.Fate)
		}
	}
}

// onRecord looks for a delete request in the audit trail: one selection object of the same worker, stored before the request was
// sent, must name each of its versions as one to delete. An object is of one try, so no second request can rest on it.
func (o *observer) onRecord(x exchange, targets []target) *reportObject {
	missing := "it has stored no selection object"
	for _, s := range slices.Backward(x.process.wrote) {
		if runItem(s.name.RunKey) != x.task.run || s.stored.After(x.came) {
			continue
		}
		without := slices.IndexFunc(targets, func(t target) bool { return !s.selected[versionName{t.Key, *t.VersionID}] })
		if without < 0 {
			for _, t := range targets {
				s.selected[versionName{t.Key, *t.VersionID}] = false
			}
			return s
		}
		if missing == "it has stored no selection object" {
			missing = "none that is stored, and no request has used, selects " + targets[without].Key
		}
	}
	o.violate("audit: %s deletes %d versions that are not on record: %s", x.call, len(targets), missing)
	return nil
}
