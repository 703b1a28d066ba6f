package results_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/cmd/bench/results"
)

func TestTheMedianIsTheMiddle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   float64
	}{
		"one":                        {[]float64{3}, 3},
		"three in no order":          {[]float64{9, 1, 2}, 2},
		"two, so their mean":         {[]float64{1, 4}, 2.5},
		"four with one far away":     {[]float64{1, 1000, 2, 4}, 3},
		"five of which two are same": {[]float64{5, 1, 5, 2, 3}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := append([]float64(nil), test.values...)
			if got := results.Median(test.values); got != test.want {
				t.Errorf("median %v, want %v", got, test.want)
			}
			if diff := cmp.Diff(before, test.values); diff != "" {
				t.Errorf("the rounds lost their order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	t.Parallel()
	got, err := results.Ratios([]float64{100, 20, 30}, []float64{50, 40, 10})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{2, 0.5, 3}, got); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
}

func TestRoundsThatCannotBeComparedAreAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ of, to []float64 }{
		"a round is missing":    {[]float64{1, 2}, []float64{1}},
		"the other did nothing": {[]float64{1}, []float64{0}},
		"this one did nothing":  {[]float64{0}, []float64{1}},
		"no number":             {[]float64{math.NaN()}, []float64{1}},
		"below nothing":         {[]float64{1}, []float64{-1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := results.Ratios(test.of, test.to); !errors.Is(err, results.ErrRounds) {
				t.Errorf("ratios %v, error %v, want ErrRounds", got, err)
			}
		})
	}
}

func TestATargetIsMetByTheMedian(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, test := range map[string]struct {
		target *results.Target
		rounds []float64
		want   *bool
	}{
		"no target":                          {nil, []float64{1}, nil},
		"reached exactly from below":         {results.AtLeast(1.4), []float64{1.4, 1, 2}, &yes},
		"missed by a little":                 {results.AtLeast(1.4), []float64{1.39, 9, 1}, &no},
		"the best round alone is not enough": {results.AtLeast(1.4), []float64{1, 1, 9}, &no},
		"at most, exactly":                   {results.AtMost(4), []float64{4}, &yes},
		"at most, missed":                    {results.AtMost(4), []float64{4.01}, &no},
		"nothing measured meets no target":   {results.AtMost(4), nil, &no},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := results.Figure{Target: test.target}.Of(test.rounds)
			if diff := cmp.Diff(test.want, f.Met); diff != "" {
				t.Errorf("met (-want +got):\n%s", diff)
			}
			if (f.Missing != "") != (len(test.rounds) == 0) {
				t.Errorf("missing %q with %d rounds", f.Missing, len(test.rounds))
			}
		})
	}
}

func TestAFigureHasItsRange(t *testing.T) {
	t.Parallel()
	got := results.Figure{Measure: "m"}.Of([]float64{2, 9, 1})
	want := results.Figure{Measure: "m", Rounds: []float64{2, 9, 1}, Median: 2, Min: 1, Max: 9}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figure (-want +got):\n%s", diff)
	}
}

func sample() results.Run {
	fast := map[string][]float64{"custody": {20000, 21000.4}, "peer": {10000, 9000}}
	return results.Run{
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Commit: "abc", Rounds: 2,
		Machine: results.Machine{CPU: "Some CPU", Cores: 2, OS: "linux/amd64", Go: "go1.26"},
		Sizes:   map[string]int{"versions": 1000}, Versions: map[string]string{"peer": "1.2"},
		Figures: []results.Figure{
			results.Figure{Measure: "speed", Contender: "custody", Against: "peer", Unit: results.UnitRatio,
				Target: results.AtLeast(1.4), Context: fast}.Of([]float64{2, 2.3334}),
			results.Figure{Measure: "speed", Contender: "custody with report", Against: "peer", Unit: results.UnitRatio,
				Context: fast}.Of([]float64{0.0123, 0.02}),
			results.Figure{Measure: "heap", Contender: "custody", Unit: "MiB", Target: results.AtMost(64)}.Of([]float64{65}),
			results.Figure{Measure: "speed", Contender: "custody", Against: "other", Target: results.AtLeast(1)}.
				Without("it said:\n| broken"),
		},
		LeftOut: []string{"rclone: cannot be built:\n no network"},
	}
}

func TestTheTableIsReadable(t *testing.T) {
	t.Parallel()
	const want = `# Benchmarks

Some CPU, 2 cores, linux/amd64, go1.26, commit abc, 2026-01-02T03:04:05Z. Rounds: 2, unless a line says otherwise.

Sizes: versions 1000.

Versions: peer 1.2.

| measure | contender | against | median | range | rounds | target | met |
|---|---|---|---|---|---|---|---|
| speed | custody | peer | 2.17 × | 2 – 2.33 | 2 | ≥ 1.4 | yes |
| speed | custody with report | peer | 0.0162 × | 0.0123 – 0.02 | 2 |  |  |
| heap | custody |  | 65 MiB | 65 – 65 | 1 | ≤ 64 | **no** |
| speed | custody | other | it said: \| broken |  |  | ≥ 1 | **no** |

Left out:

- rclone: cannot be built: no network

## Context, no result

What the ratios were made of. Absolute figures depend on the machine and on what else it does; only the ratios above are meant to be read.

- speed: custody: 20000, 21000
- speed: peer: 10000, 9000
`
	if diff := cmp.Diff(want, sample().Markdown()); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestWhatIsNotMetIsListed(t *testing.T) {
	t.Parallel()
	var got []string
	for _, f := range sample().Unmet() {
		got = append(got, f.Measure+" "+f.Against)
	}
	if diff := cmp.Diff([]string{"heap ", "speed other"}, got); diff != "" {
		t.Errorf("unmet (-want +got):\n%s", diff)
	}
}

func TestARunIsWrittenAndReadBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := sample().Write(dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, results.JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	var got results.Run
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	page, err := os.ReadFile(filepath.Join(dir, results.MarkdownFile))
	if err != nil || !strings.Contains(string(page), "| speed | custody | peer |") {
		t.Errorf("page %q, error %v", page, err)
	}
}
