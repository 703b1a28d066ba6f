package producer

import (
	"net/http"

	"custody/internal/inbox"
)

// Verdict is what an answer is to the sender.
type Verdict string

const (
	// Acknowledged means that the command is written down durably. It says nothing of the cleanup itself.
	Acknowledged Verdict = "acknowledged"
	// Again means that the same delivery, signed anew, may be acknowledged, and that sending it is harmless.
	Again Verdict = "again"
	// Refused means that the same delivery will be answered the same until somebody has changed something.
	Refused Verdict = "refused"
)

// HeaderOutcome is the header of the outcome word. Only the function itself sets it.
const HeaderOutcome = "Custody-Outcome"

// Answer is one of the answers that a delivery can have.
type Answer struct {
	Status  int
	Outcome inbox.Outcome // "" for what Lambda answers by itself, before the function or instead of it
	Verdict Verdict
	Means   string // when it is given
	Do      string // what the sender does
}

// Answers lists every answer that there is: the function's own, then Lambda's.
func Answers() []Answer {
	return append(functionAnswers(), lambdaAnswers()...)
}

func functionAnswers() []Answer {
	return []Answer{
		{204, inbox.OutcomeAccepted, Acknowledged, "first valid delivery: the command is written down durably", "done"},
		{204, inbox.OutcomeAlreadyProcessed, Acknowledged,
			"a copy of a delivery, or the same command for the same run under another delivery id", "done"},
		{204, inbox.OutcomeExpired, Acknowledged, "the reservation was held past its deadline, and has expired with this delivery", "done"},
		{204, inbox.OutcomeNoLongerHeld, Acknowledged,
			"the reservation was paid, released, extended or expired before, or is missing: nothing was changed", "done"},
		{400, inbox.OutcomeRejected, Refused,
			"a header is missing, delivery id or timestamp is malformed, the body is empty", "mend the sender"},
		{401, inbox.OutcomeRejected, Refused,
			"the signature is malformed or not ours, the key id is unknown, or the timestamp is outside the window",
			"check scheme, key, clock and body bytes, then send again"},
		{404, inbox.OutcomeRejected, Refused, "the path is not the one that the stack takes", "mend the URL"},
		{405, inbox.OutcomeRejected, Refused, "the method is not POST", "mend the sender"},
		{409, inbox.OutcomeConflict, Refused,
			"the delivery id stands for another body, or the run for another command", "stop and tell a person: this command will not run"},
		{413, inbox.OutcomeRejected, Refused, "the body is too large", "mend the sender"},
		{415, inbox.OutcomeRejected, Refused, "the body has a content encoding", "send the body as it is"},
		{422, inbox.OutcomeRejected, Refused,
			"signed, but no valid command: broken JSON, an unknown type, a bad field, or due later than the window",
			"stop and tell a person: this command will not run"},
		{500, inbox.OutcomeRetryableFailure, Again, "the function crashed", "send again"},
		{503, inbox.OutcomeNotDue, Again, "due within the window, but not yet", "send again after Retry-After"},
		{503, inbox.OutcomeRetryableFailure, Again,
			"the store or the keys cannot be had, the time ran out, or a reservation cannot expire in the record-only stage",
			"send again after Retry-After"},
	}
}

func lambdaAnswers() []Answer {
	return []Answer{
		{403, "", Refused, "the function URL does not let the request through", "tell the receiver's operator"},
		{413, "", Refused, "the request is above 6 MB", "mend the sender"},
		{429, "", Again, "more requests at once than the function may run", "send again"},
		{502, "", Again, "the function crashed or ran out of time", "send again"},
	}
}

// Explain finds the answer. One that no version of this package knows is judged by its status: a 204 is durable only when the
// function itself said it, so an outcome must be there, of whatever word.
func Explain(status int, outcome inbox.Outcome) Answer {
	for _, a := range Answers() {
		if a.Status == status && a.Outcome == outcome {
			return a
		}
	}
	a := Answer{Status: status, Outcome: outcome}
	switch {
	case status == http.StatusNoContent && outcome != "":
		a.Verdict, a.Means, a.Do = Acknowledged, "an outcome that this version does not know; a 204 is durable all the same", "done"
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		a.Verdict, a.Means, a.Do = Again, "something in front of the function answered", "send again"
	case outcome != "":
		a.Verdict, a.Means, a.Do = Refused, "an answer that this version does not know", "tell the receiver's operator"
	default:
		a.Verdict, a.Means, a.Do = Refused, "this is no answer of Custody", "check the URL"
	}
	return a
}
