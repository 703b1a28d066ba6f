package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/signature"
)

// effect makes the delivery's effect durable, and says how it is to be answered.
func (h *Handler) effect(ctx context.Context, d inbox.Delivery, cmd command.Command) (inbox.Outcome, error) {
	if cmd.Expiry != nil {
		e := *cmd.Expiry
		e.At = h.Now()
		d.ReservationID = e.ReservationID
		return h.expire(ctx, d, e)
	}
	d.RunKey, d.Outcome = cmd.Run.Key, inbox.OutcomeAccepted
	return h.claim(ctx, inbox.Claim{Delivery: d, Run: h.newRun(d, cmd)})
}

func (h *Handler) newDelivery(e signature.Envelope, body []byte, cmd command.Command, receivedAt time.Time) inbox.Delivery {
	sum := sha256.Sum256(body)
	return inbox.Delivery{
		ID: e.DeliveryID, CommandType: cmd.Type, BodySHA256: hex.EncodeToString(sum[:]),
		ReceivedAt: receivedAt, TTL: receivedAt.Add(h.Settings.Retention).Unix(),
	}
}

// newRun is the run that the command asks for. In the record-only stage it carries no wake.
func (h *Handler) newRun(d inbox.Delivery, cmd command.Command) inbox.Run {
	run := inbox.NewRun(cmd.Run, cmd.Scope, cmd.Selection, cmd.Hash, d.ID, d.ReceivedAt)
	if h.Settings.RecordOnly {
		return run.Record()
	}
	return run.Start(h.Wake())
}

// claim writes, and classifies a refusal by the items that refused.
func (h *Handler) claim(ctx context.Context, c inbox.Claim) (inbox.Outcome, error) {
	existing, err := within(ctx, func(ctx context.Context) (*inbox.Existing, error) { return h.Store.Claim(ctx, c) })
	if err != nil {
		return "", err
	}
	if existing == nil {
		return inbox.OutcomeAccepted, nil
	}
	if c.Classify(*existing) == inbox.VerdictAlias {
		return h.alias(ctx, c)
	}
	return settled(c, *existing)
}

// alias records the delivery under the run that is there. Where a copy of the delivery was faster, that copy decides.
func (h *Handler) alias(ctx context.Context, c inbox.Claim) (inbox.Outcome, error) {
	d := c.Delivery
	d.Outcome = inbox.OutcomeAlreadyProcessed
	there, err := within(ctx, func(ctx context.Context) (*inbox.Delivery, error) { return h.Store.Alias(ctx, d) })
	if err != nil {
		return "", err
	}
	if there == nil {
		return inbox.OutcomeAlreadyProcessed, nil
	}
	return settled(c, inbox.Existing{Delivery: there})
}

// settled is the outcome of a refusal that leaves nothing to write.
func settled(c inbox.Claim, e inbox.Existing) (inbox.Outcome, error) {
	if c.Classify(e) == inbox.VerdictDuplicate {
		return inbox.OutcomeAlreadyProcessed, nil
	}
	problem := "the run stands for another command"
	if e.Delivery != nil {
		problem = "the delivery id stands for another body"
	}
	return "", &refusal{status: statusConflict, outcome: inbox.OutcomeConflict, problem: problem}
}
