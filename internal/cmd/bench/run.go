package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/inprocess"
	"custody/internal/cmd/bench/measures"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
)

// measure is one thing that can be asked for alone.
type measure struct {
	name string
	does string
	take func(context.Context, measures.Bench) ([]results.Figure, error)
}

func all() []measure {
	speed := func(latency time.Duration) func(context.Context, measures.Bench) ([]results.Figure, error) {
		return func(ctx context.Context, b measures.Bench) ([]results.Figure, error) { return b.Speed(ctx, latency) }
	}
	return []measure{
		{"speed", "versions a second against every peer and a bare loop, nothing added", speed(0)},
		{"speed5", "the same with 5 ms added to each request", speed(5 * time.Millisecond)},
		{"shipped", "everything on by default, against a bare loop that reads the same tags, 5 ms added", byBench(measures.Bench.Shipped)},
		{"limit", "below a rate limit with SlowDown: one run, then two at once", byBench(measures.Bench.Limited)},
		{"start", "the start of each function, against the least function there is", byBench(measures.Bench.Start)},
		{"requests", "what the function asks of S3 and DynamoDB", byBench(measures.Bench.Requests)},
		{"counts", "what a delivery and a sweep ask of DynamoDB, and the size of the functions", byBench(measures.Bench.Counts)},
		{"memory", "the peak memory of a slice's process", byBench(measures.Bench.Memory)},
		{"inprocess", "the webhook's handler and its acknowledgements, and the time of a slice against its versions", inProcess},
	}
}

// inProcess are the measures that need no other program. The slope is drawn through as many versions as memory is measured of, and
// up to ten times as many.
func inProcess(ctx context.Context, b measures.Bench) ([]results.Figure, error) {
	o := inprocess.Defaults()
	o.Rounds, o.Versions = b.Rounds, []int{b.Memories, 3 * b.Memories, 10 * b.Memories}
	return inprocess.Figures(ctx, o), nil
}

func byBench(take func(measures.Bench, context.Context) ([]results.Figure, error)) func(context.Context, measures.Bench) ([]results.Figure, error) {
	return func(ctx context.Context, b measures.Bench) ([]results.Figure, error) { return take(b, ctx) }
}

// options are what is asked for.
type options struct {
	versions, rounds    int
	memory              int
	only, out           string
	functions, programs string
	peers, cache        string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.versions, "versions", 20_000, "object versions of each round")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds of each measure")
	flags.IntVar(&o.memory, "memory", 1_000_000, "versions of the largest bucket of which memory is measured")
	flags.StringVar(&o.only, "only", "", "measures, separated by commas; empty is all of "+strings.Join(names(), ", "))
	flags.StringVar(&o.out, "out", "bench.out", "folder for the results")
	flags.StringVar(&o.functions, "functions", "bin", "folder with the built functions")
	flags.StringVar(&o.programs, "programs", "bin/bench", "folder with the bench's own programs")
	flags.StringVar(&o.peers, "peers", "internal/cmd/bench/peers", "folder of the peers' modules and scripts")
	flags.StringVar(&o.cache, "cache", "", "folder in which the peers' programs stay (default custody-bench in the user's cache)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	case o.versions < 1000 || o.versions > 5_000_000:
		return o, fmt.Errorf("-versions is %d, must be 1000 to 5000000", o.versions)
	case o.memory < 100_000 || o.memory > 10_000_000:
		return o, fmt.Errorf("-memory is %d, must be 100000 to 10000000", o.memory)
	case o.rounds < 1 || o.rounds > 1000:
		return o, fmt.Errorf("-rounds is %d, must be 1 to 1000", o.rounds)
	}
	if o.cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("-cache is not given: %w", err)
		}
		o.cache = filepath.Join(user, "custody-bench")
	}
	for _, name := range o.asked() {
		if !slices.Contains(names(), name) {
			return o, fmt.Errorf("-only names %q, there are: %s", name, strings.Join(names(), ", "))
		}
	}
	return o, nil
}

func names() []string {
	var n []string
	for _, m := range all() {
		n = append(n, m.name)
	}
	return n
}

func (o options) asked() []string {
	if o.only == "" {
		return names()
	}
	return strings.Split(o.only, ",")
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	programs, err := contenders.FindPrograms(o.functions, o.programs)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	r := results.Run{At: time.Now().UTC(), Machine: machine(ctx), Commit: commit(ctx), Versions: map[string]string{}, Rounds: o.rounds,
		Sizes: map[string]int{"versions": o.versions, "versions for memory": o.memory}}
	peers, missing := contenders.Peers{Dir: o.peers, Cache: o.cache, Go: cmp.Or(os.Getenv("GO"), "go"), Log: say}.Find(ctx)
	for _, who := range missing {
		say("left out: %s", who)
	}
	r.LeftOut = append([]string{}, missing...) // an empty list, and not null, for those who read the JSON
	for _, peer := range peers {
		r.Versions[peer.Name] = peer.Version
	}
	b := measures.Bench{Peers: peers, Log: os.Stderr, Rounds: o.rounds, Versions: o.versions, Memories: o.memory, Programs: programs}
	for _, m := range all() {
		if !slices.Contains(o.asked(), m.name) {
			continue
		}
		say("%s: %s", m.name, m.does)
		figures, err := take(ctx, m, b, self)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		r.Figures = append(r.Figures, figures...)
	}
	if err := r.Write(o.out); err != nil {
		return err
	}
	fmt.Print(r.Markdown())
	return nil
}

// take gives each measure a server of its own, so that none pays for the garbage of another.
func take(ctx context.Context, m measure, b measures.Bench, self string) ([]results.Figure, error) {
	s, err := server.Start(ctx, self, serveMode)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	if err := contenders.MakeTables(ctx, s); err != nil {
		return nil, err
	}
	b.Server = s
	return m.take(ctx, b)
}

func say(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
