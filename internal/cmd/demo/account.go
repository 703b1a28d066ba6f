package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
	"custody/internal/s3report"
	"custody/internal/s3versions"
)

// account compares the bucket with what the demo itself expects, and shows the run and what was kept.
func (s *story) account(ctx context.Context) error {
	s.say("5. Account for every version")
	left, err := s.left(ctx)
	if err != nil {
		return err
	}
	kept, missing, wrong := map[string]int{}, 0, 0
	for _, v := range s.written {
		there := left[v.key+" "+v.id]
		switch {
		case v.kept != "" && there:
			kept[v.kept]++
		case v.kept != "":
			missing++
		case there:
			wrong++
		}
		delete(left, v.key+" "+v.id)
	}
	if err := s.check(missing == 0, "every version that had to be kept is there"); err != nil {
		return err
	}
	if err := s.check(wrong == 0 && len(left) == 0, "every version that had to go is gone, and nothing else appeared"); err != nil {
		return err
	}
	deletes, withoutID := s.traffic.sent()
	if err := s.check(withoutID == 0, "%d delete requests, none of them without a version id", deletes); err != nil {
		return err
	}
	run, err := s.store.Run(ctx, runKey)
	if err != nil {
		return err
	}
	s.table(*run, kept)
	reasons := map[string]int64{}
	for _, reason := range retained() {
		reasons[reason] = int64(kept[reason])
	}
	if err := s.check(maps.Equal(run.Place.Retained, reasons), "the run counts what it retained, and why"); err != nil {
		return err
	}
	return s.checkReport(ctx)
}

// retained are the reasons that the run counts; what is young or of another warehouse is none of its business.
func retained() []string {
	return []string{"dispute_evidence", "legal_hold", "tag", "lock_legal_hold", "lock_retention", "current_over_kept"}
}

// checkReport reads the audit trail back and holds it against what the demo knows.
func (s *story) checkReport(ctx context.Context) error {
	history := report.NewHistory(runKey.Type, runKey.Key, nil)
	objects := 0
	for object, err := range s3report.New(s.stack.S3(), s.stack.Setting("CUSTODY_REPORT_BUCKET"), "").Read(ctx, runKey.Type, runKey.Key) {
		if err == nil {
			err = history.Add(object.Name, object.Data)
		}
		if err != nil {
			return err
		}
		objects++
	}
	said := map[string]report.Version{}
	for v := range history.Versions() {
		said[v.Key+" "+v.VersionID] = v
	}
	states := map[report.State]int{}
	wrong := 0
	for _, v := range s.written {
		line, there := said[v.key+" "+v.id]
		counted := slices.Contains(retained(), v.kept)
		switch {
		case v.kept != "" && !counted && there, (v.kept == "" || counted) && !there:
			wrong++
		case counted && (line.State != report.StateStays || line.Reason != v.kept), v.kept == "" && line.State == report.StateStays:
			wrong++
		case there:
			states[line.State]++
		}
	}
	return s.check(wrong == 0, "the report has every version in %d objects: %d gone, %d kept with their reason, %d in doubt when the process was killed",
		objects, states[report.StateGone], states[report.StateStays], states[report.StateUnknown])
}

func (s *story) left(ctx context.Context) (map[string]bool, error) {
	client := s3versions.New(s.stack.S3(), "", time.Now)
	left := map[string]bool{}
	after := retention.Marker{}
	for {
		page, err := client.Page(ctx, s.stack.Setting("CUSTODY_BUCKET"), "", after)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Versions {
			left[v.Key+" "+v.ID] = true
		}
		if after = page.Next; after == (retention.Marker{}) {
			return left, nil
		}
	}
}

func (s *story) table(run inbox.Run, kept map[string]int) {
	row := func(name string, value any) { fmt.Fprintf(s.out, "     %-34s %v\n", name, value) }
	fmt.Fprintln(s.out)
	row("run", run.RunKey())
	row("scope", run.Scope)
	row("selection", fmt.Sprintf("%v before %s", run.Selection.Prefixes, run.Selection.Cutoff.Format(time.RFC3339)))
	row("state", fmt.Sprintf("%s, mode %s", run.State, run.Mode))
	row("scans / slices", fmt.Sprintf("%d / %d (the killed one counts)", run.Place.Scan, run.Slices))
	row("versions put", len(s.written))
	row("deleted", s.goes())
	row("  of them counted in the item", fmt.Sprintf("%d (the answers that a killed process loses are not counted twice)", run.Counters.Deleted))
	for _, reason := range append(retained(), "younger than the cutoff", "another warehouse") {
		row("kept: "+reason, kept[reason])
	}
	row("from receipt to empty scan", run.EndedAt.Sub(run.ReceivedAt).Round(100*time.Millisecond))
	fmt.Fprintln(s.out)
}
