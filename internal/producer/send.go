package producer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"custody/internal/inbox"
)

// Sender sends deliveries to one URL. URL, Signer, Tries, Within and Patience are required.
type Sender struct {
	Signer
	URL string
	// Tries is how often a delivery is sent at most. No try begins later than Within after the first.
	Tries  int
	Within time.Duration
	// Patience is how long one try waits for its answer. The function answers within AckTimeout (5 s), and Lambda ends it
	// after 10.
	Patience time.Duration
	// Change makes what travels of the body behind its signature, as somebody on the way would: to see that it is refused. Nil
	// leaves it alone.
	Change func(body []byte) []byte
	// Transport sends one request; nil for [http.DefaultTransport].
	Transport http.RoundTripper
	// Now is the clock of the timestamps; nil for [time.Now].
	Now func() time.Time
	// OnWait is told of a try that will be repeated, before the wait; nil tells nobody.
	OnWait func(try int, t Try, wait time.Duration)
}

// Try is one request and its answer.
type Try struct {
	Answer            // zero where there was none
	Err        error  // why there was no answer
	RetryAfter string // the answer's header
	// Ahead is how far this clock is ahead of the receiver's, as its Date header tells it, to the second; 0 without one.
	Ahead time.Duration
}

// String is status and outcome, or why there was no answer.
func (t Try) String() string {
	switch {
	case t.Err != nil:
		return "no answer: " + t.Err.Error()
	case t.Outcome == "":
		return fmt.Sprintf("%d without %s", t.Status, HeaderOutcome)
	}
	return fmt.Sprintf("%d %s", t.Status, t.Outcome)
}

// Result is what became of a delivery.
type Result struct {
	Try          // the last one
	Tries int    // how many there were
	Stop  string // why there was no further try; "" where the answer is final
}

// Acknowledged reports whether the command is written down.
func (r Result) Acknowledged() bool { return r.Err == nil && r.Verdict == Acknowledged }

// Send sends the delivery until an answer is final, the tries are used up, or the next one would come too late. Each try is
// signed anew: a signature of some minutes ago is outside the receiver's window. An error means that nothing more can be
// done: it could not be signed, or ctx has ended; a try may have been made before.
func (s Sender) Send(ctx context.Context, d Delivery) (Result, error) {
	end := s.now().Add(s.Within)
	for n := 1; ; n++ {
		headers, err := s.Headers(d, s.now())
		if err != nil {
			return Result{Tries: n - 1}, err
		}
		t := s.try(ctx, d, headers)
		r := Result{Try: t, Tries: n}
		if ctx.Err() != nil && t.Err != nil {
			return r, context.Cause(ctx)
		}
		if t.Err == nil && t.Verdict != Again {
			return r, nil
		}
		wait := pause(n, t.RetryAfter, s.now())
		switch {
		case n >= s.Tries:
			r.Stop = fmt.Sprintf("it was sent %s", times(n))
			return r, nil
		case s.now().Add(wait).After(end):
			r.Stop = fmt.Sprintf("the next try would be due in %s, more than is left of %s", wait.Round(time.Second), s.Within)
			return r, nil
		}
		if s.OnWait != nil {
			s.OnWait(n, t, wait)
		}
		if err := sleep(ctx, wait); err != nil {
			return r, err
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (s Sender) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// drained is how much of an answer's body is read, so that its connection can serve the next try. Custody's have some 60
// bytes.
const drained = 64 << 10

// try sends one request. A redirect is not followed: signature and command are meant for this URL alone, and the function
// never redirects.
func (s Sender) try(ctx context.Context, d Delivery, headers map[string]string) Try {
	body := d.Body
	if s.Change != nil {
		body = s.Change(body)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return Try{Err: err}
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	client := &http.Client{
		Transport: s.Transport, Timeout: s.Patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return Try{Err: err}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, drained)) // status and headers are the whole answer
	return Try{
		Answer:     Explain(response.StatusCode, inbox.Outcome(response.Header.Get(HeaderOutcome))),
		RetryAfter: response.Header.Get("Retry-After"), Ahead: ahead(response.Header.Get("Date"), s.now()),
	}
}

func ahead(date string, now time.Time) time.Duration {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return 0
	}
	return now.Truncate(time.Second).Sub(theirs)
}
