package inbox

// State is where a run is in its life. The words are stored and shown as they stand here.
type State string

const (
	// StateRecorded is a run that was claimed in the record-only stage. It waits for an operator to release it
	// and never expires by itself.
	StateRecorded State = "recorded"
	// StatePending is a run that waits for a slice: for its wake to travel the stream, or for its next attempt to be due.
	// The cleanup function moves it on.
	StatePending State = "pending"
	// StateRunning is a run that a slice holds under a lease. The slice moves it on; when its lease has run out,
	// the stream's retry or the sweeper's wake does.
	StateRunning State = "running"
	// StateDone is a run whose last scan deleted nothing. It expires after the retention of the stack.
	StateDone State = "done"
	// StateFailed is a run that reached the attempt ceiling or met an error no retry can cure.
	// It waits for an operator, who retries or dismisses it; it never expires by itself.
	StateFailed State = "failed"
	// StateDismissed is a run that an operator gave up, with a reason. It expires after the retention of the stack.
	StateDismissed State = "dismissed"
)

// States lists every state, in the order of a run's life.
func States() []State {
	return []State{StateRecorded, StatePending, StateRunning, StateDone, StateFailed, StateDismissed}
}

// OpenIndex is the partition of the index `open` that a run in the state stands in, or "" for none.
func (s State) OpenIndex() string {
	switch s {
	case StatePending, StateRunning:
		return "open"
	case StateFailed:
		return "failed"
	case StateRecorded:
		return "recorded"
	case StateDone, StateDismissed:
		return ""
	}
	return ""
}

// Mode says whether a run may delete. The first slice pins it; later changes of the stage never change a started run.
type Mode string

const (
	// ModeDelete deletes what the decision says may go.
	ModeDelete Mode = "delete"
	// ModeDryRun does everything except the delete calls, scans once, and ends in done.
	ModeDryRun Mode = "dry_run"
)
