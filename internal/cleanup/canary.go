package cleanup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/retention"
	"custody/internal/signature"
)

// canaryAhead is how far the cutoff of a canary lies ahead of the function's clock: it was written a moment ago, by a clock
// that may be another.
const canaryAhead = time.Minute

var errNoCanary = errors.New("not the key of a canary: it must be " + inbox.CanaryFolder + " and one segment, which is " + signature.IDRule)

// Canary deletes the versions of one key that a check after a deployment has put: by version id, with the decision, the holds,
// the report and the requests of a run's own batches. It takes no other key, and none with more versions than a check makes,
// so that whoever may call the function can delete nothing by it that is worth anything.
func (w *Worker) Canary(ctx context.Context, bucket, key string) inbox.Canary {
	began := w.now()
	c := &canary{answer: inbox.Canary{Key: key, Versions: []inbox.CanaryVersion{}}}
	c.slice = w.newSlice(began)
	c.answer.Outcome = c.outcome(c.work(ctx, bucket))
	c.answer.Duration = w.now().Sub(began)
	return c.answer
}

// canary is a slice without a run: nothing is claimed, and nothing is written but the report.
type canary struct {
	*slice
	answer inbox.Canary
}

// errCanaryRefused marks what ends a canary before anything is sent, and is the caller's fault.
var errCanaryRefused = errors.New("refused")

func (c *canary) work(ctx context.Context, bucket string) error {
	name, inFolder := strings.CutPrefix(c.answer.Key, inbox.CanaryFolder)
	if !inFolder || !signature.ValidID(name) {
		return fmt.Errorf("%w: %w", errCanaryRefused, errNoCanary)
	}
	ctx, cancel := c.workTime(ctx)
	defer cancel()
	c.run = inbox.Run{
		Type: inbox.CanaryType, Key: name, Scope: inbox.CheckScope, Mode: inbox.ModeDelete,
		Selection: inbox.Selection{Bucket: bucket, Prefixes: []string{c.answer.Key}, Cutoff: c.began.Add(canaryAhead).Truncate(time.Second)},
	}
	if err := c.checkBucket(ctx); err != nil {
		return err
	}
	older, current, err := c.find(ctx)
	if err != nil {
		return err
	}
	return c.deleteInOrder(ctx, older, current)
}

// find lists the versions of the key, what is current apart. The pages end where the next key begins.
func (c *canary) find(ctx context.Context) (older, current []candidate, err error) {
	key, after := c.answer.Key, retention.Marker{}
	for {
		page, err := c.versions.Page(ctx, c.run.Selection.Bucket, key, after)
		if err != nil {
			return nil, nil, err
		}
		past := page.Next == retention.Marker{}
		for _, v := range page.Versions {
			switch {
			case v.Key != key: // the key is its own prefix, and the first with it
				past = true
			case v.Currency == retention.Current:
				current = append(current, candidate{version: v})
			default:
				older = append(older, candidate{version: v})
			}
		}
		if n := len(older) + len(current); n > inbox.MaxCanaryVersions {
			return nil, nil, fmt.Errorf("%w: %s has %d versions or more, and a canary has at most %d", errCanaryRefused, key, n, inbox.MaxCanaryVersions)
		}
		if past {
			return older, current, nil
		}
		after = page.Next
	}
}

// deleteInOrder deletes what is current only when every other version of the key is confirmed gone, as in a run.
func (c *canary) deleteInOrder(ctx context.Context, older, current []candidate) error {
	for _, one := range append(append([]candidate{}, older...), current...) {
		c.answer.Versions = append(c.answer.Versions, inbox.CanaryVersion{
			ID: one.version.ID, DeleteMarker: one.version.DeleteMarker, Current: one.version.Currency == retention.Current, Fate: inbox.CanaryUnknown,
		})
	}
	for number, items := range [][]candidate{older, current} {
		if len(items) == 0 {
			continue
		}
		for i := range items {
			items[i].othersStay = c.somethingStays(older)
		}
		result := c.deleteBatch(ctx, batch{scan: 1, number: number + 1, items: items})
		for _, s := range result.settled {
			c.book(s)
		}
		if result.err != nil {
			return result.err
		}
	}
	return nil
}

// somethingStays is asked of the current version's turn: whether another one is not confirmed gone.
func (c *canary) somethingStays(older []candidate) bool {
	for _, v := range c.answer.Versions[:len(older)] {
		if v.Fate != inbox.CanaryDeleted && v.Fate != inbox.CanaryAbsent {
			return true
		}
	}
	return false
}

// book enters what became of one version.
func (c *canary) book(s settled) {
	for i := range c.answer.Versions {
		if v := &c.answer.Versions[i]; v.ID == s.version.ID {
			v.Fate, v.Detail = canaryFate(s)
		}
	}
}

func canaryFate(s settled) (fate inbox.CanaryFate, detail string) {
	if s.kind == settledRetained {
		return inbox.CanaryRetained, string(s.why)
	}
	switch s.fate.Kind {
	case retention.FateDeleted:
		return inbox.CanaryDeleted, ""
	case retention.FateAbsent:
		return inbox.CanaryAbsent, ""
	case retention.FateLocked:
		return inbox.CanaryRetained, string(s.fate.Reason)
	case retention.FateRefused, retention.FateTransient:
	}
	return inbox.CanaryNotDeleted, s.fate.Code
}

// outcome sums up. Versions that are not gone say why themselves.
func (c *canary) outcome(err error) inbox.CanaryOutcome {
	if err != nil {
		c.answer.Problem = err.Error()
		if errors.Is(err, errCanaryRefused) {
			return inbox.CanaryRefused
		}
		c.answer.Category = inbox.CategoryOf(err)
		return inbox.CanaryFailed
	}
	worst := inbox.CanaryDone
	for _, v := range c.answer.Versions {
		switch v.Fate {
		case inbox.CanaryDeleted, inbox.CanaryAbsent:
		case inbox.CanaryRetained:
			worst = inbox.CanaryKept
		case inbox.CanaryNotDeleted, inbox.CanaryUnknown:
			c.answer.Category, c.answer.Problem = inbox.CategoryVersionsRefused, fmt.Sprintf("S3 refused to delete version %s: %s", v.ID, v.Detail)
			return inbox.CanaryFailed
		}
	}
	return worst
}
