package signature

// Reason is the one word that the log and the metrics have for a request that did not verify.
type Reason string

const (
	// ReasonMissing is a required header that is not there.
	ReasonMissing Reason = "missing"
	// ReasonMalformed is a delivery id, timestamp or signature that has not the form its scheme gives it.
	ReasonMalformed Reason = "malformed"
	// ReasonInvalid is a well-formed signature that no active key made over these bytes.
	ReasonInvalid Reason = "invalid"
	// ReasonStale is an authentic request whose timestamp lies outside the replay window, on either side.
	ReasonStale Reason = "stale"
	// ReasonUnknownKey is a key id that names no active key.
	ReasonUnknownKey Reason = "unknown_key"
	// ReasonNoKey is a stack without one active key: it can verify nothing, and its operator must act.
	ReasonNoKey Reason = "no_key"
)

// Valid is the word for a request that did verify. It is no reason for anything.
const Valid = "valid"

// Error is why a request was not verified. Its text names the header and what is allowed, for the log alone; it never
// holds a header's value, and so never a signature.
type Error struct {
	Reason Reason
	Class  Class
	Detail string
}

// Class is whose fault it is, as the HTTP status class says it.
type Class int

const (
	// ClassUnauthorized is a request that is not ours or not recent: 401.
	ClassUnauthorized Class = iota
	// ClassBadRequest is a request that is incomplete or malformed before any key is looked at: 400.
	ClassBadRequest
	// ClassUnavailable is a stack that cannot verify now: 503.
	ClassUnavailable
)

func (e *Error) Error() string { return string(e.Reason) + ": " + e.Detail }

// NoKey is the error of a stack that has no active key; the detail says why.
func NoKey(detail string) *Error {
	return &Error{Reason: ReasonNoKey, Class: ClassUnavailable, Detail: detail}
}

func missing(header string) *Error {
	return &Error{Reason: ReasonMissing, Class: ClassBadRequest, Detail: header + " is required"}
}

func malformedHeader(detail string) *Error {
	return &Error{Reason: ReasonMalformed, Class: ClassBadRequest, Detail: detail}
}

func unauthorized(r Reason, detail string) *Error {
	return &Error{Reason: r, Class: ClassUnauthorized, Detail: detail}
}
