package inbox

import "slices"

// Actor is who makes a move.
type Actor string

// The actors. A stack's roles give each only the table actions that its moves need.
const (
	ActorWebhook Actor = "webhook"
	ActorCleanup Actor = "cleanup"
	ActorSweeper Actor = "sweeper"
	// ActorOperator is a person with the tool.
	ActorOperator Actor = "operator"
)

// EffectKind is how an Effect changes an attribute.
type EffectKind int

// The changes that a store must be able to make inside one conditional write.
const (
	EffectPut       EffectKind = iota // set to the parameter
	EffectPutGiven                    // set to the parameter where it is given, else leave
	EffectDefault                     // set to the parameter where the attribute is absent
	EffectIncrement                   // add 1
	EffectClear                       // remove the attribute
	EffectCopy                        // set to what From was before the move, or to the parameter where From is absent
)

// Effect is one change that a move makes to the item. It is data: a store renders it, a test walks it.
type Effect struct {
	Kind  EffectKind
	Attr  Attribute
	Value Param
	From  Attribute // of EffectCopy
}

func put(a Attribute, p Param) Effect       { return Effect{Kind: EffectPut, Attr: a, Value: p} }
func putGiven(a Attribute, p Param) Effect  { return Effect{Kind: EffectPutGiven, Attr: a, Value: p} }
func byDefault(a Attribute, p Param) Effect { return Effect{Kind: EffectDefault, Attr: a, Value: p} }
func increment(a Attribute) Effect          { return Effect{Kind: EffectIncrement, Attr: a} }
func clearOf(a Attribute) Effect            { return Effect{Kind: EffectClear, Attr: a} }

// Move is one legal step of a run. It is written as one conditional write or not at all.
type Move struct {
	Name string
	By   Actor
	From []State   // the states it leaves; none: the item must not exist
	To   State     // "": the state stays
	If   Condition // what must hold beyond the state
	Then []Effect
}

// Leaves reports whether the move may be made from the state.
func (m Move) Leaves(s State) bool { return slices.Contains(m.From, s) }

// The names of the moves.
const (
	MoveClaim      = "claim"
	MoveRecord     = "record"
	MoveAcquire    = "acquire"
	MoveCheckpoint = "checkpoint"
	MoveYield      = "yield"
	MovePark       = "park"
	MoveComplete   = "complete"
	MoveFail       = "fail"
	MoveGiveUp     = "give up"
	MoveWake       = "wake"
	MoveRetry      = "retry"
	MoveRelease    = "release"
	MoveDismiss    = "dismiss"
)

// Moves is the table of every legal move. What is not in it is refused by the store itself.
func Moves() []Move {
	return []Move{
		// A claim is an insert: the item is NewRun(...).Start(wake), written only where neither key exists.
		{Name: MoveClaim, By: ActorWebhook, To: StatePending},
		// The record-only stage: the item is NewRun(...).Record().
		{Name: MoveRecord, By: ActorWebhook, To: StateRecorded},
		Acquire(), Checkpoint(), Yield(), Park(), Complete(), Fail(), GiveUp(), Wake(), Retry(), Release(), Dismiss(),
	}
}

// Acquire takes the lease for one slice. Either the item's wake is the one of this stream record and nobody holds a live lease,
// or the lease was taken for this very record: its retry after a crash would otherwise wait for a whole lease.
func Acquire() Move {
	return Move{
		Name: MoveAcquire, By: ActorCleanup, From: []State{StatePending, StateRunning}, To: StateRunning,
		If: all(
			due(),
			less(AttrAttempts, ParamCeiling),
			anyOf(
				all(equal(AttrWake, ParamWake), noLiveLease()),
				// The same token is this very worker, whose answer was lost and whose request was repeated: a refusal
				// tells it so, and the attempt is not counted twice.
				all(equal(AttrLeaseRecord, ParamRecord), notEqual(AttrLeaseToken, ParamToken)),
			),
		),
		Then: []Effect{
			put(AttrLeaseToken, ParamToken), put(AttrLeaseExpiresAt, ParamLeaseExpiresAt), put(AttrLeaseRecord, ParamRecord),
			clearOf(AttrWake), clearOf(AttrWakeAt), put(AttrWakeCount, ParamZero), clearOf(AttrNextAttemptAt),
			increment(AttrAttempts), increment(AttrSlices),
			byDefault(AttrMode, ParamMode), byDefault(AttrStartedAt, ParamNow),
		},
	}
}

// Checkpoint writes progress and, where an expiry is given, renews the lease. A wake that the sweeper set while the lease had
// run out is taken back, for the holder is alive after all: left there, it would put every further checkpoint on the stream.
func Checkpoint() Move {
	return Move{
		Name: MoveCheckpoint, By: ActorCleanup, From: []State{StateRunning}, To: StateRunning, If: mine(),
		Then: append(progress(), putGiven(AttrLeaseExpiresAt, ParamLeaseExpiresAt), clearOf(AttrWake), clearOf(AttrWakeAt)),
	}
}

// Yield ends a slice whose budget is used up; the new wake starts the next one behind the other runs.
func Yield() Move {
	return Move{
		Name: MoveYield, By: ActorCleanup, From: []State{StateRunning}, To: StatePending, If: mine(),
		Then: release(put(AttrWake, ParamNewWake), put(AttrWakeAt, ParamNow)),
	}
}

