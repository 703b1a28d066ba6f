package inbox

import "time"

// Param names a value that a move takes from its Change.
type Param int

// The values that the moves' conditions and effects refer to.
const (
	ParamNone Param = iota
	ParamNow
	ParamToken
	ParamLeaseExpiresAt
	ParamRecord
	ParamWake
	ParamNewWake
	ParamWakeBefore
	ParamCeiling
	ParamMode
	ParamAttempts
	ParamPlace
	ParamCounters
	ParamError
	ParamNextAttemptAt
	ParamTTL
	ParamOpenFailed
	ParamOpenOpen
	ParamZero
	ParamStart
	ParamNoCounters
	ParamRecorded
	ParamDryRun
	ParamOperation
)

// Change carries the values of one move. Each move's line in Moves says which of them it uses; the others are ignored.
type Change struct {
	Now            time.Time // the mover's clock
	Token          string    // the worker's lease token, made before it acquires
	LeaseExpiresAt time.Time // zero in a checkpoint: the lease is not renewed
	Record         string    // identity of the stream record that started the slice
	Wake           string    // the wake that the stream record carries
	NewWake        string    // a value never used before, since a write that changes nothing leaves no stream record
	WakeBefore     time.Time // a present wake is repeated only when it is not younger than this
	Ceiling        int       // attempts at which a run is given up
	Mode           Mode
	Attempts       int // 0 after progress
	Place          Place
	Counters       Counters
	Err            LastError
	NextAttemptAt  time.Time
	TTL            int64 // Unix seconds
	Operation      Operation
}

// Value is the value of the parameter; false when it is not given, which only an optional effect allows.
func (c Change) Value(p Param) (any, bool) {
	switch p {
	case ParamNow:
		return c.Now, !c.Now.IsZero()
	case ParamToken:
		return c.Token, c.Token != ""
	case ParamLeaseExpiresAt:
		return c.LeaseExpiresAt, !c.LeaseExpiresAt.IsZero()
	case ParamRecord:
		return c.Record, c.Record != ""
	case ParamWake:
		return c.Wake, c.Wake != ""
	case ParamNewWake:
		return c.NewWake, c.NewWake != ""
	case ParamWakeBefore:
		return c.WakeBefore, !c.WakeBefore.IsZero()
	case ParamCeiling:
		return c.Ceiling, c.Ceiling > 0
	case ParamMode:
		return c.Mode, c.Mode != ""
	case ParamAttempts:
		return c.Attempts, true
	case ParamPlace:
		return c.Place, c.Place.Scan > 0
	case ParamCounters:
		return c.Counters, true
	case ParamError:
		return c.Err, c.Err.Category != ""
	case ParamNextAttemptAt:
		return c.NextAttemptAt, !c.NextAttemptAt.IsZero()
	case ParamTTL:
		return c.TTL, c.TTL > 0
	case ParamOpenFailed:
		return StateFailed.OpenIndex(), true
	case ParamOpenOpen:
		return StatePending.OpenIndex(), true
	case ParamZero:
		return 0, true
	case ParamStart:
		return StartPlace(), true
	case ParamNoCounters:
		return Counters{}, true
	case ParamRecorded:
		return StateRecorded, true
	case ParamDryRun:
		return ModeDryRun, true
	case ParamOperation:
		return c.Operation, c.Operation.By != ""
	case ParamNone:
	}
	return nil, false
}
