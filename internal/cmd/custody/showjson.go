package main

import (
	"time"

	"custody/internal/inbox"
	"custody/internal/operator"
)

// showObject is a run as JSON. The names are kept: scripts stand on them.
type showObject struct {
	Run         string                 `json:"run"`
	CommandType string                 `json:"command_type"`
	RunKey      string                 `json:"run_key"`
	State       inbox.State            `json:"state"`
	Scope       string                 `json:"scope"`
	DeliveryID  string                 `json:"delivery_id"`
	FoundBy     string                 `json:"found_by_delivery_id,omitempty"`
	BodySHA256  string                 `json:"body_sha256,omitempty"` // of that delivery; absent where its item has expired
	CommandHash string                 `json:"command_hash"`
	Selection   inbox.Selection        `json:"selection"`
	Mode        inbox.Mode             `json:"mode,omitempty"`
	Slices      int                    `json:"slices"`
	Attempts    int                    `json:"attempts"`
	Lease       *leaseObject           `json:"lease,omitempty"`
	Wake        *wakeObject            `json:"wake,omitempty"`
	Place       placeObject            `json:"place"`
	Counters    inbox.Counters         `json:"counters"`
	Retained    map[string]int64       `json:"retained"`
	Refused     int64                  `json:"refused"`
	RefusedList []inbox.RefusedVersion `json:"refused_versions"`
	LastError   *problemObject         `json:"last_error,omitempty"`
	Cause       *problemObject         `json:"cause,omitempty"`
	Operation   *inbox.Operation       `json:"operation,omitempty"`
	ReceivedAt  time.Time              `json:"received_at"`
	StartedAt   time.Time              `json:"started_at,omitzero"`
	EndedAt     time.Time              `json:"ended_at,omitzero"`
	OpenSince   time.Time              `json:"open_since,omitzero"`
	ExpiresAt   time.Time              `json:"expires_at,omitzero"` // of the item
	NextAttempt time.Time              `json:"next_attempt_at,omitzero"`
	Next        nextObject             `json:"next"`
	Can         []string               `json:"can"`
	Holds       *int                   `json:"holds_in_force,omitempty"` // absent where they were not read
	HoldProblem string                 `json:"holds_problem,omitempty"`
	StoppedBy   []holdLine             `json:"stopped_by"`
}

type leaseObject struct {
	Holder    string    `json:"holder"`
	ExpiresAt time.Time `json:"expires_at"`
	Live      bool      `json:"live"`
}

type wakeObject struct {
	At    time.Time `json:"at"`
	Count int       `json:"count"`
}

type placeObject struct {
	Scan    int    `json:"scan"`
	Prefix  int    `json:"prefix"`
	Key     string `json:"key"`
	Deleted bool   `json:"deleted"`
}

type problemObject struct {
	Category inbox.Category `json:"category"`
	Message  string         `json:"message"`
	At       time.Time      `json:"at"`
	Means    string         `json:"means"`
	Cure     string         `json:"cure"`
	Read     string         `json:"read"`
}

type nextObject struct {
	What string    `json:"what"`
	At   time.Time `json:"at,omitzero"`
}

func (v view) object() showObject {
	run := v.Run
	outlook := operator.Next(run, v.now)
	o := showObject{
		Run: run.RunKey().String(), CommandType: run.Type, RunKey: run.Key, State: run.State, Scope: run.Scope,
		DeliveryID: run.DeliveryID, CommandHash: run.CommandHash, Selection: run.Selection, Mode: run.Mode, Slices: run.Slices, Attempts: run.Attempts,
		Place:    placeObject{run.Place.Scan, run.Place.Prefix, run.Place.Key, run.Place.Deleted},
		Counters: run.Counters, Retained: run.Place.Retained, Refused: run.Place.RefusedCount, RefusedList: run.Place.Refused,
		LastError: problemOf(run.LastError), Cause: problemOf(run.Cause), Operation: run.Operation,
		ReceivedAt: run.ReceivedAt, StartedAt: run.StartedAt, EndedAt: run.EndedAt, OpenSince: run.OpenSince,
		NextAttempt: run.NextAttemptAt, Next: nextObject{outlook.Words, outlook.At}, Can: operator.Moves(run),
		StoppedBy: []holdLine{},
	}
	v.addOptional(&o)
	return o
}

// addOptional adds what a run need not have. Lists are never null.
func (v view) addOptional(o *showObject) {
	run := v.Run
	if v.Delivery != nil {
		o.FoundBy = v.Delivery.ID
	}
	if v.origin != nil {
		o.BodySHA256 = v.origin.BodySHA256
	}
	if run.LeaseToken != "" {
		o.Lease = &leaseObject{run.LeaseToken, run.LeaseExpiresAt, run.LeaseExpiresAt.After(v.now)}
	}
	if run.Wake != "" {
		o.Wake = &wakeObject{run.WakeAt, run.WakeCount}
	}
	if run.TTL > 0 {
		o.ExpiresAt = time.Unix(run.TTL, 0).UTC()
	}
	if o.Can == nil {
		o.Can = []string{}
	}
	if o.RefusedList == nil {
		o.RefusedList = []inbox.RefusedVersion{}
	}
	if o.Retained == nil {
		o.Retained = map[string]int64{}
	}
	if v.coverProblem != nil {
		o.HoldProblem = v.coverProblem.Error()
		return
	}
	n := len(v.cover.Holds)
	o.Holds = &n
	for _, row := range v.cover.Stops {
		o.StoppedBy = append(o.StoppedBy, holdLineOf(row, v.now))
	}
}

func problemOf(e *inbox.LastError) *problemObject {
	if e == nil {
		return nil
	}
	advice := operator.Advise(e.Category)
	return &problemObject{e.Category, e.Message, e.At, advice.Means, advice.Do, operator.Heading(e.Category)}
}
