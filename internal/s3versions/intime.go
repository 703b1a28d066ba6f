package s3versions

import (
	"context"
	"errors"
	"net/http/httptrace"
	"time"
)

// ErrHoldsTooOld is a delete request that was not on its way in time, see Delete. It may have been sent all the same.
var ErrHoldsTooOld = errors.New("the holds grew too old before the request was sent")

// sentInTime is a context for one delete request. It ends when the request is not written by the time at which the holds are too
// old: between the last look at the clock and the first byte lie a dial and a handshake, and a function that was frozen. A
// request that is cut off there may have been sent all the same; nothing is known of it then.
func (d *deletion) sentInTime(ctx context.Context) (context.Context, context.CancelFunc) {
	limited, end := bounded(ctx)
	guarded, tooLate := context.WithCancelCause(limited)
	timer := time.AfterFunc(d.sendBefore.Sub(d.now()), func() { tooLate(ErrHoldsTooOld) })
	guarded = httptrace.WithClientTrace(guarded, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { timer.Stop() },
	})
	return guarded, func() {
		timer.Stop()
		tooLate(nil)
		end()
	}
}
