package operator

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Verdict is how one stage of a check ended.
type Verdict string

const (
	// VerdictOK is a stage that saw what it wanted to see.
	VerdictOK Verdict = "ok"
	// VerdictFailed is one that did not, or could not look.
	VerdictFailed Verdict = "FAILED"
	// VerdictSkipped is one that there is nothing to look at for, or that stands on another which was not ok.
	VerdictSkipped Verdict = "skipped"
)

// StageResult is one stage of a check, when it is over.
type StageResult struct {
	Stage   string
	Verdict Verdict
	Says    string // what was seen, what is wrong, or why nothing was looked at
	Took    time.Duration
}

// stage is one step of a check.
type stage struct {
	name  string
	after string // the stage that it stands on; "" for none
	do    func(ctx context.Context) (says string, err error)
}

// skipped is a stage that finds nothing to look at.
type skipped struct{ why string }

func (e *skipped) Error() string { return e.why }

func skip(format string, args ...any) error { return &skipped{fmt.Sprintf(format, args...)} }

// inOrder goes through the stages, one after the other: each stands on what the earlier ones have proved. An ended context fails
// the stage that it meets, and no other is begun.
func inOrder(ctx context.Context, stages []stage, now func() time.Time, tell func(StageResult)) []StageResult {
	var all []StageResult
	verdicts := map[string]Verdict{}
	for _, s := range stages {
		if ctx.Err() != nil {
			break
		}
		began := now()
		r := StageResult{Stage: s.name}
		r.Verdict, r.Says = s.run(ctx, verdicts[s.after])
		r.Took = now().Sub(began)
		verdicts[s.name] = r.Verdict
		all = append(all, r)
		tell(r)
	}
	return all
}

func (s stage) run(ctx context.Context, before Verdict) (Verdict, string) {
	if s.after != "" && before != VerdictOK {
		return VerdictSkipped, fmt.Sprintf("it stands on the stage %s, which is %s", s.after, before)
	}
	says, err := s.do(ctx)
	if why, ok := errors.AsType[*skipped](err); ok {
		return VerdictSkipped, why.why
	}
	if err != nil {
		return VerdictFailed, err.Error()
	}
	return VerdictOK, says
}

// until asks again and again, until the answer is final or the time is up; then the last answer counts.
func until[T any](ctx context.Context, within, every time.Duration, ask func() (answer T, final bool, err error)) (answer T, final bool, err error) {
	end := time.NewTimer(within)
	defer end.Stop()
	for {
		if answer, final, err = ask(); final || err != nil {
			return answer, final, err
		}
		pause := time.NewTimer(every)
		select {
		case <-pause.C:
		case <-end.C:
			pause.Stop()
			return ask()
		case <-ctx.Done():
			pause.Stop()
			return answer, false, context.Cause(ctx)
		}
	}
}
