//go:build unix

package torture_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	"custody/internal/invariants"
)

// aims lets a kill wait for a request of a function: random moments alone would seldom meet one between the commit and the answer,
// and hardly ever a sweeper, which is idle nearly always.
type aims struct {
	mu   sync.Mutex
	aims map[aim]chan struct{}
}

type aim struct {
	function string
	served   bool // when the request was served, and its answer is on the way; else when it is on the way itself
}

func (a *aims) seen(c invariants.Call, served bool) {
	function, _, _ := strings.Cut(c.Process, "-")
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, waits := a.aims[aim{function, served}]; waits {
		close(at)
		delete(a.aims, aim{function, served})
	}
}

func (a *aims) at(next aim) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.aims == nil {
		a.aims = map[aim]chan struct{}{}
	}
	if a.aims[next] == nil {
		a.aims[next] = make(chan struct{})
	}
	return a.aims[next]
}

const (
	leastPause, mostPause = 100 * time.Millisecond, 900 * time.Millisecond // between two kills
	aimTime               = 3 * time.Second                                // a sweep comes every two seconds
)

// kill kills processes with SIGKILL until there were enough kills.
func (x *torture) kill(ctx context.Context) {
	r := x.random(2)
	longest, outages := mostPause, []int{x.kills / 3, 2 * x.kills / 3}
	if x.kills < longTorture {
		longest, outages = mostPause/2, nil
	}
	for said := 0; total(x.killed) < x.kills; {
		if len(outages) > 0 && total(x.killed) >= outages[0] {
			outages = outages[1:]
			x.outage(ctx)
		}
		if !pause(ctx, between(r, leastPause, longest)) {
			return
		}
		function := victim(r)
		if r.IntN(3) > 0 {
			x.take(ctx, aim{function, r.IntN(2) == 0})
		}
		switch pids := x.stack.Function(function).Processes(); {
		case len(pids) == 0:
		case function == invariants.Webhook && r.IntN(5) == 0:
			for _, pid := range pids { // the webhook is stopped altogether; the next delivery starts it again
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			x.count(x.killed, "webhook, all of it")
		case syscall.Kill(pids[r.IntN(len(pids))], syscall.SIGKILL) == nil:
			x.count(x.killed, function)
		}
		if step := max(x.kills/8, 1); total(x.killed)/step > said {
			said = total(x.killed) / step
			c := x.watch.Counts()
			x.say("%d kills; %d runs open, %s; %d versions deleted", total(x.killed), len(x.watch.Open()), words(x.watch.Runs()), c.Gone)
		}
	}
}

const (
	longTorture = 100             // kills from which on there are outages too
	outageTime  = 5 * time.Second // longer than the mapping's five retries of a record, with their pauses of 3.1 s
)

// outage kills every process of the cleanup function as soon as it lives, until records go to the dead letters. Nothing but the
// sweeper can heal their runs then. These kills are counted by themselves.
func (x *torture) outage(ctx context.Context) {
	x.outages++
	for end := time.Now().Add(outageTime); time.Now().Before(end) && pause(ctx, 20*time.Millisecond); {
		for _, pid := range x.stack.Function(invariants.Cleanup).Processes() {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				x.outageKills++
			}
		}
	}
}

// take waits for the moment.
func (x *torture) take(ctx context.Context, a aim) {
	timer := time.NewTimer(aimTime)
	defer timer.Stop()
	select {
	case <-x.aims.at(a):
	case <-timer.C:
	case <-ctx.Done():
	}
}

func victim(r *rand.Rand) string {
	switch n := r.IntN(20); {
	case n < 11:
		return invariants.Cleanup
	case n < 17:
		return invariants.Webhook
	}
	return invariants.Sweeper
}

// freeze stops processes and lets them go on: a webhook in the middle of its deliveries, and a slice for longer than its lease,
// so that it wakes up when another may have its run.
func (x *torture) freeze(ctx context.Context) {
	r := x.random(3)
	var frozen sync.WaitGroup
	defer frozen.Wait()
	for pause(ctx, between(r, 2*time.Second, 4*time.Second)) {
		function, length := invariants.Webhook, between(r, 200*time.Millisecond, 2*time.Second)
		if r.IntN(2) == 0 {
			function, length = invariants.Cleanup, leaseDuration+between(r, time.Second, 3*time.Second)
		}
		x.take(ctx, aim{function, true})
		pids := x.stack.Function(function).Processes()
		if len(pids) == 0 {
			continue
		}
		pid := pids[r.IntN(len(pids))]
		if syscall.Kill(pid, syscall.SIGSTOP) != nil {
			continue
		}
		x.count(x.frozen, function)
		frozen.Go(func() {
			pause(ctx, length)
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed meanwhile
		})
	}
}
