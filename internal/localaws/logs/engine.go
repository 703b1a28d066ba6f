// Package logs owns the local stand-in for CloudWatch Logs: CreateLogStream and PutLogEvents, for log groups that are there from
// the start. It keeps no event; each is handed on as it comes. It is a development part and may import the standard library alone.
package logs

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Event is a line of a log.
type Event struct {
	Group, Stream string
	Time          time.Time
	Message       string
}

// Options of an engine.
type Options struct {
	Groups []string    // that there are
	Output func(Event) // takes each event, in the order of a request; nil drops them
}

// Engine answers both operations. It is safe for concurrent use.
type Engine struct {
	options Options
	mu      sync.Mutex
	streams map[stream]bool
}

type stream struct{ group, name string }

// New makes an engine whose groups have no streams yet.
func New(options Options) *Engine {
	return &Engine{options: options, streams: map[stream]bool{}}
}

// The limits of a request (API reference, "PutLogEvents").
const (
	maxEvents     = 10_000
	maxEventBytes = 1 << 20
	eventOverhead = 26
	maxSpan       = 24 * time.Hour
)

type createLogStream struct {
	LogGroupName  string `json:"logGroupName"`
	LogStreamName string `json:"logStreamName"`
}

func (e *Engine) createStream(in createLogStream) error {
	s := stream{in.LogGroupName, in.LogStreamName}
	switch {
	case s.name == "" || len(s.name) > 512 || strings.ContainsAny(s.name, ":*"): // API reference, "CreateLogStream"
		return faultf(invalidParameter, "logStreamName is %q, must be 1 to 512 characters without : and *", s.name)
	case !slices.Contains(e.options.Groups, s.group):
		return faultf(resourceNotFound, "The specified log group does not exist.")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams[s] {
		return faultf(resourceAlreadyExists, "The specified log stream already exists")
	}
	e.streams[s] = true
	return nil
}

type putLogEvents struct {
	LogGroupName  string       `json:"logGroupName"`
	LogStreamName string       `json:"logStreamName"`
	LogEvents     []inputEvent `json:"logEvents"`
}

type inputEvent struct {
	Timestamp int64  `json:"timestamp"`
	Message   string `json:"message"`
}

// putEvents takes all events or none. It does not reject single ones for their age: what writes and what takes them go by one clock.
func (e *Engine) putEvents(in putLogEvents) error {
	if err := in.check(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !slices.Contains(e.options.Groups, in.LogGroupName):
		return faultf(resourceNotFound, "The specified log group does not exist.")
	case !e.streams[stream{in.LogGroupName, in.LogStreamName}]:
		return faultf(resourceNotFound, "The specified log stream does not exist.")
	case e.options.Output == nil:
		return nil
	}
	for _, one := range in.LogEvents {
		e.options.Output(Event{in.LogGroupName, in.LogStreamName, time.UnixMilli(one.Timestamp), one.Message})
	}
	return nil
}

func (in putLogEvents) check() error {
	if n := len(in.LogEvents); n == 0 || n > maxEvents {
		return faultf(invalidParameter, "logEvents has %d members, must be 1 to %d", n, maxEvents)
	}
	size, first, last := 0, in.LogEvents[0].Timestamp, in.LogEvents[0].Timestamp
	for _, one := range in.LogEvents {
		size += len(one.Message) + eventOverhead
		switch {
		case one.Message == "":
			return faultf(invalidParameter, "message is empty, must have 1 character at least")
		case one.Timestamp < last:
			return faultf(invalidParameter, "Log events in a single PutLogEvents request must be in chronological order.")
		}
		last = one.Timestamp
	}
	switch {
	case size > maxEventBytes:
		return faultf(invalidParameter, "Upload too large: %d bytes exceeds limit of %d", size, maxEventBytes)
	case last-first > maxSpan.Milliseconds():
		return faultf(invalidParameter, "The batch of log events in a single PutLogEvents request cannot span more than 24 hours.")
	}
	return nil
}
