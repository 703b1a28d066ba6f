//go:build unix

package torture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"custody/internal/invariants"
)

const (
	producers = 8
	mostOpen  = 15             // runs; a producer waits while there are more
	keys      = 750            // of a warehouse; with their versions more than a page's thousand entries under one of its prefixes
	age       = 48 * time.Hour // of the versions that a warehouse opens with
	lag       = 2 * time.Second
)

// produce sends deliveries until the load ends, and each of them until it is answered for good.
func (x *torture) produce(loading, ctx context.Context, producer int) {
	r := x.random(100 + uint64(producer)) //nolint:gosec // a small number
	for n := 0; pause(loading, between(r, 50*time.Millisecond, 400*time.Millisecond)); n++ {
		if len(x.watch.Open()) > mostOpen {
			continue
		}
		d := invariants.Delivery{
			ID: fmt.Sprintf("d-%d-%d", producer, n), Run: fmt.Sprintf("r-%d-%d", producer, n), Warehouse: x.someWarehouse(r),
			Cutoff: time.Now().Add(-lag).Truncate(time.Second), // close behind the writers
		}
		if r.IntN(3) > 0 {
			d.Cutoff = d.Cutoff.Add(-age / 2)
		}
		switch r.IntN(10) {
		case 0, 1: // copies at once
			var copies sync.WaitGroup
			for range 3 {
				copies.Go(func() { x.push(ctx, rand.New(rand.NewPCG(x.seed, rand.Uint64())), d, http.StatusNoContent) })
			}
			copies.Wait()
		case 2, 3: // the same command under another delivery id
			alias := d
			alias.ID, alias.Note = d.ID+"-again", "another body"
			x.push(ctx, r, d, http.StatusNoContent)
			x.push(ctx, r, alias, http.StatusNoContent)
		case 4: // other commands under a delivery id and a run id that are taken
			x.push(ctx, r, d, http.StatusNoContent)
			other, same := d, d
			other.Run, same.ID = d.Run+"-other", d.ID+"-other"
			same.Cutoff = d.Cutoff.Add(-time.Minute)
			x.push(ctx, r, other, http.StatusConflict)
			x.push(ctx, r, same, http.StatusConflict)
		default:
			x.push(ctx, r, d, http.StatusNoContent)
		}
	}
}

// push repeats the delivery on everything but a success or a refusal, which must be the one that is wanted.
func (x *torture) push(ctx context.Context, r *rand.Rand, d invariants.Delivery, want int) {
	for ctx.Err() == nil {
		status, err := x.watch.Send(ctx, x.stack.URL(), d)
		if err != nil {
			x.count(x.answers, "no connection")
		} else {
			x.count(x.answers, fmt.Sprint(status))
		}
		if err == nil && status != http.StatusTooManyRequests && status < http.StatusInternalServerError {
			if status != want {
				x.t.Errorf("delivery %s of run %s was answered %d, want %d", d.ID, d.Run, status, want)
			}
			if status == http.StatusNoContent {
				x.mu.Lock()
				x.acked = append(x.acked, d)
				x.mu.Unlock()
			}
			return
		}
		pause(ctx, between(r, 50*time.Millisecond, 300*time.Millisecond))
	}
}

func (x *torture) someWarehouse(r *rand.Rand) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	// The newer ones more often: there is more to do.
	last := len(x.warehouses) - 1
	return x.warehouses[last-min(last, int(r.ExpFloat64()*2))]
}

// openWarehouses opens another one every few seconds.
func (x *torture) openWarehouses(ctx context.Context) {
	r := x.random(1)
	for pause(ctx, 2500*time.Millisecond) {
		x.openWarehouse(r)
	}
}

// openWarehouse fills a warehouse with old versions, and then names it: old versions never appear under a run that is at work.
func (x *torture) openWarehouse(r *rand.Rand) {
	name := fmt.Sprintf("wh-%d", len(x.warehouses))
	scope := "warehouse:" + name
	for i := range keys {
		key := keyOf(name, i)
		for range 1 + r.IntN(3) {
			if n := x.watch.Put(key, age); r.IntN(50) == 0 {
				x.watch.Tag(key, n, "case 12")
			}
		}
		if r.IntN(6) == 0 {
			x.watch.Remove(key, age)
		}
	}
	x.watch.Place(invariants.Hold{Scope: scope, ID: "case", Key: keyOf(name, r.IntN(keys)), Reason: "legal_hold"})
	x.watch.Place(invariants.Hold{Scope: scope, ID: "dispute", Prefix: "pod/" + name + "/001", Reason: "dispute_evidence"})
	if r.IntN(4) == 0 { // for a while nothing of it may go
		x.watch.Place(invariants.Hold{Scope: scope, ID: "manifest", Prefix: "pod/" + name + "/", Reason: "active_manifest",
			ExpiresAt: time.Now().Add(between(r, 2*time.Second, 8*time.Second))})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.warehouses = append(x.warehouses, name)
}

// keyOf is one of the keys of a warehouse.
func keyOf(warehouse string, i int) string {
	if i%3 == 0 {
		return fmt.Sprintf("labels/%s/%04d", warehouse, i)
	}
	return fmt.Sprintf("pod/%s/%04d", warehouse, i)
}

// overwrite lets writers put over keys, make new ones, and delete without a version id.
func (x *torture) overwrite(ctx context.Context) {
	r := x.random(4)
	for pause(ctx, between(r, 2*time.Millisecond, 12*time.Millisecond)) {
		key := keyOf(x.someWarehouse(r), r.IntN(keys+keys/10))
		if r.IntN(5) == 0 {
			x.watch.Remove(key, 0)
			continue
		}
		x.watch.Put(key, 0)
	}
}

// tagAndUntag sets and takes away the tag that keeps a version, while runs are at work.
func (x *torture) tagAndUntag(ctx context.Context) {
	r := x.random(6)
	for pause(ctx, between(r, 20*time.Millisecond, 100*time.Millisecond)) {
		values := []string{"case 12", "true", "false", ""}
		x.watch.Tag(keyOf(x.someWarehouse(r), r.IntN(keys)), 1+r.IntN(3), values[r.IntN(len(values))])
	}
}

// holdAndLift places holds while runs are at work, and lifts them again.
func (x *torture) holdAndLift(ctx context.Context) {
	r := x.random(5)
	for n := 0; pause(ctx, between(r, 100*time.Millisecond, 500*time.Millisecond)); n++ {
		name := x.someWarehouse(r)
		h := invariants.Hold{Scope: "warehouse:" + name, ID: fmt.Sprintf("h-%d", n), Reason: "dispute_evidence", Key: keyOf(name, r.IntN(keys))}
		if r.IntN(4) == 0 {
			h.Key, h.Prefix = "", fmt.Sprintf("pod/%s/%03d", name, r.IntN(75))
		}
		x.watch.Place(h)
		if pause(ctx, between(r, 100*time.Millisecond, time.Second)); r.IntN(3) > 0 {
			x.watch.Lift(h.Scope, h.ID)
		}
	}
}
