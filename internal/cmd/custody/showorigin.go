package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"custody/internal/command"
	"custody/internal/inbox"
)

// producersCommand is the command as its producer wrote it, as far as the item has kept it: the time is the selection's cutoff,
// which is rounded down to the second.
func producersCommand(run inbox.Run) string {
	_, owner, _ := strings.Cut(run.Scope, ":")
	switch at := strings.LastIndex(run.Key, ":expiry-"); {
	case run.Type == command.CleanupRun:
		return fmt.Sprintf("%s of run_id %s, warehouse_id %s, expired_before %s", run.Type, run.Key, owner, stamp(run.Selection.Cutoff))
	case run.Type == command.ListingExpire && at >= 0:
		return fmt.Sprintf("%s of listing_id %s, generation %s, expired_at %s", run.Type, owner, run.Key[at+len(":expiry-"):], stamp(run.Selection.Cutoff))
	}
	return run.Type + ", which this version does not know"
}

// body is the hash that a producer can compare with what it has in its own log.
func (v view) body(width int) string {
	switch {
	case v.originProblem != nil:
		return "not known: " + v.originProblem.Error()
	case v.origin == nil:
		return "not known any more: the delivery's item has expired"
	}
	return bodyHash(v.origin.BodySHA256, width)
}

// bodyHash shortens the hash where it would not fit: --json has all of it.
func bodyHash(hash string, width int) string {
	const shown = 16
	if len("sha256 "+hash) > width-labelWidth && len(hash) > shown {
		return "sha256 " + hash[:shown] + "... (--json has all of it)"
	}
	return "sha256 " + hash
}

// deliveryObject is a delivery that started no run, as JSON.
type deliveryObject struct {
	DeliveryID    string        `json:"delivery_id"`
	CommandType   string        `json:"command_type"`
	ReservationID string        `json:"reservation_id"`
	Outcome       inbox.Outcome `json:"outcome"`
	Means         string        `json:"means"`
	BodySHA256    string        `json:"body_sha256"`
	ReceivedAt    time.Time     `json:"received_at"`
	ExpiresAt     time.Time     `json:"expires_at,omitzero"` // of the item
	Run           any           `json:"run"`                 // null: there is none
}

// writeDelivery shows a delivery that started no run: all that it did is written in its outcome.
func writeDelivery(w io.Writer, d inbox.Delivery, now time.Time, asJSON bool) error {
	o := deliveryObject{
		DeliveryID: d.ID, CommandType: d.CommandType, ReservationID: d.ReservationID, Outcome: d.Outcome, Means: outcomeMeans(d.Outcome),
		BodySHA256: d.BodySHA256, ReceivedAt: d.ReceivedAt,
	}
	if d.TTL > 0 {
		o.ExpiresAt = time.Unix(d.TTL, 0).UTC()
	}
	if asJSON {
		return jsonLine(w, o)
	}
	s := sheet{out: w, width: widthOf(w), colors: paletteOf(w)}
	s.put("Delivery", fmt.Sprintf("%s, received %s", d.ID, when(d.ReceivedAt, now)))
	s.put("Command", d.CommandType)
	s.put("Body", bodyHash(d.BodySHA256, s.width))
	s.put("Reservation", d.ReservationID)
	s.put("Outcome", string(d.Outcome)+": "+o.Means)
	s.put("Run", "none: this command has its whole effect in the moment in which it is written down")
	next := "nothing"
	if !o.ExpiresAt.IsZero() {
		next += "; the delivery's item expires " + when(o.ExpiresAt, now)
	}
	s.put("Next", next)
	s.put("You can", "nothing: it has ended. A reservation that was not held any more is the application's own")
	return nil
}

func outcomeMeans(o inbox.Outcome) string {
	switch o {
	case inbox.OutcomeExpired:
		return "the reservation was held past its deadline, and became expired with this delivery"
	case inbox.OutcomeNoLongerHeld:
		return "the reservation was paid, released, extended or missing, so nothing was moved"
	case inbox.OutcomeAlreadyProcessed:
		return "a copy of a delivery that had been taken before"
	case inbox.OutcomeAccepted, inbox.OutcomeRejected, inbox.OutcomeConflict, inbox.OutcomeNotDue, inbox.OutcomeRetryableFailure:
	}
	return "an outcome that this version does not know of such a command"
}
