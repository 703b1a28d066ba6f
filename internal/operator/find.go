package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"custody/internal/inbox"
)

// Found is a run and how it was found.
type Found struct {
	Run inbox.Run
	// Delivery is the one whose id was asked for; nil for a run that was asked for by its key.
	Delivery *inbox.Delivery
}

// NotFoundError is something that does not exist. It says where it was looked for.
type NotFoundError struct {
	What     string // "run r-9"
	LookedUp []string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no %s: looked up %s", e.What, strings.Join(e.LookedUp, ", "))
}

// NoRunError is a delivery whose command starts no run: its whole effect was on a reservation, with the claim.
type NoRunError struct{ Delivery inbox.Delivery }

func (e *NoRunError) Error() string {
	d := e.Delivery
	return fmt.Sprintf("delivery %s started no run: it is a %s of reservation %s, received %s, outcome %s",
		d.ID, d.CommandType, d.ReservationID, d.ReceivedAt.UTC().Format(time.RFC3339), d.Outcome)
}

// AmbiguousError is a name that stands for several runs.
type AmbiguousError struct {
	Name string
	Runs []inbox.RunKey
}

func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Runs))
	for i, key := range e.Runs {
		names[i] = key.String()
	}
	return fmt.Sprintf("%s stands for several runs; name one of %s", e.Name, strings.Join(names, ", "))
}

// Find reads the run that the name stands for: "cleanup.run/r-1", a run key under any known command type, or a delivery id.
// Each is one read by key; nothing is searched. A name that stands for several runs is an error, since the next thing that
// is done with the answer may be a move.
func (o *Operator) Find(ctx context.Context, name string) (Found, error) {
	if err := checkName(name); err != nil {
		return Found{}, err
	}
	if typ, key, full := strings.Cut(name, "/"); full {
		return o.findNamed(ctx, inbox.RunKey{Type: typ, Key: key})
	}
	return o.findBare(ctx, name)
}

// maxName bounds a name: an item key has at most 2,048 bytes (DynamoDB's quotas).
const maxName = 1024

func checkName(name string) error {
	const allowed = "must be a run key such as r-1, with its command type in front as in cleanup.run/r-1, or a delivery id"
	typ, key, full := strings.Cut(name, "/")
	switch {
	case name == "":
		return invalid("RUN", "is empty, it "+allowed)
	case len(name) > maxName || strings.ContainsRune(name, '#') || full && (typ == "" || key == "" || strings.Contains(key, "/")):
		return invalid("RUN", "is %q, it "+allowed, name)
	}
	return nil
}

func (o *Operator) findNamed(ctx context.Context, key inbox.RunKey) (Found, error) {
	run, err := o.Inbox.Run(ctx, key)
	switch {
	case err != nil:
		return Found{}, err
	case run == nil:
		return Found{}, &NotFoundError{What: "run " + key.String(), LookedUp: []string{"item " + key.ItemKey()}}
	}
	return Found{Run: *run}, nil
}

func (o *Operator) findBare(ctx context.Context, name string) (Found, error) {
	looked := &NotFoundError{What: fmt.Sprintf("run or delivery %q", name)}
	var hits []Found
	for _, typ := range o.Types {
		key := inbox.RunKey{Type: typ, Key: name}
		looked.LookedUp = append(looked.LookedUp, "item "+key.ItemKey())
		run, err := o.Inbox.Run(ctx, key)
		if err != nil {
			return Found{}, err
		}
		if run != nil {
			hits = append(hits, Found{Run: *run})
		}
	}
	hit, err := o.findDelivery(ctx, name, looked)
	if err != nil {
		return Found{}, err
	}
	if hit != nil {
		hits = append(hits, *hit)
	}
	return only(name, hits, looked)
}

// findDelivery reads the run that a delivery names. A run whose item is gone is nothing found, and said.
func (o *Operator) findDelivery(ctx context.Context, id string, looked *NotFoundError) (*Found, error) {
	d := inbox.Delivery{ID: id}
	looked.LookedUp = append(looked.LookedUp, "item "+d.ItemKey())
	delivery, err := o.Inbox.Delivery(ctx, id)
	if err != nil || delivery == nil {
		return nil, err
	}
	if delivery.RunKey == "" {
		return nil, &NoRunError{Delivery: *delivery}
	}
	key := inbox.RunKey{Type: delivery.CommandType, Key: delivery.RunKey}
	run, err := o.Inbox.Run(ctx, key)
	if err != nil {
		return nil, err
	}
	if run == nil {
		looked.LookedUp = append(looked.LookedUp, fmt.Sprintf("item %s, which that delivery names", key.ItemKey()))
		return nil, nil
	}
	return &Found{Run: *run, Delivery: delivery}, nil
}

// RunOf reads the run that a delivery started, or stands for, by the delivery's id alone.
func (o *Operator) RunOf(ctx context.Context, deliveryID string) (Found, error) {
	looked := &NotFoundError{What: fmt.Sprintf("delivery %q", deliveryID)}
	found, err := o.findDelivery(ctx, deliveryID, looked)
	if err == nil && found == nil {
		err = looked
	}
	if err != nil {
		return Found{}, err
	}
	return *found, nil
}

// Origin reads the delivery that started a run; nil where its item has expired.
func (o *Operator) Origin(ctx context.Context, run inbox.Run) (*inbox.Delivery, error) {
	return o.Inbox.Delivery(ctx, run.DeliveryID)
}

func only(name string, hits []Found, looked *NotFoundError) (Found, error) {
	if len(hits) == 0 {
		return Found{}, looked
	}
	ambiguous := &AmbiguousError{Name: name}
	for _, hit := range hits {
		if len(ambiguous.Runs) == 0 || ambiguous.Runs[len(ambiguous.Runs)-1] != hit.Run.RunKey() {
			ambiguous.Runs = append(ambiguous.Runs, hit.Run.RunKey())
		}
	}
	if len(ambiguous.Runs) > 1 {
		return Found{}, ambiguous
	}
	return hits[0], nil
}
