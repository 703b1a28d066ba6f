package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"
)

// view is a run as it is shown.
type view struct {
	operator.Found
	now          time.Time
	cover        operator.Cover
	coverProblem error // why the holds were not read

	origin        *inbox.Delivery // that started it; nil where its item has expired
	originProblem error
}

// text writes the run on one screen.
func (v view) text(s sheet) {
	run := v.Run
	s.put("Run", run.RunKey().String())
	s.putState("State", v.state())
	s.put("Scope", run.Scope)
	s.put("From", fmt.Sprintf("delivery %s, received %s", run.DeliveryID, when(run.ReceivedAt, v.now)), v.foundBy())
	s.put("Command", producersCommand(run))
	s.put("Body", v.body(s.width))
	s.put("Selection", fmt.Sprintf("versions in bucket %s older than %s, under", run.Selection.Bucket, stamp(run.Selection.Cutoff)),
		strings.Join(run.Selection.Prefixes, "\n"))
	s.put("Mode", v.mode())
	s.put("Slices", fmt.Sprintf("%d in all, %d in a row without progress", run.Slices, run.Attempts))
	s.put("Lease", v.lease())
	s.put("Wake", v.wake())
	s.put("Place", v.place())
	s.put("Counters", fmt.Sprintf("deleted %d, already gone %d, selected %d, listed %d", run.Counters.Deleted, run.Counters.Absent,
		run.Counters.Selected, run.Counters.Listed))
	s.put("Retained", v.retained())
	s.put("Refused", v.refused()...)
	s.put("Last error", v.problem(run.LastError)...)
	s.put("Cause", v.cause()...)
	s.put("Operator", v.operation())
	s.put("Holds", v.holds())
	s.putAlarm("Brake", v.brakes()...)
	s.put("Next", v.next())
	s.putWhole("You can", v.commands()...)
}

func (v view) state() string {
	since, run := v.Run.OpenSince, v.Run
	if !run.EndedAt.IsZero() {
		since = run.EndedAt
	}
	if run.State == inbox.StateRunning || run.State == inbox.StatePending {
		return fmt.Sprintf("%s, open since %s", run.State, when(run.OpenSince, v.now))
	}
	return fmt.Sprintf("%s since %s", run.State, when(since, v.now))
}

func (v view) foundBy() string {
	if v.Delivery == nil || v.Delivery.ID == v.Run.DeliveryID {
		return ""
	}
	return fmt.Sprintf("also delivery %s, %s, received %s", v.Delivery.ID, v.Delivery.Outcome, when(v.Delivery.ReceivedAt, v.now))
}

func (v view) mode() string {
	switch v.Run.Mode {
	case inbox.ModeDelete:
		return "delete"
	case inbox.ModeDryRun:
		return "dry_run: it deletes nothing and ends after one scan"
	}
	return "not pinned yet: the first slice does it, by DeleteScopes"
}

func (v view) lease() string {
	run := v.Run
	switch {
	case run.LeaseToken == "":
		return "none"
	case run.LeaseExpiresAt.After(v.now):
		return fmt.Sprintf("held by worker %s until %s", run.LeaseToken, when(run.LeaseExpiresAt, v.now))
	}
	return fmt.Sprintf("of worker %s, ran out %s", run.LeaseToken, when(run.LeaseExpiresAt, v.now))
}

func (v view) wake() string {
	if v.Run.Wake == "" {
		return "none"
	}
	if v.Run.WakeCount > 0 {
		return fmt.Sprintf("on the stream, last sent %s; a sweep sent it %s, and no slice has begun since", when(v.Run.WakeAt, v.now),
			counted(int64(v.Run.WakeCount), "time"))
	}
	return "on the stream since " + when(v.Run.WakeAt, v.now)
}

func (v view) place() string {
	p, prefixes := v.Run.Place, v.Run.Selection.Prefixes
	where := fmt.Sprintf("scan %d, behind the last prefix", p.Scan)
	if p.Prefix < len(prefixes) {
		where = fmt.Sprintf("scan %d, prefix %d of %d (%s)", p.Scan, p.Prefix+1, len(prefixes), prefixes[p.Prefix])
	}
	if p.Key != "" {
		where += fmt.Sprintf(", behind key %q", p.Key)
	}
	if p.Deleted {
		return where + "; this scan has deleted versions, so another follows"
	}
	return where + "; this scan has deleted nothing"
}

func (v view) retained() string {
	counts := v.Run.Place.Retained
	var words []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	if len(words) == 0 {
		return "nothing in this scan"
	}
	return strings.Join(words, ", ") + " (in this scan)"
}

