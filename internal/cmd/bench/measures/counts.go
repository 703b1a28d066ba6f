package measures

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/signature"
	"custody/internal/sweeper"
)

// countsTable is the inbox of the counts alone.
const countsTable = "bench-counts"

// Counts are what a delivery and a sweep ask of DynamoDB, as the server sees it, and the size of what is deployed. They are the same
// on every machine; make bench-check bounds them.
func (b Bench) Counts(ctx context.Context) ([]results.Figure, error) {
	if err := (localaws.Tables{Inbox: countsTable}).Make(ctx, b.Server.Items()); err != nil {
		return nil, err
	}
	if err := b.Server.SetLimits(ctx, server.Limits{}); err != nil {
		return nil, err
	}
	claims, err := b.claims(ctx)
	if err != nil {
		return nil, err
	}
	sweep, err := b.sweep(ctx)
	if err != nil {
		return nil, err
	}
	largest, err := b.largest()
	if err != nil {
		return nil, err
	}
	return append(append(claims, sweep...), largest), nil
}

// asked is how many requests it takes of DynamoDB, by operation.
func (b Bench) asked(ctx context.Context, do func() error) (map[string]int64, error) {
	if _, err := b.Server.TakeCounts(ctx); err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	return b.Server.TakeCounts(ctx)
}

func (b Bench) claims(ctx context.Context) ([]results.Figure, error) {
	door, err := inprocess.NewDoor(signature.SchemeTimestamped, dynamostore.New(b.Server.CountedItems(), countsTable))
	if err != nil {
		return nil, err
	}
	body := inprocess.Body("r-1")
	var figures []results.Figure
	for _, step := range []struct {
		name, delivery string
		outcome        inbox.Outcome
		most           float64
	}{
		{"a first delivery", "d-1", inbox.OutcomeAccepted, 1},
		{"the same delivery again", "d-1", inbox.OutcomeAlreadyProcessed, 1},
		{"the same run under another delivery id", "d-2", inbox.OutcomeAlreadyProcessed, 2},
	} {
		taken, err := b.asked(ctx, func() error {
			_, sum := door.Handler.Handle(ctx, door.Request(step.delivery, body, time.Now()))
			if sum.Outcome != step.outcome {
				return fmt.Errorf("%s was answered %s and not %s: %s", step.name, sum.Outcome, step.outcome, sum.Problem)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		b.say("  %s: %s", step.name, inWords(taken))
		figures = append(figures, results.Figure{
			Measure: "round trips of a claim", Contender: step.name, Unit: "requests", Target: results.AtMost(step.most),
		}.Of([]float64{float64(sum(taken, ofItems))}))
	}
	return figures, nil
}

func ofItems(operation string) bool { return strings.HasPrefix(operation, server.ItemsPrefix) }

// sweep counts one tick over the open rows, whose index is two pages of 1 MB (package check measures that). Failed and recorded runs
// are a query each.
func (b Bench) sweep(ctx context.Context) ([]results.Figure, error) {
	if err := inprocess.FillOpen(ctx, b.Server.Items(), countsTable, time.Now()); err != nil {
		return nil, err
	}
	s := sweeper.New(dynamostore.New(b.Server.CountedItems(), countsTable), sweeper.Settings{WakeAfter: 2 * time.Minute, Limit: 500, AttemptCeiling: 12})
	taken, err := b.asked(ctx, func() error {
		if tick := s.Tick(ctx); tick.Woken != inprocess.DueRows {
			return fmt.Errorf("the sweep woke %d runs of %d that are due: %s", tick.Woken, inprocess.DueRows, tick.Problem)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.say("  a sweep: %s", inWords(taken))
	figure := func(what string, most float64, n int64) results.Figure {
		return results.Figure{
			Measure:   fmt.Sprintf("requests of a sweep over %d open rows, of which %d are due", inprocess.OpenRows, inprocess.DueRows),
			Contender: what, Unit: "requests", Target: results.AtMost(most),
		}.Of([]float64{float64(n)})
	}
	const pages, others = 2, 2
	queries := taken[server.ItemsPrefix+"Query"]
	return []results.Figure{
		figure("sweeper, reading", pages+others, queries),
		figure("sweeper, all else", inprocess.DueRows, sum(taken, ofItems)-queries),
	}, nil
}

// largest is the size of the largest function as it was built for this machine; package check builds them for Lambda's.
func (b Bench) largest() (results.Figure, error) {
	var most int64
	for _, path := range []string{b.Programs.Cleanup, b.Programs.Webhook, b.Programs.Sweeper} {
		info, err := os.Stat(path)
		if err != nil {
			return results.Figure{}, fmt.Errorf("weigh a function: %w", err)
		}
		most = max(most, info.Size())
	}
	return results.Figure{Measure: "size of the largest function", Contender: "custody", Unit: "MB", Target: results.AtMost(15)}.
		Of([]float64{float64(most) / 1e6}), nil
}
