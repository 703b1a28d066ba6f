package invariants_test

import (
	"fmt"
	"time"

	"custody/internal/cleanup"
	"custody/internal/inbox"
	"custody/internal/invariants"
)

// stories are the scenarios of the crash matrix. Buckets are small, and pages smaller, so that each page, batch, checkpoint and
// move is a handful of calls, and all of them can be tried.
func stories() map[string]func() scenario {
	return map[string]func() scenario{
		"claim":                              claimed,
		"claim of one that came before":      duplicated,
		"another id for a known run":         aliased,
		"slice with batches and currents":    func() scenario { return batches(1) },
		"four batches at once":               func() scenario { return batches(4) },
		"yield and resume":                   yielding,
		"verify and keep":                    keeping,
		"park and wake":                      parking,
		"the brake":                          braking,
		"versions that S3 wants sent again":  sentAgain,
		"fail at refused versions, retry":    refusing,
		"give up":                            givingUp,
		"a record that the stream lost":      lost,
		"a record that came twice":           twice,
		"two schedulers over one warehouse":  twoSchedulers,
		"writers overwrite under the slices": overwriting,
		"tags keep":                          tagging,
		"locks keep":                         locking,
		"a report that may not be written":   unwritable,
		"a report that has to wait":          reportThrottled,
		"tags that may not be read":          unread,
	}
}

func claimed() scenario {
	return scenario{
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{},
	}
}

// aMoment is less than any request takes: what begins that much later is on its way at the same time, and which of the two is the
// first is not left to the scheduler.
const aMoment = 100 * time.Microsecond

func duplicated() scenario {
	return scenario{
		story: func(w *invariants.World, cutoff time.Time) {
			w.Go(func() { w.Push(delivery(cutoff)) })
			w.Sleep(aMoment)
			w.Push(delivery(cutoff))
			w.Push(delivery(cutoff))
		},
		want: map[string]string{"r-1": "done"}, left: []string{},
	}
}

func aliased() scenario {
	return scenario{
		story: func(w *invariants.World, cutoff time.Time) {
			w.Push(delivery(cutoff))
			d := delivery(cutoff)
			d.ID = "d-2"
			w.Push(d)
			w.Push(d)
		},
		want: map[string]string{"r-1": "done"}, left: []string{},
	}
}

// many fills the bucket with n keys of two versions each, every third of them with a delete marker on top.
func many(w *invariants.World, n int) {
	for i := range n {
		k := pod(fmt.Sprintf("%02d", i))
		put(w, k, k)
		if i%3 == 0 {
			w.Remove(k)
		}
	}
}

// slowDeletes makes slices last long enough for checkpoints, which come once a second.
func slowDeletes(c invariants.Call) time.Duration {
	if c.Operation == "DeleteObjects" {
		return 700 * time.Millisecond
	}
	return 0
}

// slowListing makes each scan last long enough for checkpoints, also the one that finds nothing to delete.
func slowListing(c invariants.Call) time.Duration {
	if c.Operation == "ListObjectVersions" {
		return 600 * time.Millisecond
	}
	return 0
}

