package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// deliver hands a batch to the function until it is through or given up. It is false when ctx has ended.
//
// Lambda's rules (developer guide, "Retain discarded records for a DynamoDB event source"): a function that ran
// and failed costs an attempt; one that could not be invoked, as when throttled, is tried until the record is too old.
func (l *lane) deliver(ctx context.Context, batch []laneItem) bool {
	d := delivery{lane: l, batch: batch}
	for retry := 1; l.mapping.valve.pass(ctx); retry++ {
		if d.tooOld() {
			d.giveUp(conditionAge)
			return true
		}
		d.invoke(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case len(d.batch) == 0:
			return true
		case d.exhausted():
			d.giveUp(conditionRetries)
			return true
		}
		if !pause(ctx, l.mapping.options.Pause(retry)) {
			return false
		}
	}
	return false
}

// delivery is one batch on its way.
type delivery struct {
	lane     *lane
	batch    []laneItem // what the function has not yet taken
	attempts int        // how often the function ran
	last     *Result    // what it said last
}

func (d *delivery) tooOld() bool {
	limit := d.lane.mapping.options.Settings.MaximumRecordAgeInSeconds
	if limit < 0 {
		return false
	}
	return d.lane.mapping.options.Now().Sub(d.batch[0].arrival) > time.Duration(limit)*time.Second
}

func (d *delivery) exhausted() bool {
	limit := d.lane.mapping.options.Settings.MaximumRetryAttempts
	return limit >= 0 && d.attempts > limit
}

func (d *delivery) invoke(ctx context.Context) {
	options := d.lane.mapping.options
	result, err := options.Function.Invoke(ctx, batchEvent(d.batch))
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, ErrThrottled) {
			options.OnError(err)
		}
		return
	}
	d.attempts++
	d.last = &result
	if result.FunctionError != "" {
		return
	}
	rest := d.batch[d.taken(result.Payload):]
	if len(rest) < len(d.batch) {
		d.attempts = min(d.attempts, 1) // what is left is a batch of its own, and this was its first attempt
	}
	d.batch = rest
}

// taken is how many records from the front the function has taken. The first failed one and all behind it come
// again, so that the order holds ("Configuring partial batch response with DynamoDB and Lambda").
func (d *delivery) taken(payload []byte) int {
	if !slices.Contains(d.lane.mapping.options.Settings.FunctionResponseTypes, reportBatchItemFailures) {
		return len(d.batch)
	}
	var response struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(bytes.TrimSpace(payload)) == 0 {
		return len(d.batch)
	}
	if err := json.Unmarshal(payload, &response); err != nil {
		return 0
	}
	first := len(d.batch)
	for _, failure := range response.BatchItemFailures {
		at := slices.IndexFunc(d.batch, func(i laneItem) bool { return i.sequence == failure.ItemIdentifier })
		first = min(first, max(at, 0)) // an identifier that is empty or not ours fails the whole batch
	}
	return first
}

func (d *delivery) giveUp(condition string) {
	m := d.lane.mapping
	m.bury(newDeadLetter(d, condition, m.options.Now()))
}