// Park ends a slice that met a passing error; the sweeper wakes the run when its next attempt is due.
func Park() Move {
	return Move{
		Name: MovePark, By: ActorCleanup, From: []State{StateRunning}, To: StatePending, If: mine(),
		Then: release(clearOf(AttrWake), clearOf(AttrWakeAt),
			put(AttrLastError, ParamError), put(AttrNextAttemptAt, ParamNextAttemptAt)),
	}
}

// Complete ends a run whose last scan deleted nothing.
func Complete() Move {
	return Move{
		Name: MoveComplete, By: ActorCleanup, From: []State{StateRunning}, To: StateDone, If: mine(),
		Then: release(clearOf(AttrWake), clearOf(AttrWakeAt), put(AttrEndedAt, ParamNow), put(AttrTTL, ParamTTL),
			clearOf(AttrOpen), clearOf(AttrOpenSince)),
	}
}

// Fail ends a run that met an error no retry can cure.
func Fail() Move {
	return Move{
		Name: MoveFail, By: ActorCleanup, From: []State{StateRunning}, To: StateFailed, If: mine(),
		Then: release(clearOf(AttrWake), clearOf(AttrWakeAt), put(AttrEndedAt, ParamNow), put(AttrLastError, ParamError),
			put(AttrOpen, ParamOpenFailed), put(AttrOpenSince, ParamNow)),
	}
}

// GiveUp ends a run that used up its attempts, when no slice holds it.
func GiveUp() Move {
	return Move{
		Name: MoveGiveUp, By: ActorSweeper, From: []State{StatePending, StateRunning}, To: StateFailed,
		If: all(atLeast(AttrAttempts, ParamCeiling), noLiveLease()),
		Then: []Effect{
			clearOf(AttrLeaseToken), clearOf(AttrLeaseExpiresAt), clearOf(AttrLeaseRecord), clearOf(AttrWake), clearOf(AttrWakeAt),
			put(AttrEndedAt, ParamNow),
			// Why the slices failed is what an operator wants to know; without an error they died.
			{Kind: EffectCopy, Attr: AttrCause, Value: ParamError, From: AttrLastError}, put(AttrLastError, ParamError),
			put(AttrOpen, ParamOpenFailed), put(AttrOpenSince, ParamNow),
		},
	}
}

// Wake puts a run before the cleanup function again. A present wake stays: only its time and count change, which is enough
// for a new stream record, and the record of the lost one then does nothing.
func Wake() Move {
	return Move{
		Name: MoveWake, By: ActorSweeper, From: []State{StatePending, StateRunning},
		If: all(noLiveLease(), due(), anyOf(absent(AttrWake), atMost(AttrWakeAt, ParamWakeBefore))),
		Then: []Effect{
			byDefault(AttrWake, ParamNewWake), put(AttrWakeAt, ParamNow), increment(AttrWakeCount),
		},
	}
}

// Retry starts a failed run again, from the start of its selection: what S3 refused or somebody mended lies anywhere in it.
func Retry() Move {
	return Move{
		Name: MoveRetry, By: ActorOperator, From: []State{StateFailed}, To: StatePending,
		If:   notMade(),
		Then: restart(),
	}
}

// Release starts a run that was recorded, or that ended as a dry run. Its mode is pinned anew by its first slice.
func Release() Move {
	return Move{
		Name: MoveRelease, By: ActorOperator, From: []State{StateRecorded, StateDone}, To: StatePending,
		If:   all(anyOf(equal(AttrState, ParamRecorded), equal(AttrMode, ParamDryRun)), notMade()),
		Then: restart(clearOf(AttrMode), put(AttrCounters, ParamNoCounters)),
	}
}

// Dismiss gives a run up, with a reason. A worker that holds it is refused at its next write.
func Dismiss() Move {
	return Move{
		Name: MoveDismiss, By: ActorOperator,
		From: []State{StateRecorded, StatePending, StateRunning, StateFailed}, To: StateDismissed,
		If: all(),
		Then: []Effect{
			clearOf(AttrLeaseToken), clearOf(AttrLeaseExpiresAt), clearOf(AttrLeaseRecord), clearOf(AttrWake), clearOf(AttrWakeAt),
			put(AttrEndedAt, ParamNow), put(AttrTTL, ParamTTL), clearOf(AttrOpen), clearOf(AttrOpenSince),
			put(AttrOperation, ParamOperation),
		},
	}
}

// restart puts a run before the cleanup function as if it had just been claimed. What an earlier life left behind, the place
// above all, would let it end without having looked at everything.
func restart(more ...Effect) []Effect {
	return append([]Effect{
		put(AttrWake, ParamNewWake), put(AttrWakeAt, ParamNow), put(AttrWakeCount, ParamZero),
		put(AttrAttempts, ParamZero), put(AttrPlace, ParamStart), clearOf(AttrNextAttemptAt), clearOf(AttrCause),
		clearOf(AttrEndedAt), clearOf(AttrTTL),
		put(AttrOpen, ParamOpenOpen), put(AttrOpenSince, ParamNow), put(AttrOperation, ParamOperation),
	}, more...)
}

// progress is what every write of a lease holder carries.
func progress() []Effect {
	return []Effect{put(AttrPlace, ParamPlace), put(AttrCounters, ParamCounters), put(AttrAttempts, ParamAttempts)}
}

// release is progress with the lease given back.
func release(more ...Effect) []Effect {
	return slices.Concat(progress(),
		[]Effect{clearOf(AttrLeaseToken), clearOf(AttrLeaseExpiresAt), clearOf(AttrLeaseRecord)}, more)
}