// refusedShown is how many refused versions the text names; --json has all that the item names.
const refusedShown = 5

func (v view) refused() []string {
	p := v.Run.Place
	if p.RefusedCount == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%d versions in this scan", p.RefusedCount)}
	for _, r := range p.Refused[:min(refusedShown, len(p.Refused))] {
		lines = append(lines, fmt.Sprintf("%s: key %q version %s", r.Code, r.Key, r.VersionID))
	}
	if p.RefusedCount > refusedShown {
		lines = append(lines, fmt.Sprintf("and %d more; --json names up to %d", p.RefusedCount-refusedShown, inbox.MaxRefusedNames))
	}
	return lines
}

func (v view) problem(e *inbox.LastError) []string {
	if e == nil {
		return nil
	}
	advice := operator.Advise(e.Category)
	headline := fmt.Sprintf("%s, %s: %s", e.Category, when(e.At, v.now), advice.Means)
	if op := v.Run.Operation; op != nil && op.At.After(e.At) {
		headline += " (before the operator's " + op.Move + ")"
	}
	switch state := v.Run.State; {
	case state == inbox.StateDone || state == inbox.StateDismissed:
		return []string{headline + ". It is over: the run is " + string(state), e.Message}
	case e.Category == inbox.CategoryStopped && v.lifted():
		return []string{headline + "; it was lifted since", e.Message, "Cure: nothing: it goes on by itself", "Read: " + operator.Heading(e.Category)}
	}
	return []string{headline, e.Message, "Cure: " + advice.Do, "Read: " + operator.Heading(e.Category)}
}

// lifted reports whether the holds were read and no brake is on.
func (v view) lifted() bool { return v.coverProblem == nil && len(v.cover.Stops) == 0 }

// cause is why the slices of a run that was given up made no progress. Where none of them wrote an error, the sweeper puts its own in
// the place (inbox.GiveUp), which says nothing that the last error does not say.
func (v view) cause() []string {
	if c := v.Run.Cause; c == nil || c.Category != inbox.CategoryAttemptCeiling {
		return v.problem(c)
	}
	return []string{"none on record: no slice wrote an error, so they were killed; the platform's own lines in the cleanup function's log say of what"}
}

func (v view) operation() string {
	op := v.Run.Operation
	if op == nil {
		return ""
	}
	words := fmt.Sprintf("%s by %s, %s", op.Move, op.By, when(op.At, v.now))
	if op.Reason != "" {
		words += ": " + op.Reason
	}
	return words
}

func (v view) holds() string {
	switch n := len(v.cover.Holds); {
	case v.coverProblem != nil:
		return v.coverProblem.Error()
	case n == 0:
		return "none in force for its scope or for all"
	default:
		return fmt.Sprintf("%d in force for its scope and for all", n)
	}
}

func (v view) brakes() []string {
	var lines []string
	for _, row := range v.cover.Stops {
		lines = append(lines, fmt.Sprintf("ON for %s, %s", scopeWords(row.Scope), signed(row, v.now)))
	}
	return lines
}

// soonEnough is a wait that nobody wants to make shorter: twice the sweeps' time, which comes on top of it.
const soonEnough = 2 * time.Minute

func (v view) next() string {
	outlook := operator.Next(v.Run, v.now)
	words := outlook.Words
	if !outlook.At.IsZero() {
		words += " " + when(outlook.At, v.now)
	}
	if len(v.cover.Stops) > 0 && v.Run.State.OpenIndex() == "open" {
		words += ". The brake is on: each slice deletes nothing and parks it again, at no cost of attempts, until custody resume"
	} else if outlook.At.Sub(v.now) > soonEnough && v.Run.State == inbox.StatePending {
		words += ". It then goes on by itself, and no command hurries it"
	}
	return words
}

func (v view) commands() []string {
	var lines []string
	name := quoted(v.Run.RunKey().String())
	for _, move := range operator.Moves(v.Run) {
		line := "custody " + move + " " + name
		if move == inbox.MoveDismiss {
			line += " --reason '...'"
		}
		lines = append(lines, line)
	}
	if v.Run.State.OpenIndex() == "open" && len(v.cover.Stops) == 0 {
		lines = append(lines, "custody stop --scope "+quoted(v.Run.Scope)+" --reason '...'")
	}
	if len(lines) == 0 {
		return []string{"nothing: it has ended"}
	}
	for _, row := range v.cover.Stops {
		lines = append(lines, liftCommand(row))
	}
	if len(v.cover.Holds) > 0 {
		lines = append(lines, "custody hold list --scope "+quoted(v.Run.Scope))
	}
	return lines
}
