package cleanup

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/inbox"
)

// Handle works the records of an event in their order and says of each what became of it. A record is reported as failed only
// when its run's item could not be written; the records behind it then come again, and are not touched now.
func (w *Worker) Handle(ctx context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, []inbox.SliceSummary) {
	var out events.DynamoDBEventResponse
	var done []inbox.SliceSummary
	for _, r := range e.Records {
		s := w.record(ctx, r)
		done = append(done, s)
		if s.Outcome == inbox.SliceUnwritten {
			out.BatchItemFailures = append(out.BatchItemFailures,
				events.DynamoDBBatchItemFailure{ItemIdentifier: r.Change.SequenceNumber})
			break
		}
	}
	return out, done
}

func (w *Worker) record(ctx context.Context, r events.DynamoDBEventRecord) inbox.SliceSummary {
	began := w.now()
	wake, err := readRecord(r)
	if err != nil {
		return inbox.SliceSummary{Record: r.EventID, Outcome: inbox.SliceDropped, Problem: err.Error()}
	}
	s := w.newSlice(began)
	s.summary = inbox.SliceSummary{Record: wake.identity, Run: wake.run}
	s.summary.Outcome = s.do(ctx, wake)
	s.summary.Duration = w.now().Sub(began)
	return s.summary
}

// do acquires the run, works it, and makes the one move that ends the slice.
func (s *slice) do(ctx context.Context, wake wakeRecord) inbox.SliceOutcome {
	if err := s.acquire(ctx, wake); err != nil {
		return s.unacquired(err)
	}
	return s.end(ctx, s.work(ctx))
}

// unacquired sorts the ways in which a record starts nothing. A refusal is an answer: the record is late or repeated.
func (s *slice) unacquired(err error) inbox.SliceOutcome {
	s.summary.Problem = err.Error()
	if _, refused := errors.AsType[*inbox.Refused](err); refused {
		return inbox.SliceNotAcquired
	}
	s.summary.Category = inbox.CategoryOf(err)
	return inbox.SliceUnwritten
}
