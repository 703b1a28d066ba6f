package results

import (
	"errors"
	"fmt"
	"slices"
)

// Figure is one line of the table: one measure of one contender.
type Figure struct {
	Measure   string `json:"measure"`           // the same words for every contender that it is measured by
	Contender string `json:"contender"`         // who or what was measured
	Against   string `json:"against,omitempty"` // whom the ratio is to; empty for a count
	Unit      string `json:"unit"`              // UnitRatio, or what is counted

	Rounds []float64 `json:"rounds"` // the figure of each round, in their order
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`

	// Context is what the figure was made of and no result in itself: speeds on whatever machine this was, by contender.
	Context map[string][]float64 `json:"context,omitempty"`
	Note    string               `json:"note,omitempty"`

	Target *Target `json:"target,omitempty"`
	Met    *bool   `json:"met,omitempty"` // nil where there is no target
	// Missing says why there is no figure: a peer that is not there, or one that did not do the work. Met is false then where
	// there is a target, for a target that was not measured is not met.
	Missing string `json:"missing,omitempty"`
}

// UnitRatio is the unit of a ratio of two contenders of the same rounds.
const UnitRatio = "×"

// Target is what a figure's median must reach. Exactly one of the two is set.
type Target struct {
	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
}

// AtLeast is a target from below.
func AtLeast(x float64) *Target { return &Target{AtLeast: &x} }

// AtMost is a target from above.
func AtMost(x float64) *Target { return &Target{AtMost: &x} }

func (t *Target) holds(x float64) bool {
	return (t.AtLeast == nil || x >= *t.AtLeast) && (t.AtMost == nil || x <= *t.AtMost)
}

func (t *Target) String() string {
	switch {
	case t == nil:
		return ""
	case t.AtLeast != nil:
		return "≥ " + short(*t.AtLeast)
	default:
		return "≤ " + short(*t.AtMost)
	}
}

// Of sums the rounds up: it sets median, range and whether the target is met. Without a round it is Missing.
func (f Figure) Of(rounds []float64) Figure {
	if len(rounds) == 0 {
		return f.Without("no round was measured")
	}
	f.Rounds = slices.Clone(rounds)
	f.Median, f.Min, f.Max = Median(rounds), slices.Min(rounds), slices.Max(rounds)
	if f.Target != nil {
		met := f.Target.holds(f.Median)
		f.Met = &met
	}
	return f
}

// Without is the figure where nothing could be measured, with the reason.
func (f Figure) Without(reason string) Figure {
	f.Missing = reason
	if f.Target != nil {
		met := false
		f.Met = &met
	}
	return f
}

// Median is the middle of the values, or the mean of the two in the middle. It must be given one at least.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ErrRounds is two contenders that were not measured in the same rounds, or a figure that none can be divided by.
var ErrRounds = errors.New("the rounds cannot be compared")

// Ratios divides round by round: what one round had of the machine, both had. The ratio of two medians would compare rounds
// that were minutes apart.
func Ratios(of, to []float64) ([]float64, error) {
	if len(of) != len(to) {
		return nil, fmt.Errorf("%w: %d rounds of one and %d of the other", ErrRounds, len(of), len(to))
	}
	out := make([]float64, len(of))
	for i := range of {
		if !(of[i] > 0) || !(to[i] > 0) { // also NaN
			return nil, fmt.Errorf("%w: round %d has %v and %v, both must be above 0", ErrRounds, i+1, of[i], to[i])
		}
		out[i] = of[i] / to[i]
	}
	return out, nil
}
