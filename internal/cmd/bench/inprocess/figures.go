package inprocess

import (
	"context"
	"fmt"
	"testing"
	"time"

	"custody/internal/cmd/bench/results"
	"custody/internal/inbox"
	"custody/internal/signature"
)

// Options are the sizes of the measures. Every one must be set.
type Options struct {
	Rounds     int
	Repeats    int   // of the handler in a round
	Deliveries int   // of each contender in a round
	Versions   []int // the sizes of a slice that the slope is drawn through
}

// Defaults are the sizes of the targets: 1 M to 10 M versions.
func Defaults() Options {
	return Options{Rounds: 5, Repeats: 20_000, Deliveries: 2_000, Versions: []int{1_000_000, 3_000_000, 10_000_000}}
}

// Figures takes all measures. One that could not be taken is in the table, with the reason.
func Figures(ctx context.Context, o Options) []results.Figure {
	return []results.Figure{HandlerTime(ctx, o), HandlerAllocations(ctx), Acknowledgements(ctx, o), Slope(ctx, o)}
}

// HandlerTime holds the handler without the store against what no receiver can do without.
func HandlerTime(ctx context.Context, o Options) results.Figure {
	f := results.Figure{
		Measure: "time of a delivery of 1 KiB without the store", Contender: "handler", Against: "HMAC and one strict decoding",
		Unit: results.UnitRatio, Target: results.AtMost(2),
	}
	body := Body("r-1")
	bare := NewBare(body)
	handle, err := handling(ctx, body)
	if err != nil {
		return f.Without(err.Error())
	}
	n := max(1, o.Repeats/turns)
	rounds, err := interleaved(o.Rounds, each(n, handle), each(n, bare.Do))
	if err != nil {
		return f.Without(err.Error())
	}
	f.Context = map[string][]float64{"handler, µs": perRepeat(rounds[0], n*turns), "HMAC and one strict decoding, µs": perRepeat(rounds[1], n*turns)}
	return compared(f, rounds[0], rounds[1])
}

// handling is a function that handles one delivery, again and again.
func handling(ctx context.Context, body []byte) (func() error, error) {
	door, err := NewDoor(signature.SchemeTimestamped, Nowhere{})
	if err != nil {
		return nil, err
	}
	request := door.Request("d-1", body, time.Now())
	return func() error {
		if _, sum := door.Handler.Handle(ctx, request); sum.Outcome != inbox.OutcomeAccepted {
			return fmt.Errorf("the delivery was answered %s: %s", sum.Outcome, sum.Problem)
		}
		return nil
	}, nil
}

// HandlerAllocations counts what make bench-check bounds.
func HandlerAllocations(ctx context.Context) results.Figure {
	f := results.Figure{
		Measure: "allocations of a delivery of 1 KiB without the store", Contender: "handler", Unit: "allocations", Target: results.AtMost(100),
	}
	handle, err := handling(ctx, Body("r-1"))
	if err != nil {
		return f.Without(err.Error())
	}
	var failed error
	count := testing.AllocsPerRun(1000, func() {
		if err := handle(); err != nil {
			failed = err
		}
	})
	if failed != nil {
		return f.Without(failed.Error())
	}
	return f.Of([]float64{count})
}

// each is n times of it.
func each(n int, do func() error) turn {
	timed := func() error {
		for range n {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
	return func() (func() error, error) { return timed, nil }
}

// turns is how often contenders change within a round. What else the machine does comes and goes within a tenth of a second.
const turns = 20

// turn is one contender's: what it makes beforehand, and what is timed.
type turn func() (timed func() error, err error)

// interleaved takes the time of each contender in each round, in seconds: of so many turns, so that what the machine does beside
// them falls on all.
func interleaved(rounds int, contenders ...turn) ([][]float64, error) {
	took := make([][]float64, len(contenders))
	for round := range rounds {
		for i := range contenders {
			took[i] = append(took[i], 0)
		}
		for first := range turns {
			for i := range contenders {
				i = (i + first) % len(contenders)
				timed, err := contenders[i]()
				if err != nil {
					return nil, err
				}
				began := time.Now()
				if err := timed(); err != nil {
					return nil, err
				}
				took[i][round] += time.Since(began).Seconds()
			}
		}
	}
	return took, nil
}

func perRepeat(seconds []float64, repeats int) []float64 {
	micros := make([]float64, len(seconds))
	for i, s := range seconds {
		micros[i] = s * 1e6 / float64(repeats)
	}
	return micros
}

// compared is the figure of one contender's rounds over the other's.
func compared(f results.Figure, of, to []float64) results.Figure {
	ratios, err := results.Ratios(of, to)
	if err != nil {
		return f.Without(err.Error())
	}
	return f.Of(ratios)
}
