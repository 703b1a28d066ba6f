package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/signature"
)

// Keys is where the signing keys come from.
type Keys interface {
	// Active gives the keys that are in force at the given time. id is the key that the request names, "" for none: a source
	// that does not know it may look for newer keys, within its own bounds. An error beside keys says why they are old;
	// without a key the request cannot be verified.
	Active(ctx context.Context, id string, at time.Time) (signature.Keys, error)
	// Cached gives the same without leaving the process and without waiting; false where that cannot be, or something is wrong.
	Cached(id string, at time.Time) (signature.Keys, bool)
}

// Store is the inbox as the front door needs it.
type Store interface {
	// Claim writes delivery and run at once, where neither exists. Nil and nil: both are durable. Existing is what stood in
	// the way, read by the refusal itself. An error says that nothing is known, except inbox.ErrTooLarge: nothing was written.
	Claim(ctx context.Context, c inbox.Claim) (*inbox.Existing, error)
	// Alias writes the delivery alone: another id for a known run. Nil and nil: it is durable. Otherwise the delivery that
	// has the id already. An error says that nothing is known.
	Alias(ctx context.Context, d inbox.Delivery) (*inbox.Delivery, error)
}

// Commands reads payloads, and only those that are authentic.
type Commands interface {
	// Decode reads one payload. A *command.Error says that it is no valid command.
	Decode(body []byte) (command.Command, error)
	// Accepts reports whether the stack takes commands of the type.
	Accepts(commandType string) bool
}

// Settings is what the stack decides about its front door.
type Settings struct {
	Path         string        // exactly as it stands in the request
	MaxBodyBytes int           // decoded; at most 4 MiB, since a 6 MB event holds the body in base64
	ReplayWindow time.Duration // in both directions, edges included
	AckTimeout   time.Duration // the answer is out before this
	RecordOnly   bool          // claim runs, do not start them
	Retention    time.Duration // how long a delivery's item lives
}

// MaxBodyCap is the highest MaxBodyBytes.
const MaxBodyCap = 4 << 20

// Handler answers deliveries. All fields but the last three are required; it is safe for concurrent use.
type Handler struct {
	Settings     Settings
	Scheme       signature.Scheme
	Keys         Keys
	Commands     Commands
	Store        Store
	Reservations Reservations     // required where Commands accept a reservation.expire
	Now          func() time.Time // nil: time.Now
	Wake         func() string    // makes the wake of a new run, a value never used before; nil: random
}

