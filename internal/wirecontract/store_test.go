package wirecontract_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// reasons are those of a cancelled transaction, one for each of the claim's two writes.
func reasons(codes ...string) act {
	var list []string
	for _, code := range codes {
		list = append(list, fmt.Sprintf(`{"Code":%q}`, code))
	}
	return failing(400, "TransactionCanceledException", `,"CancellationReasons":[`+strings.Join(list, ",")+"]")
}

// Whatever the store says that is not a plain yes or a plain "it is there": 503, never "already processed", and the redelivery
// decides (cases 22, 24 and 25).
func TestStoreThatSaysSomethingElse(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0], "CUSTODY_ACK_TIMEOUT=1s")
	for sentence, do := range map[string]act{
		"a throttle":                          failing(400, "ProvisionedThroughputExceededException", ""),
		"a throttle of the account":           failing(400, "RequestLimitExceeded", ""),
		"a throttle by another name":          failing(400, "ThrottlingException", ""),
		"an error of its own":                 failing(500, "InternalServerError", ""),
		"that it is not there":                failing(503, "ServiceUnavailable", ""),
		"no access":                           failing(400, "AccessDeniedException", ""),
		"no table":                            failing(400, "ResourceNotFoundException", ""),
		"that the request is invalid":         failing(400, "ValidationException", ""),
		"that the transaction is in progress": failing(400, "TransactionInProgressException", ""),
		"that the token means another":        failing(400, "IdempotentParameterMismatchException", ""),
		"that its signature has expired":      failing(400, "ExpiredTokenException", ""),
		"an error that nobody knows":          failing(418, "TeapotException", ""),
		"a conflict with a transaction":       reasons("None", "TransactionConflict"),
		"a conflict for the delivery":         reasons("TransactionConflict", "None"),
		"a condition and a throttle":          reasons("ConditionalCheckFailed", "ThrottlingError"),
		"a condition and a conflict":          reasons("ConditionalCheckFailed", "TransactionConflict"),
		"a condition and too little room":     reasons("ProvisionedThroughputExceeded", "ConditionalCheckFailed"),
		"a condition and an invalid write":    reasons("ValidationError", "ConditionalCheckFailed"),
		"a reason that nobody knows":          reasons("None", "Mystery"),
		"a cancellation without reasons":      reasons(),
		"a cancellation of nothing":           reasons("None", "None"),
		"a cancellation with one reason":      reasons("ConditionalCheckFailed"),
		"a cancellation with three reasons":   reasons("None", "None", "ConditionalCheckFailed"),
		"a page of a proxy":                   saying(502, "<html>bad gateway</html>"),
		"an error without a name":             saying(400, "{}"),
		"nothing, with a bad status":          saying(500, ""),
		"nothing at all":                      hangUp,
		"half an answer":                      halfAnAnswer,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			m := s.delivery()
			s.gate.on(m.id, do)
			s.expect(t, "while the store says "+sentence, m, "503 retryable_failure")
			s.gate.on(m.id, nil)
			if got := s.stored(t, m.id, m.id); got != "" {
				t.Errorf("the table has %s", got)
			}
			s.expect(t, "the redelivery", m, "204 accepted")
		})
	}
}

