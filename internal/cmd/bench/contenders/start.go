package contenders

import (
	"context"
	"fmt"
	"maps"
	"time"

	"custody/internal/cmd/bench/server"
	"custody/internal/localaws/lambda"
)

// Starter is a function's program, of which only the start is looked at.
type Starter struct {
	Name   string
	binary string
	more   map[string]string
}

// Starters are the functions, and last the least function there is.
func (p Programs) Starters() []Starter {
	reports := map[string]string{"CUSTODY_REPORT_BUCKET": ReportBucket}
	keys := map[string]string{"CUSTODY_SIGNING_KEYS": `{"bench":"0123456789abcdef0123456789abcdef"}`}
	return []Starter{{"cleanup", p.Cleanup, reports}, {"webhook", p.Webhook, keys}, {"sweeper", p.Sweeper, nil},
		{"bare aws-lambda-go", p.BareLambda, nil}}
}

// Start is how long the program takes from the start of its process until it asks the Runtime API for its first event.
func (s Starter) Start(ctx context.Context, on *server.Server) (time.Duration, error) {
	env := required(on, "bench-objects")
	maps.Copy(env, s.more)
	watch := newWatch()
	f, err := lambda.NewFunction(lambda.Config{Name: s.Name, Binary: s.binary, Environment: env, Timeout: 10 * time.Second,
		Memory: 512, Concurrency: 1, Output: watch.line})
	if err != nil {
		return 0, err
	}
	defer f.Close()
	began := time.Now()
	if err := f.Warm(ctx); err != nil {
		return 0, fmt.Errorf("%w; it said: %s", err, watch.last())
	}
	return time.Since(began), nil
}
