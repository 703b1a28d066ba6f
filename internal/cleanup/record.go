package cleanup

import (
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/inbox"
)

// wakeRecord is what a slice needs of a stream record: which run, which wake, and the record's own identity. Nothing else is
// read from the image, since the item may have moved on; the scope never changes, and the mode must be known to acquire.
type wakeRecord struct {
	run      inbox.RunKey
	scope    string
	wake     string
	identity string
}

// errPoison is a record that no retry can make readable: it is logged, counted and dropped.
var errPoison = errors.New("not a wake of a run")

// readRecord reads the record without the events package's accessors, which panic on an attribute of another type.
func readRecord(r events.DynamoDBEventRecord) (wakeRecord, error) {
	if r.EventID == "" {
		return wakeRecord{}, fmt.Errorf("%w: the record has no eventID", errPoison)
	}
	pk, ok := stringAttribute(r.Change.Keys, "pk")
	if !ok {
		return wakeRecord{}, fmt.Errorf("%w: the record's key pk is missing or no string", errPoison)
	}
	key, ok := inbox.ParseItemKey(pk)
	if !ok {
		return wakeRecord{}, fmt.Errorf("%w: item key %q", errPoison, pk)
	}
	wake, ok := stringAttribute(r.Change.NewImage, string(inbox.AttrWake))
	if !ok || wake == "" {
		return wakeRecord{}, fmt.Errorf("%w: run %s carries no wake", errPoison, key)
	}
	scope, ok := stringAttribute(r.Change.NewImage, "scope")
	if !ok || scope == "" {
		return wakeRecord{}, fmt.Errorf("%w: run %s carries no scope", errPoison, key)
	}
	return wakeRecord{run: key, scope: scope, wake: wake, identity: r.EventID}, nil
}

func stringAttribute(m map[string]events.DynamoDBAttributeValue, name string) (string, bool) {
	v, there := m[name]
	if !there || v.DataType() != events.DataTypeString {
		return "", false
	}
	return v.String(), true
}
