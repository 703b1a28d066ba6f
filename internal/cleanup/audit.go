package cleanup

import (
	"context"
	"fmt"
	"iter"
	"time"

	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
)

// Reports is where the audit trail is written.
type Reports interface {
	// Write stores one object durably under its name, and never over another. With an error it may be stored or not, and a
	// further attempt takes a further name.
	Write(ctx context.Context, name string, object []byte) error
}

// recordSelection puts the decisions on record before anything is sent: what was selected is known even if the process dies in
// the middle of the request. When it cannot be written, nothing is deleted.
func (r *round) recordSelection(ctx context.Context) error {
	if r.Reports == nil {
		return nil
	}
	name, object, err := r.encoder.Selection(r.header(), r.selections(r.now()))
	if err != nil {
		return fmt.Errorf("record the selection: %w", err)
	}
	return r.Reports.Write(ctx, name, object)
}

// recordOutcome puts what S3 answered on record.
func (r *round) recordOutcome(ctx context.Context, sent []candidate, fates []retention.Fate) error {
	return r.writeOutcome(ctx, func(yield func(report.Outcome) bool) {
		at := r.now()
		for _, d := range r.decided {
			if d.absent && !yield(outcome(d.candidate, report.FateAbsent, "", at)) {
				return
			}
		}
		for i, c := range sent {
			if !yield(outcome(c, fateWord(fates[i].Kind), fates[i].Code, at)) {
				return
			}
		}
	})
}

// recordUnanswered says of every version that was sent that it may be gone.
func (r *round) recordUnanswered(ctx context.Context, sent []candidate) error {
	return r.writeOutcome(ctx, func(yield func(report.Outcome) bool) {
		at := r.now()
		for _, c := range sent {
			if !yield(outcome(c, report.FateUnanswered, "", at)) {
				return
			}
		}
	})
}

// writeOutcome writes nothing where there is nothing to say: all of the batch was retained, or the run is dry.
func (r *round) writeOutcome(ctx context.Context, lines iter.Seq[report.Outcome]) error {
	if r.Reports == nil || r.run.Mode == inbox.ModeDryRun || none(lines) {
		return nil
	}
	name, object, err := r.encoder.Outcome(r.header(), lines)
	if err != nil {
		return fmt.Errorf("record the outcome: %w", err)
	}
	return r.Reports.Write(ctx, name, object)
}

func none(lines iter.Seq[report.Outcome]) bool {
	for range lines {
		return false
	}
	return true
}

func (r *round) header() report.Header {
	run := r.run
	return report.Header{
		Name: report.Name{
			CommandType: run.Type, RunKey: run.Key, Slice: run.Slices, LeaseToken: r.token,
			Scan: r.batch.scan, Batch: r.batch.number, Try: r.try,
		},
		Scope: run.Scope, Mode: report.Mode(run.Mode), Bucket: run.Selection.Bucket, Prefixes: run.Selection.Prefixes,
		Cutoff: run.Selection.Cutoff, HoldsReadAt: r.facts.Now,
	}
}

// selections are the lines of a selection object. A version that is gone already was selected, too: its outcome says the rest.
func (r *round) selections(at time.Time) iter.Seq[report.Selection] {
	return func(yield func(report.Selection) bool) {
		for _, d := range r.decided {
			line := report.Selection{
				Key: d.version.Key, VersionID: d.version.ID, LastModified: d.version.LastModified, Size: d.version.Size,
				DeleteMarker: d.version.DeleteMarker, Decision: report.DecisionKeep, Reason: string(d.Reason), At: at,
			}
			if d.Delete || d.absent {
				line.Decision, line.Reason = report.DecisionDelete, ""
			}
			if !yield(line) {
				return
			}
		}
	}
}

func outcome(c candidate, fate report.Fate, code string, at time.Time) report.Outcome {
	return report.Outcome{Key: c.version.Key, VersionID: c.version.ID, Fate: fate, Code: code, At: at}
}

func fateWord(k retention.FateKind) report.Fate {
	switch k {
	case retention.FateDeleted:
		return report.FateDeleted
	case retention.FateAbsent:
		return report.FateAbsent
	case retention.FateLocked:
		return report.FateLocked
	case retention.FateRefused:
		return report.FateRefused
	case retention.FateTransient:
	}
	return report.FateTransient
}
