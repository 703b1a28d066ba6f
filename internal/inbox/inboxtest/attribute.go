package inboxtest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"custody/internal/inbox"
)

// field points to the run's attribute; nil for a name that no run has.
func field(r *inbox.Run, a inbox.Attribute) any {
	switch a {
	case inbox.AttrState:
		return &r.State
	case inbox.AttrMode:
		return &r.Mode
	case inbox.AttrAttempts:
		return &r.Attempts
	case inbox.AttrSlices:
		return &r.Slices
	case inbox.AttrLastError:
		return &r.LastError
	case inbox.AttrCause:
		return &r.Cause
	case inbox.AttrOperation:
		return &r.Operation
	case inbox.AttrLeaseToken:
		return &r.LeaseToken
	case inbox.AttrLeaseExpiresAt:
		return &r.LeaseExpiresAt
	case inbox.AttrLeaseRecord:
		return &r.LeaseRecord
	case inbox.AttrWake:
		return &r.Wake
	case inbox.AttrWakeAt:
		return &r.WakeAt
	case inbox.AttrWakeCount:
		return &r.WakeCount
	case inbox.AttrNextAttemptAt:
		return &r.NextAttemptAt
	case inbox.AttrPlace:
		return &r.Place
	case inbox.AttrCounters:
		return &r.Counters
	case inbox.AttrStartedAt:
		return &r.StartedAt
	case inbox.AttrEndedAt:
		return &r.EndedAt
	case inbox.AttrOpen:
		return &r.Open
	case inbox.AttrOpenSince:
		return &r.OpenSince
	case inbox.AttrTTL:
		return &r.TTL
	}
	return nil
}

// present reports whether the attribute is there. The codec writes numbers that may be zero, the place and the counters
// always; of the rest, a zero value is an attribute that is not there.
func present(field any) bool {
	switch f := field.(type) {
	case *int, *inbox.Place, *inbox.Counters:
		return true
	case *int64:
		return *f != 0
	case *time.Time:
		return !f.IsZero()
	case **inbox.LastError:
		return *f != nil
	case **inbox.Operation:
		return *f != nil
	}
	s, _ := text(field)
	return s != ""
}

// set stores the value, as the table would give it back. A value of another type is a fault of the table of moves.
func set(field, v any) {
	switch f := field.(type) {
	case *time.Time:
		*f = stored(v.(time.Time))
	case *int:
		*f = v.(int)
	case *int64:
		*f = v.(int64)
	case *inbox.Place:
		*f = clonePlace(v.(inbox.Place))
	case *inbox.Counters:
		*f = v.(inbox.Counters)
	case **inbox.LastError:
		e := v.(inbox.LastError)
		e.At = stored(e.At)
		*f = &e
	case **inbox.Operation:
		o := v.(inbox.Operation)
		o.At = stored(o.At)
		*f = &o
	default:
		setText(field, v)
	}
}

func setText(field, v any) {
	s, ok := text(v)
	if !ok {
		panic(fmt.Sprintf("%T takes no %T", field, v))
	}
	switch f := field.(type) {
	case *string:
		*f = s
	case *inbox.State:
		*f = inbox.State(s)
	case *inbox.Mode:
		*f = inbox.Mode(s)
	}
}

func unset(field any) {
	switch f := field.(type) {
	case *int:
		*f = 0
	case *int64:
		*f = 0
	case *time.Time:
		*f = time.Time{}
	case **inbox.LastError:
		*f = nil
	case **inbox.Operation:
		*f = nil
	case *inbox.Place:
		*f = inbox.Place{}
	case *inbox.Counters:
		*f = inbox.Counters{}
	default:
		setText(field, "")
	}
}

func copyField(to, from any) {
	switch f := from.(type) {
	case **inbox.LastError:
		*to.(**inbox.LastError) = copyOf(*f)
	case *time.Time:
		*to.(*time.Time) = *f
	case *int:
		*to.(*int) = *f
	default:
		setText(to, from)
	}
}

// same compares two fields of one attribute, as DynamoDB does when it asks whether a write changed anything.
func same(a, b any) bool {
	switch a := a.(type) {
	case *time.Time:
		return a.Equal(*b.(*time.Time))
	case *int:
		return *a == *b.(*int)
	case *int64:
		return *a == *b.(*int64)
	case *inbox.Counters:
		return *a == *b.(*inbox.Counters)
	case *inbox.Place:
		return samePlace(*a, *b.(*inbox.Place))
	case **inbox.LastError:
		return sameValue(*a, *b.(**inbox.LastError))
	case **inbox.Operation:
		return sameValue(*a, *b.(**inbox.Operation))
	}
	x, _ := text(a)
	y, _ := text(b)
	return x == y
}

func samePlace(a, b inbox.Place) bool {
	return a.Scan == b.Scan && a.Prefix == b.Prefix && a.Key == b.Key && a.Deleted == b.Deleted && a.RefusedCount == b.RefusedCount &&
		maps.Equal(a.Retained, b.Retained) && slices.Equal(a.Refused, b.Refused)
}

func sameValue[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// text is the string of a field or value that DynamoDB keeps as one.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case inbox.State:
		return string(v), true
	case inbox.Mode:
		return string(v), true
	case *string:
		return *v, true
	case *inbox.State:
		return string(*v), true
	case *inbox.Mode:
		return string(*v), true
	}
	return "", false
}

// number is the number of a field or value that DynamoDB keeps as one: times are Unix milliseconds.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case time.Time:
		return v.UnixMilli(), true
	case *int:
		return int64(*v), true
	case *int64:
		return *v, true
	case *time.Time:
		return v.UnixMilli(), true
	}
	return 0, false
}