// New checks the settings, so that a bad one fails the function's start. Every problem is named.
func New(h Handler) (*Handler, error) {
	s := h.Settings
	var problems []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	refuse(s.Path == "" || s.Path[0] != '/', "path %q: must start with /", s.Path)
	refuse(s.MaxBodyBytes < 1 || s.MaxBodyBytes > MaxBodyCap, "max body bytes %d: must be 1 to %d", s.MaxBodyBytes, MaxBodyCap)
	refuse(s.ReplayWindow <= 0, "replay window %s: must be above zero", s.ReplayWindow)
	refuse(s.AckTimeout <= 0, "ack timeout %s: must be above zero", s.AckTimeout)
	refuse(s.Retention <= 0, "retention %s: must be above zero", s.Retention)
	refuse(h.Scheme == nil || h.Keys == nil || h.Commands == nil || h.Store == nil, "scheme, keys, commands and store are required")
	refuse(h.needsReservations(), "reservations: required for the command %s", command.ReservationExpire)
	if h.Now == nil {
		h.Now = time.Now
	}
	if h.Wake == nil {
		h.Wake = rand.Text
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &h, nil
}

// Handle answers one request. Every answer has a status and an outcome; the summary says the same for log and metrics.
func (h *Handler) Handle(ctx context.Context, req events.LambdaFunctionURLRequest) (
	answer events.LambdaFunctionURLResponse, sum inbox.DeliverySummary,
) {
	defer func() {
		if p := recover(); p != nil {
			answer = h.finish(&sum, req, "", crash(p))
		}
	}()
	ctx, cancel := h.withDeadline(ctx)
	defer cancel()
	outcome, err := h.decide(ctx, req, &sum)
	answer = h.finish(&sum, req, outcome, err)
	return answer, sum
}

// decide runs the checks in their order. No key and no item is asked for before the cheap checks have passed, and nothing is
// parsed before it is authentic.
func (h *Handler) decide(ctx context.Context, req events.LambdaFunctionURLRequest, sum *inbox.DeliverySummary) (inbox.Outcome, error) {
	if err := h.checkRoute(req); err != nil {
		return "", err
	}
	body, err := h.body(req)
	if err != nil {
		return "", err
	}
	sum.BodyBytes = len(body)
	receivedAt := receiptOf(req)
	envelope, err := h.verify(ctx, req.Headers, body, receivedAt, sum)
	if err != nil {
		return "", err
	}
	if !envelope.Timestamp.IsZero() {
		sum.Age = receivedAt.Sub(envelope.Timestamp)
	}
	cmd, err := h.command(body, receivedAt, sum)
	if err != nil {
		return "", err
	}
	return h.effect(ctx, h.newDelivery(envelope, body, cmd, receivedAt), cmd)
}

// receiptOf is when the function URL received the request.
func receiptOf(req events.LambdaFunctionURLRequest) time.Time {
	return time.UnixMilli(req.RequestContext.TimeEpoch).UTC()
}

// verify is headers, signature and window, in this order.
func (h *Handler) verify(
	ctx context.Context, headers map[string]string, body []byte, receivedAt time.Time, sum *inbox.DeliverySummary,
) (signature.Envelope, error) {
	envelope, err := h.authenticate(ctx, headers, body, receivedAt, sum)
	sum.Signature = signature.Valid
	if bad, ok := errors.AsType[*signature.Error](err); ok {
		sum.Signature = string(bad.Reason)
	} else if err != nil { // a crash: nothing is known
		sum.Signature = ""
	}
	return envelope, err
}

func (h *Handler) authenticate(
	ctx context.Context, headers map[string]string, body []byte, receivedAt time.Time, sum *inbox.DeliverySummary,
) (signature.Envelope, error) {
	lookup, err := headerIndex(headers)
	if err != nil {
		return signature.Envelope{}, err
	}
	envelope, err := h.Scheme.Read(lookup)
	if err != nil {
		return signature.Envelope{}, err
	}
	sum.DeliveryID, sum.KeyID = envelope.DeliveryID, claimedKeyID(envelope.KeyID)
	keys, err := h.activeKeys(ctx, envelope.KeyID, receivedAt, sum)
	if err != nil {
		return signature.Envelope{}, err
	}
	if keys.Has(envelope.KeyID) {
		sum.KeyID = envelope.KeyID
	}
	keyID, err := h.Scheme.Verify(envelope, body, keys)
	if err != nil {
		return signature.Envelope{}, err
	}
	sum.KeyID = keyID
	return envelope, envelope.Fresh(receivedAt, h.Settings.ReplayWindow)
}

// claimedKeyID is what the log is told of a key id that may be none.
func claimedKeyID(id string) string {
	if signature.MayBeSecret(id) {
		return "(not shown)"
	}
	return id
}

// activeKeys asks the source. Where some are old, or cannot be used, the others are, and the reason goes to the log.
func (h *Handler) activeKeys(ctx context.Context, id string, at time.Time, sum *inbox.DeliverySummary) (signature.Keys, error) {
	if keys, ok := h.Keys.Cached(id, at); ok { // nothing here can hang, and so nothing has to be watched
		return keys, nil
	}
	keys, err := within(ctx, func(ctx context.Context) (signature.Keys, error) { return h.Keys.Active(ctx, id, at) })
	if _, crashed := errors.AsType[*crashError](err); crashed {
		return nil, err
	}
	if err != nil && len(keys) == 0 {
		return nil, signature.NoKey("no signing key could be had: " + err.Error())
	}
	if err != nil {
		sum.Problem = "signing keys: " + err.Error()
	}
	return keys, nil
}

// command is the payload's check, its due time included.
func (h *Handler) command(body []byte, receivedAt time.Time, sum *inbox.DeliverySummary) (command.Command, error) {
	cmd, err := h.Commands.Decode(body)
	if err != nil {
		return cmd, err
	}
	sum.CommandType, sum.RunKey, sum.Scope = cmd.Type, cmd.Run.Key, cmd.Scope
	if cmd.Expiry != nil {
		sum.ReservationID = cmd.Expiry.ReservationID
	}
	if err := h.checkDue(cmd.Due.Sub(receivedAt)); err != nil {
		return cmd, err
	}
	sum.Age = receivedAt.Sub(cmd.Due)
	return cmd, nil
}

// checkDue refuses a command that comes too early. Within the window the sender's clock may run ahead of ours, and repeating
// soon will do; later than that it is a mistake.
func (h *Handler) checkDue(early time.Duration) error {
	switch {
	case early <= 0:
		return nil
	case early <= h.Settings.ReplayWindow:
		return notDue(early)
	}
	return reject(statusUnprocessable, fmt.Sprintf("due in %s, at most %s ahead is allowed", early, h.Settings.ReplayWindow))
}
