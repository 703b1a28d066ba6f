package operator

import (
	"context"
	"fmt"
	"strings"

	"custody/internal/inbox"
	"custody/internal/report"
)

// Reported is a run whose report is asked for. Its item may be gone, as items of ended runs expire and reports stay.
type Reported struct {
	Key inbox.RunKey
	Run *inbox.Run // nil where there is no item, or none was looked for
	// Problem is why an item that may be there could not be read.
	Problem error
}

// IsFullName reports whether the name says a run's command type, so that its report is found without its item.
func IsFullName(name string) bool { return strings.Contains(name, "/") }

// FindReported finds the run that a name stands for, as Find does. A full name, TYPE/KEY, is enough: where its item is gone,
// cannot be read, or where there is no Inbox to look into, the report is found all the same.
func (o *Operator) FindReported(ctx context.Context, name string) (Reported, error) {
	if err := checkName(name); err != nil {
		return Reported{}, err
	}
	if !IsFullName(name) {
		return o.findBareReported(ctx, name)
	}
	typ, key, _ := strings.Cut(name, "/")
	r := Reported{Key: inbox.RunKey{Type: typ, Key: key}}
	if _, err := report.Prefix(typ, key); err != nil {
		return Reported{}, invalid("RUN", "is %q: %s", name, err)
	}
	if o.Inbox == nil {
		return r, nil
	}
	found, err := o.findNamed(ctx, r.Key)
	switch {
	case err == nil:
		r.Run = &found.Run
	case !isA[*NotFoundError](err):
		r.Problem = err
	}
	return r, context.Cause(ctx)
}

// findBareReported needs the item: nothing else says the command type.
func (o *Operator) findBareReported(ctx context.Context, name string) (Reported, error) {
	found, err := o.Find(ctx, name)
	if err == nil {
		return Reported{Key: found.Run.RunKey(), Run: &found.Run}, nil
	}
	if !isA[*NotFoundError](err) {
		return Reported{}, err
	}
	if d, readErr := o.Inbox.Delivery(ctx, name); readErr == nil && d != nil && d.RunKey != "" {
		return Reported{Key: inbox.RunKey{Type: d.CommandType, Key: d.RunKey}}, nil
	}
	return Reported{}, fmt.Errorf("%w; items of ended runs expire and reports stay: name it with its command type, as in %s/%s", err, o.Types[0], name)
}
