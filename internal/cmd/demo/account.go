package main

import (
	"context"
	"fmt"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
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
	reasons := map[string]int64{"dispute_evidence": int64(kept["dispute_evidence"]), "legal_hold": int64(kept["legal_hold"])}
	return s.check(equal(run.Place.Retained, reasons), "the run counts what it retained, and why")
}

func equal(a, b map[string]int64) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
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
	for _, reason := range []string{"dispute_evidence", "legal_hold", "younger than the cutoff", "another warehouse"} {
		row("kept: "+reason, kept[reason])
	}
	row("from receipt to empty scan", run.EndedAt.Sub(run.ReceivedAt).Round(100*time.Millisecond))
	fmt.Fprintln(s.out)
}