func saying(status int, body string) act {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// halfAnAnswer breaks the connection off within the body.
func halfAnAnswer(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"__type":`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// pause holds the calls about one delivery until the test lets them go on, and says when the first has come. Once it was let go, calls
// pass.
type pause struct {
	arrived, proceed chan struct{}
	first            chan struct{} // one token
}

func newPause() *pause {
	p := &pause{make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)}
	p.first <- struct{}{}
	return p
}

func (p *pause) wait(*http.Request) {
	select {
	case <-p.first:
		close(p.arrived)
	default:
	}
	<-p.proceed
}

// detached runs the request on the engine although its sender may have gone, and keeps the answer.
func detached(r *http.Request, engine http.Handler) *httptest.ResponseRecorder {
	body, _ := io.ReadAll(r.Body)
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := httptest.NewRecorder()
	engine.ServeHTTP(w, r)
	return w
}

// soon is generous, for a machine with other work. The exact time is internal/webhook's to test, with a clock that it owns.
const soon = 3 * time.Second

// A store that does not answer costs the sender the ack timeout and no more: the answer comes while the store still hangs, so it was
// not the store, and it comes with an outcome, so it was not Lambda. What the store makes of the claim afterwards, the redelivery finds.
func TestStoreThatDoesNotAnswerInTime(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc, "CUSTODY_ACK_TIMEOUT=500ms")
			for sentence, c := range map[string]struct {
				act        func(p *pause, committed func()) act
				redelivery string
				cause      string // in the log
			}{
				"it hangs and does nothing": {func(p *pause, committed func()) act {
					return func(http.ResponseWriter, *http.Request, http.Handler) {
						p.wait(nil)
						committed()
						panic(http.ErrAbortHandler)
					}
				}, "204 accepted", "ack timeout"},
				"it commits and hangs": {func(p *pause, committed func()) act {
					return func(_ http.ResponseWriter, r *http.Request, engine http.Handler) {
						detached(r, engine)
						committed()
						p.wait(r)
					}
				}, "204 already_processed", "ack timeout"},
				"it hangs and commits when the answer is out": {func(p *pause, committed func()) act {
					return func(_ http.ResponseWriter, r *http.Request, engine http.Handler) {
						p.wait(r)
						detached(r, engine)
						committed()
					}
				}, "204 already_processed", "ack timeout"},
				"it commits and begins an answer": {func(p *pause, committed func()) act {
					return func(w http.ResponseWriter, r *http.Request, engine http.Handler) {
						detached(r, engine)
						committed()
						w.WriteHeader(http.StatusOK)
						_, _ = io.WriteString(w, "{")
						_ = http.NewResponseController(w).Flush()
						p.wait(r)
					}
				}, "204 already_processed", ""}, // the SDK may take the connection for broken, and then asks again
			} {
				t.Run(sentence, func(t *testing.T) {
					t.Parallel()
					p, committed := newPause(), make(chan struct{})
					m := s.delivery()
					s.gate.on(m.id, c.act(p, sync.OnceFunc(func() { close(committed) })))
					s.record.maybe(m.id)
					start := time.Now()
					s.expect(t, sentence, m, "503 retryable_failure")
					if took := time.Since(start); took > soon {
						t.Errorf("the answer took %s of an ack timeout of 500ms", took)
					}
					line, err := s.record.lineOf(t.Context(), m.id)
					if err != nil || !strings.Contains(line.Problem, c.cause) {
						t.Errorf("the log says %q, want %q: %v", line.Problem, c.cause, err)
					}
					s.gate.on(m.id, nil)
					close(p.proceed)
					await(t, committed)
					s.expect(t, "the redelivery", m, c.redelivery)
					if got := s.stored(t, m.id, m.id); got != "delivery and run" {
						t.Errorf("the table has %q", got)
					}
				})
			}
		})
	}
}

func await(t *testing.T, what <-chan struct{}) {
	t.Helper()
	select {
	case <-what:
	case <-t.Context().Done():
		t.Fatal("the test's time is over")
	}
}

// A sender that hangs up does not stop the function: what it had begun is found by the redelivery.
func TestSenderThatGoesAwayBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0])
	p, committed := newPause(), make(chan struct{})
	m := s.delivery()
	s.record.maybe(m.id)
	s.gate.on(m.id, func(w http.ResponseWriter, r *http.Request, engine http.Handler) {
		p.wait(r)
		engine.ServeHTTP(w, r)
		close(committed)
	})
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := s.send(ctx, m)
		gone <- err
	}()
	await(t, p.arrived)
	hangUp()
	if err := <-gone; err == nil {
		t.Error("there was an answer")
	}
	s.gate.on(m.id, nil)
	close(p.proceed)
	await(t, committed)
	s.expect(t, "the redelivery", m, "204 already_processed")
	if line, err := s.record.lineOf(t.Context(), m.id); err != nil || line.Outcome != "accepted" {
		t.Errorf("the log says %q of the first, want accepted: %v", line.Outcome, err)
	}
}

// An answer that never reached the SDK makes it ask again, and it meets its own item (case 23): an acknowledgement, and no conflict.
func TestClaimThatMeetsItself(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0])
	m := s.delivery()
	s.gate.on(m.id, func(w http.ResponseWriter, r *http.Request, engine http.Handler) {
		if s.gate.callsAbout(m.id) == 1 {
			detached(r, engine)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		engine.ServeHTTP(w, r)
	})
	a, err := s.send(t.Context(), m)
	if word := a.word(); err != nil || word != "204 accepted" && word != "204 already_processed" {
		t.Errorf("answered %s, %v", word, err)
	}
	s.gate.on(m.id, nil)
	if got := s.stored(t, m.id, m.id); got != "delivery and run" {
		t.Errorf("the table has %q", got)
	}
}

// One attempt that finds a dead connection costs the delivery no more than its part of the time: the SDK tries again. What the
// dead one wrote, or did not, is the same to the sender.
func TestOneAttemptThatHangsCostsNoDelivery(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0], "CUSTODY_ACK_TIMEOUT=5s")
	for sentence, writes := range map[string]bool{"an attempt that wrote nothing": false, "an attempt that wrote": true} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			m := s.delivery()
			var once sync.Once
			s.gate.on(m.id, func(w http.ResponseWriter, r *http.Request, engine http.Handler) {
				hangs := false
				once.Do(func() { hangs = true })
				if !hangs {
					engine.ServeHTTP(w, r)
					return
				}
				if writes {
					detached(r, engine)
				}
				<-r.Context().Done()
				panic(http.ErrAbortHandler)
			})
			s.expect(t, "beside "+sentence, m, "204 accepted")
		})
	}
}
