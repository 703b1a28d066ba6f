package inbox

import "time"

// Delivery is the item of one signed push, as the table holds it.
type Delivery struct {
	ID          string    `json:"delivery_id"`
	CommandType string    `json:"command_type"`
	BodySHA256  string    `json:"body_sha256"` // lower-case hex of the exact bytes that were signed
	Outcome     Outcome   `json:"outcome"`
	ReceivedAt  time.Time `json:"received_at"`
	TTL         int64     `json:"ttl"` // Unix seconds

	// Exactly one of the two is set: a command starts a run, or has its whole effect in the claim.
	RunKey        string `json:"run_key,omitempty"`
	ReservationID string `json:"reservation_id,omitempty"`
}

// ItemKey is the partition key of the delivery's item in the inbox table.
func (d Delivery) ItemKey() string { return deliveryPrefix + d.ID }

// Outcome is the one word that says what became of a delivery. It is stored, sent as Custody-Outcome, logged and counted.
type Outcome string

const (
	// OutcomeAccepted is a first valid delivery; its claim is durable.
	OutcomeAccepted Outcome = "accepted"
	// OutcomeAlreadyProcessed is a copy of a delivery, or of a run's command under another delivery id.
	OutcomeAlreadyProcessed Outcome = "already_processed"
	// OutcomeExpired is a reservation that moved from held to expired with the claim of its delivery.
	OutcomeExpired Outcome = "expired"
	// OutcomeNoLongerHeld is a reservation that was paid, released, extended, or is missing: nothing was moved, and at the
	// instant of the claim that was so.
	OutcomeNoLongerHeld Outcome = "no_longer_held"
	// OutcomeRejected is a request that is wrong in itself; nothing was written.
	OutcomeRejected Outcome = "rejected"
	// OutcomeConflict is a delivery id or a run key that stands for another command already.
	OutcomeConflict Outcome = "conflict"
	// OutcomeNotDue is a command that is due within the replay window, but not yet.
	OutcomeNotDue Outcome = "not_due"
	// OutcomeRetryableFailure is a request whose fate is unknown or that could not be served now; the sender repeats it.
	OutcomeRetryableFailure Outcome = "retryable_failure"
)

// Committed reports whether the outcome promises that the command is durable.
func (o Outcome) Committed() bool { return o.First() || o == OutcomeAlreadyProcessed }

// First reports whether the outcome is that of a delivery's own claim, and not of a copy.
func (o Outcome) First() bool {
	return o == OutcomeAccepted || o == OutcomeExpired || o == OutcomeNoLongerHeld
}
