package sweeper

import (
	"context"
	"errors"
	"time"
)

// errOutOfTime is the cause of a tick that had to stop for its own deadline.
var errOutOfTime = errors.New("the time of the sweep is used up")

// publishTime is kept back from the function's deadline for publishing the summary, which takes milliseconds; the rest is for
// calls that notice late that their context is over.
const publishTime = 5 * time.Second

// withinBudget is the part of the context's time that may be used before the summary has to be published: all but
// publishTime, or three quarters of a time that is short.
func withinBudget(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return ctx, func() {}
	}
	keep := min(publishTime, time.Until(end)/4)
	return context.WithDeadlineCause(ctx, end.Add(-keep), errOutOfTime)
}

// halfOf leaves the other half for what comes afterwards: an index too large to be read in one tick must not keep its oldest
// runs from being woken.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, end.Add(-time.Until(end)/2), errOutOfTime)
}
