package invariants

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"custody/internal/inbox"
)

// observer keeps its own books of everything that the engines were asked and did. The world's lock guards it.
type observer struct {
	world      *World
	terms      terms
	violations []string

	// Where the observer is in the inbox table's stream, which is the complete list of what was written to it.
	streamARN, shard, iterator, seen string
	iteratorMade                     time.Time

	keys       map[string]*keyBook
	runs       map[string]*runBook // by item key
	deliveries map[string]item     // by item key
	holds      map[string]map[string]Hold
	asked      map[string][]Delivery // what the producers sent, by run item
	slices     []Slice
	reports    map[string]*reportObject // by name
	wentBy     map[versionName]removal
}

// terms are what differs between the world and a real stack that is watched.
type terms struct {
	began     time.Time         // violations are told by the time since then
	wakeAfter time.Duration     // the sweepers' first pause between two wakes
	blur      time.Duration     // how coarsely it is known when a request was sent
	now       func() time.Time  // what S3 takes for the time of a version
	record    func(text []byte) // is handed each new record of the inbox table's stream
}

// runBook is what is known of a run: as it was claimed, as it stands, and what its present scan has seen.
type runBook struct {
	pk       string
	scope    string
	prefixes []string
	cutoff   time.Time
	item     item

	scan      int64       // the scan of the last place that was written; a scan that died unwritten never was
	scanFrom  time.Time   // when it began to list
	reads     []holdsRead // of the holds, by holders of the lease
	marks     marksBook   // of versions, by holders of the lease
	wakes     map[string]bool
	confirmed int64 // versions that S3 said are gone, asked for in the name of this run
}

// Slice is what one invocation of the cleanup function said about itself. It is for tests that want to know how a run went, not
// for the invariants.
type Slice struct {
	Process string
	inbox.SliceSummary
}

func newObserver(w *World) observer {
	return observer{
		world: w, keys: map[string]*keyBook{}, runs: map[string]*runBook{}, deliveries: map[string]item{},
		holds: map[string]map[string]Hold{}, asked: map[string][]Delivery{}, reports: map[string]*reportObject{},
		wentBy: map[versionName]removal{},
		terms: terms{
			began: time.Unix(epoch, 0), wakeAfter: 2 * time.Minute, now: time.Now, record: func(text []byte) { w.mapping.hand(text) },
		},
	}
}

func (o *observer) violate(format string, args ...any) {
	o.world.trace(format, args...)
	at := time.Since(o.terms.began).Round(time.Millisecond)
	o.violations = append(o.violations, fmt.Sprintf("%s: ", at)+fmt.Sprintf(format, args...))
}

func (w *World) violate(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observer.violate(format, args...)
}

func (w *World) note(p *process, done []inbox.SliceSummary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.isDead() {
		return
	}
	for _, s := range done {
		w.observer.slices = append(w.observer.slices, Slice{p.name, s})
	}
}

// underLease says whether the request was sent under the lease that is in the run's item now. One that was on its way for long may
// come from an earlier slice.
func underLease(x exchange, run *runBook) bool {
	token := run.item.text("lease_token")
	return token != "" && token == x.lease
}

// change is one write to the inbox table, as the stream shows it.
type change struct {
	event    string
	pk       string
	old, new item
}

// changes reads what was written since the last time, and hands it on.
func (o *observer) changes() []change {
	records, err := o.world.stream()
	if err != nil {
		o.violate("the stream cannot be read: %v", err)
		return nil
	}
	var out []change
	for _, text := range records {
		var r struct {
			EventName string `json:"eventName"`
			Change    struct {
				Keys, NewImage, OldImage item
				SequenceNumber           string
			} `json:"dynamodb"`
		}
		if err := json.Unmarshal(text, &r); err != nil {
			o.violate("a record cannot be read: %v", err)
		}
		o.seen = r.Change.SequenceNumber
		out = append(out, change{r.EventName, r.Change.Keys.text("pk"), r.Change.OldImage, r.Change.NewImage})
		o.terms.record(text)
		o.world.trace("  %s %s is %s, lease %q, wake %q, place %d/%d/%q", r.EventName, r.Change.Keys.text("pk"), r.Change.NewImage.text("state"),
			r.Change.NewImage.text("lease_token"), r.Change.NewImage.text("wake"), r.Change.NewImage["place"].M.number("scan"),
			r.Change.NewImage["place"].M.number("prefix"), r.Change.NewImage["place"].M.text("key"))
	}
	return out
}

// table sees a request to DynamoDB, and what it changed.
func (o *observer) table(x exchange, serve func() *answer) *answer {
	a := serve()
	switch x.call.Operation {
	case "Query":
		if a.ok() && x.fault.Kind == FaultNone && x.awaited() {
			o.readHolds(x)
		}
	case "UpdateItem", "TransactWriteItems", "PutItem", "DeleteItem":
		for _, c := range o.changes() {
			o.changed(x, c)
		}
	}
	return a
}

func (o *observer) changed(x exchange, c change) {
	who := x.process.function
	switch {
	case c.event == "REMOVE":
		o.violate("I6: %s removed %s", x.call, c.pk)
	case c.event == "INSERT" && who != Webhook:
		o.violate("I6: %s made the item %s", x.call, c.pk)
	case c.event == "INSERT" && strings.HasPrefix(c.pk, "run#"):
		o.claimed(x, c)
	case c.event == "INSERT":
		o.deliveries[c.pk] = c.new
	case who == Webhook || !strings.HasPrefix(c.pk, "run#"):
		o.violate("I6: %s wrote over %s", x.call, c.pk)
	default:
		o.moved(x, c)
	}
}

// claimed opens the book of a run. The stream tells an insert from a write over an item, so two inserts of one key cannot be.
func (o *observer) claimed(x exchange, c change) {
	sel := c.new["selection"].M
	run := &runBook{
		pk: c.pk, scope: c.new.text("scope"), prefixes: sel.texts("prefixes"),
		cutoff: time.UnixMilli(sel.number("cutoff")), item: c.new, wakes: map[string]bool{c.new.text("wake"): true},
		marks: marksBook{},
	}
	o.runs[c.pk] = run
	if !slices.ContainsFunc(o.asked[c.pk], func(d Delivery) bool { return d.names(run) }) {
		o.violate("I1: %s claimed %s with cutoff %s and scope %s, which nobody asked for", x.call, c.pk, run.cutoff, run.scope)
	}
}

func (o *observer) moved(x exchange, c change) {
	run := o.runs[c.pk]
	switch x.process.function {
	case Cleanup:
		o.workerWrote(x, run, c)
	case Sweeper:
		o.sweeperWrote(x, run, c)
	case Operator:
		o.operatorWrote(x, run, c)
	}
	if fixed := []string{"scope", "selection", "command_hash", "delivery_id", "received_at"}; !same(c.old, c.new, fixed...) {
		o.violate("%s changed what a claim fixes of %s", x.call, c.pk)
	}
	if wake := c.new.text("wake"); wake != "" && wake != c.old.text("wake") {
		if run.wakes[wake] {
			o.violate("%s gave %s the wake %q a second time: the record that carried it first would start a slice", x.call, c.pk, wake)
		}
		run.wakes[wake] = true
	}
	run.item = c.new
}

func same(a, b item, names ...string) bool {
	for _, name := range names {
		left, _ := json.Marshal(a[name])
		right, _ := json.Marshal(b[name])
		if string(left) != string(right) {
			return false
		}
	}
	return true
}
