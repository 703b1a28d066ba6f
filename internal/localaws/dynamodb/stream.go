package dynamodb

import (
	"fmt"
	"slices"
	"time"
)

// streamSpecification is how a table asks for its stream.
type streamSpecification struct {
	StreamEnabled  bool   `json:"StreamEnabled"`
	StreamViewType string `json:"StreamViewType,omitempty"`
}

// stream is the change record of one table: one shard that is never trimmed.
type stream struct {
	arn     string
	label   string
	table   string
	keys    []keySchemaElement
	view    string
	shard   string
	created time.Time
	closed  bool // the table is gone; what was recorded stays readable
	records []record
}

// record is one change as GetRecords shows it.
type record struct {
	EventID      string       `json:"eventID"`
	EventName    string       `json:"eventName"`
	EventVersion string       `json:"eventVersion"`
	EventSource  string       `json:"eventSource"`
	Region       string       `json:"awsRegion"`
	Change       streamChange `json:"dynamodb"`
	UserIdentity *identity    `json:"userIdentity,omitempty"`
}

type streamChange struct {
	ApproximateCreationDateTime int64      `json:"ApproximateCreationDateTime"`
	Keys                        attributes `json:"Keys"`
	NewImage                    attributes `json:"NewImage,omitempty"`
	OldImage                    attributes `json:"OldImage,omitempty"`
	SequenceNumber              string     `json:"SequenceNumber"`
	SizeBytes                   int        `json:"SizeBytes"`
	StreamViewType              string     `json:"StreamViewType"`
}

// identity is who made a change, where that was not a client.
type identity struct {
	PrincipalID string `json:"PrincipalId"`
	Type        string `json:"Type"`
}

// addStream gives a new table its stream.
func (e *Engine) addStream(t *table, in *streamSpecification) error {
	if in == nil || !in.StreamEnabled {
		if in != nil && in.StreamViewType != "" {
			return badParameter("Table is being created with a stream disabled, UpdateViewType should not be specified")
		}
		return nil
	}
	views := []string{"NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"}
	if !slices.Contains(views, in.StreamViewType) {
		return notOneOf("streamSpecification.streamViewType", in.StreamViewType, views)
	}
	now := e.now().UTC()
	n := e.next()
	// A label is a time at AWS; the count keeps the labels of tables of one name apart under a clock that stands still.
	label := now.Format("2006-01-02T15:04:05") + fmt.Sprintf(".%03d", n)
	t.stream = &stream{
		arn:     t.arn() + "/stream/" + label,
		label:   label,
		table:   t.name,
		keys:    t.keys.wire(),
		view:    in.StreamViewType,
		shard:   fmt.Sprintf("shardId-%020d-%08x", now.UnixMilli(), n),
		created: now,
	}
	e.streams[t.stream.arn] = t.stream
	return nil
}

// record appends a change to its table's stream.
func (e *Engine) record(c change) {
	s := c.table.stream
	n := e.next()
	r := record{
		EventID:      fmt.Sprintf("%032x", n),
		EventName:    c.event(),
		EventVersion: "1.1",
		EventSource:  "aws:dynamodb",
		Region:       region,
		Change:       c.images(s.view),
		UserIdentity: c.author,
	}
	r.Change.ApproximateCreationDateTime = e.now().Unix()
	// Sequence numbers are 21 to 40 digits at AWS (API reference, StreamRecord); of one width they sort as text too.
	r.Change.SequenceNumber = fmt.Sprintf("1%023d", n)
	s.records = append(s.records, r)
}

func (c change) event() string {
	switch {
	case c.before == nil:
		return "INSERT"
	case c.after == nil:
		return "REMOVE"
	}
	return "MODIFY"
}

// images is the content of the record that the view type asks for.
func (c change) images(view string) streamChange {
	some := c.after
	if some == nil {
		some = c.before
	}
	out := streamChange{Keys: c.table.keys.of(some), StreamViewType: view}
	if view == "NEW_IMAGE" || view == "NEW_AND_OLD_IMAGES" {
		out.NewImage = c.after
	}
	if view == "OLD_IMAGE" || view == "NEW_AND_OLD_IMAGES" {
		out.OldImage = c.before
	}
	out.SizeBytes = out.Keys.size() + out.NewImage.size() + out.OldImage.size()
	return out
}
