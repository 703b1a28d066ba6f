package invariants

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/inbox"
)

// Sleep lets time pass, or the world end.
func (w *World) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.ctx.Done():
	}
}

// Put lets a writer make a version of the key, and says which one that is, counted from 1.
func (w *World) Put(key string) int { return w.write(http.MethodPut, key) }

// Remove lets a writer delete the key without naming a version, which makes a delete marker.
func (w *World) Remove(key string) { w.write(http.MethodDelete, key) }

func (w *World) write(method, key string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.s3(method, Bucket, key, "", "x")
	if !a.ok() {
		w.observer.violate("a writer is refused: %s", a.body.String())
	}
	return w.observer.written(key, a.header.Get("X-Amz-Version-Id"), method == http.MethodDelete)
}

// Place writes a hold.
func (w *World) Place(h Hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	row := map[string]any{"scope": text(h.Scope), "hold_id": text(h.ID)}
	for name, v := range map[string]string{"key": h.Key, "prefix": h.Prefix, "reason": h.Reason} {
		if v != "" {
			row[name] = text(v)
		}
	}
	if !h.ExpiresAt.IsZero() {
		row["expires_at"] = map[string]string{"N": strconv.FormatInt(h.ExpiresAt.Unix(), 10)}
	}
	if err := w.db("DynamoDB_20120810.PutItem", map[string]any{"TableName": holdsTable, "Item": row}, &struct{}{}); err != nil {
		w.observer.violate("a hold cannot be written: %v", err)
	}
	if w.observer.holds[h.Scope] == nil {
		w.observer.holds[h.Scope] = map[string]Hold{}
	}
	w.observer.holds[h.Scope][h.ID] = h
}

// Lift takes a hold away.
func (w *World) Lift(scope, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := map[string]any{"scope": text(scope), "hold_id": text(id)}
	if err := w.db("DynamoDB_20120810.DeleteItem", map[string]any{"TableName": holdsTable, "Key": key}, &struct{}{}); err != nil {
		w.observer.violate("a hold cannot be lifted: %v", err)
	}
	delete(w.observer.holds[scope], id)
}

func text(s string) map[string]string { return map[string]string{"S": s} }

// Delivery is one push of a producer.
type Delivery struct {
	ID, Run, Warehouse string
	Cutoff             time.Time
	Note               string // an extra field: another body for the same command
}

func runItem(key string) string { return "run#cleanup.run#" + key }

func (d Delivery) runItem() string { return runItem(d.Run) }

func (d Delivery) body() string {
	extra := ""
	if d.Note != "" {
		extra = fmt.Sprintf(`,"note":%q`, d.Note)
	}
	return fmt.Sprintf(`{"run_id":%q,"warehouse_id":%q,"expired_before":%q%s}`, d.Run, d.Warehouse, d.Cutoff.UTC().Format(time.RFC3339), extra)
}

func (d Delivery) bodyHash() string {
	sum := sha256.Sum256([]byte(d.body()))
	return hex.EncodeToString(sum[:])
}

// names says whether the run is the one that the delivery asks for.
func (d Delivery) names(run *runBook) bool {
	return run.pk == d.runItem() && run.scope == "warehouse:"+d.Warehouse && run.cutoff.Equal(d.Cutoff.Truncate(time.Second))
}

// request signs the delivery anew and hands it to the function URL.
func (d Delivery) request() events.LambdaFunctionURLRequest {
	body, stamp := d.body(), strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(signingKey))
	mac.Write([]byte(stamp + "." + body))
	r := events.LambdaFunctionURLRequest{
		RawPath: "/", Body: body,
		Headers: map[string]string{
			"x-delivery-id": d.ID, "x-delivery-timestamp": stamp, "x-delivery-signature": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
		},
	}
	r.RequestContext.TimeEpoch = time.Now().UnixMilli()
	r.RequestContext.HTTP.Method = http.MethodPost
	return r
}

// badGateway is what a function URL answers for a function that died.
const badGateway = 502

// Send pushes the delivery once and returns the status.
func (w *World) Send(d Delivery) int {
	w.mu.Lock()
	w.observer.asked[d.runItem()] = append(w.observer.asked[d.runItem()], d)
	w.mu.Unlock()
	a, err := w.answerTo(d.request())
	if err != nil {
		return badGateway
	}
	if a.StatusCode == http.StatusNoContent {
		w.acknowledged(d)
	}
	return a.StatusCode
}

// Push sends the delivery until it is answered for good, as a producer does, and returns the last status.
func (w *World) Push(d Delivery) int {
	for {
		status := w.Send(d)
		if status < http.StatusInternalServerError || w.ctx.Err() != nil {
			return status
		}
		w.Sleep(5 * time.Second)
	}
}

// Go runs f, which stands for somebody outside of the product, beside everything else.
func (w *World) Go(f func()) { w.outside.Go(f) }

// Join waits for all that Go has begun.
func (w *World) Join() { w.outside.Wait() }

// Operate lets an operator make a move until the table answers; false when it was refused.
func (w *World) Operate(run string, m inbox.Move, reason string) bool {
	for w.ctx.Err() == nil {
		err, lost := invoke(w, Operator, task{}, time.Minute, 0, func(ctx context.Context, p *process) error {
			now := p.now()
			_, err := p.store().Move(ctx, inbox.RunKey{Type: "cleanup.run", Key: run}, m, inbox.Change{
				Now: now, NewWake: p.ids()(), TTL: now.Add(time.Hour).Unix(),
				Operation: inbox.Operation{Move: m.Name, By: "operator", Reason: reason, At: now},
			})
			return err
		})
		if lost == nil && err == nil {
			return true
		}
		if _, refused := errors.AsType[*inbox.Refused](err); refused {
			return false
		}
		w.Sleep(5 * time.Second)
	}
	return false
}

// schedule sweeps every minute. After a quarter of an hour it does so every ten minutes, which shows the same and takes less.
func (w *World) schedule() {
	for tick := 0; w.ctx.Err() == nil; tick++ {
		pause := time.Minute
		if tick > 15 {
			pause = 10 * time.Minute
		}
		w.Sleep(pause)
		w.mu.Lock()
		paused := w.paused
		w.mu.Unlock()
		if w.ctx.Err() == nil && !paused {
			w.sweep()
		}
	}
}

// Sweep lets the schedule's function run once more, beside the schedule.
func (w *World) Sweep() { w.sweep() }

// StopSweeping lets the schedule stand still, or go on.
func (w *World) StopSweeping(stop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = stop
}

// DeadLetters lists the stream records that were given up.
func (w *World) DeadLetters() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.mapping.dead...)
}

// Slices lists what the slices said about themselves.
func (w *World) Slices() []Slice {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Slice(nil), w.observer.slices...)
}