func batches(concurrency int) scenario {
	return scenario{
		options: invariants.Options{
			PageSize: 2, Latency: slowDeletes,
			Settings: func(s *cleanup.Settings) { s.DeleteConcurrency = concurrency },
		},
		before: func(w *invariants.World) {
			many(w, 9)
			put(w, "labels/"+warehouse+"/x", "labels/wh-1/x", "pod/wh-171/x")
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{"labels/wh-1/x 1", "pod/wh-171/x 1"},
	}
}

func yielding() scenario {
	s := batches(1)
	s.options.Settings = func(s *cleanup.Settings) { s.DeleteConcurrency, s.SliceBudget = 1, 2*time.Second }
	return s
}

func keeping() scenario {
	return scenario{
		options: invariants.Options{PageSize: 3, Latency: slowListing},
		before: func(w *invariants.World) {
			put(w, pod("a"), pod("held"), pod("held"), pod("pre/1"), pod("young"))
			w.Remove(pod("held"))
			w.Sleep(age / 2)
			put(w, pod("young"))
			w.Place(invariants.Hold{Scope: scope, ID: "dispute-991", Key: pod("held"), Reason: "dispute_evidence"})
			w.Place(invariants.Hold{Scope: "*", ID: "manifest", Prefix: pod("pre/"), Reason: "active_manifest"})
			w.Place(invariants.Hold{Scope: scope, ID: "over", Key: pod("a"), Reason: "legal_hold", ExpiresAt: time.Now()})
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"},
		left:  []string{pod("held") + " 1", pod("held") + " 2", pod("held") + " 3", pod("pre/1") + " 1", pod("young") + " 2"},
	}
}

// parking meets an S3 that does not list for a while.
func parking() scenario {
	return scenario{
		before: func(w *invariants.World) { put(w, pod("a"), pod("a")) },
		fault: func(c invariants.Call) invariants.Fault {
			if c.Process == "cleanup-1" && c.Operation == "ListObjectVersions" && c.N == 2 {
				return invariants.Fault{Kind: invariants.FaultServerError}
			}
			return invariants.Fault{}
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{},
	}
}

func braking() scenario {
	return scenario{
		before: func(w *invariants.World) { put(w, pod("a"), pod("a")) },
		story: func(w *invariants.World, cutoff time.Time) {
			w.Place(invariants.Hold{Scope: scope, ID: "stop", Reason: "stop"})
			w.Push(delivery(cutoff))
			w.Sleep(time.Minute)
			w.Lift(scope, "stop")
		},
		want: map[string]string{"r-1": "done"}, left: []string{},
	}
}

// sentAgain: S3 asks twice to send a version again.
func sentAgain() scenario {
	asked := 0
	return scenario{
		options: invariants.Options{Refuse: func(key string, n int) string {
			if key == pod("b") && n == 1 && asked < 2 {
				asked++
				return "SlowDown"
			}
			return ""
		}},
		before: func(w *invariants.World) { put(w, pod("a"), pod("b"), pod("b")) },
		story:  func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:   map[string]string{"r-1": "done"}, left: []string{},
	}
}

// refusing: S3 refuses one version and is silent about another; later an operator mends it and retries.
func refusing() scenario {
	mended := false
	return scenario{
		options: invariants.Options{Refuse: func(key string, n int) string {
			switch {
			case mended:
			case key == pod("b") && n == 1:
				return "AccessDenied"
			case key == pod("c"):
				return invariants.Unmentioned
			}
			return ""
		}},
		before: func(w *invariants.World) { put(w, pod("a"), pod("b"), pod("b"), pod("c")) },
		story: func(w *invariants.World, cutoff time.Time) {
			w.Push(delivery(cutoff))
			w.Settle(time.Hour)
			w.Expect("r-1", "failed", "versions_refused", pod("b")+" 1", pod("b")+" 2", pod("c")+" 1")
			mended = true
			w.Operate("r-1", inbox.Retry(), "")
		},
		want: map[string]string{"r-1": "done"}, left: []string{},
	}
}

func givingUp() scenario {
	return scenario{
		options: invariants.Options{Settings: func(s *cleanup.Settings) { s.AttemptCeiling = 2 }},
		before:  func(w *invariants.World) { put(w, pod("a")) },
		fault: func(c invariants.Call) invariants.Fault {
			if c.Operation == "ListObjectVersions" {
				return invariants.Fault{Kind: invariants.FaultThrottled}
			}
			return invariants.Fault{}
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "failed"},
	}
}

func lost() scenario {
	return scenario{
		options: invariants.Options{Stream: func(n int) invariants.StreamFault { return invariants.StreamFault{Lose: n == 1} }},
		before:  func(w *invariants.World) { put(w, pod("a"), pod("a")) },
		story:   func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:    map[string]string{"r-1": "done"}, left: []string{},
	}
}

func twice() scenario {
	s := lost()
	s.options.Stream = func(int) invariants.StreamFault { return invariants.StreamFault{Again: true} }
	return s
}

func twoSchedulers() scenario {
	return scenario{
		before: func(w *invariants.World) { many(w, 3) },
		story: func(w *invariants.World, cutoff time.Time) {
			d := invariants.Delivery{ID: "d-2", Run: "r-2", Warehouse: warehouse, Cutoff: cutoff.Add(time.Hour)}
			w.Go(func() { w.Push(d) })
			w.Sleep(aMoment)
			w.Push(delivery(cutoff))
		},
		want: map[string]string{"r-1": "done", "r-2": "done"}, left: []string{},
	}
}

func overwriting() scenario {
	return scenario{
		options: invariants.Options{PageSize: 2, Latency: slowDeletes},
		before:  func(w *invariants.World) { many(w, 3) },
		story: func(w *invariants.World, cutoff time.Time) {
			w.Go(func() {
				for i := range 3 {
					w.Sleep(500 * time.Millisecond)
					w.Put(pod(fmt.Sprintf("%02d", i)))
					w.Remove(pod(fmt.Sprintf("%02d", 2-i)))
				}
			})
			w.Push(delivery(cutoff))
		},
		want: map[string]string{"r-1": "done"},
	}
}
