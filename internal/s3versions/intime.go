package s3versions

import (
	"context"
	"errors"
	"net/http/httptrace"
	"time"
)

// ErrHoldsTooOld is a delete request that was not on its way in time, see Delete. It may have been sent all the same.
var ErrHoldsTooOld = errors.New("the holds grew too old before the request was sent")

// sentWithin is a context for one delete request. It ends when the request is not written within the time that is left until the
// holds are too old: between the last look at the clock and the first byte lie a dial and a handshake, and a function that was
// frozen. A request that is cut off there may have been sent all the same; nothing is known of it then.
//
// net/http asks for another connection by itself when the first one, kept from earlier, turns out closed before a byte of the
// request is out, and it calls the request written before that. So the time counts on for each connection.
func sentWithin(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	limited, end := bounded(ctx)
	guarded, tooLate := context.WithCancelCause(limited)
	by := time.Now().Add(left)
	timer := time.AfterFunc(left, func() { tooLate(ErrHoldsTooOld) })
	guarded = httptrace.WithClientTrace(guarded, &httptrace.ClientTrace{
		GetConn:      func(string) { timer.Reset(time.Until(by)) },
		WroteRequest: func(httptrace.WroteRequestInfo) { timer.Stop() },
	})
	return guarded, func() {
		timer.Stop()
		tooLate(nil)
		end()
	}
}
