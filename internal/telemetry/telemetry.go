package telemetry

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// The messages of the lines, which queries filter by.
const (
	LineDelivery = "delivery"
	LineSlice    = "slice"
	LineSweep    = "sweep"
	LineCanary   = "canary"
	LineMetric   = "metric"
)

// Telemetry writes the lines of one function. It is safe for concurrent use; each line is one write.
type Telemetry struct {
	// Now is the clock of the wide lines and their metrics; time.Now unless a test sets it.
	Now func() time.Time

	stack   string
	handler slog.Handler
	metrics map[string]Metric // by name
}

// New writes to w, which is os.Stdout on Lambda. A level above INFO counts as INFO, since it would drop the metrics.
func New(w io.Writer, stack string, level slog.Level) *Telemetry {
	handler := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: min(level, slog.LevelInfo)})
	return &Telemetry{
		Now: time.Now, stack: stack, handler: handler.WithAttrs([]slog.Attr{slog.String("stack", stack)}), metrics: byName(),
	}
}

// Logger writes lines of another kind: what is rare, such as a hold that cannot be understood, and what is for DEBUG.
func (t *Telemetry) Logger() *slog.Logger { return slog.New(t.handler) }

// StartupError says why the function did not start, with every single problem where the error has several. The main ends
// the process behind it, so that a bad setting fails the start and not the thousandth event.
func (t *Telemetry) StartupError(err error) {
	problems := []string{}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			problems = append(problems, shorten(one.Error(), maxProblem))
		}
	} else {
		problems = append(problems, shorten(err.Error(), maxProblem))
	}
	t.Logger().Error("startup", "problems", problems)
}

// line writes a wide line with the metrics in it.
func (t *Telemetry) line(ctx context.Context, level slog.Level, msg string, attrs fields, dims dimensions, samples ...sample) {
	now := t.Now()
	record := slog.NewRecord(now, level, msg, 0)
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		record.AddAttrs(slog.String("request_id", lc.AwsRequestID))
	}
	record.AddAttrs(attrs...)
	dims[DimStack] = t.stack
	record.AddAttrs(embed(t.metrics, now, dims, samples)...)
	_ = t.handler.Handle(ctx, record) // there is no second place to report a broken stdout to
}
