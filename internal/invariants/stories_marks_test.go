package invariants_test

import (
	"strings"
	"time"

	"custody/internal/inbox"
	"custody/internal/invariants"
)

// tagging: of three keys one has an older version that a tag keeps, one a current version, and one a tag that was lifted.
func tagging() scenario {
	return scenario{
		before: func(w *invariants.World) {
			put(w, pod("a"), pod("a"), pod("b"), pod("b"), pod("c"))
			w.Tag(pod("a"), 1, "case 12")
			w.Tag(pod("b"), 2, "true")
			w.Tag(pod("c"), 1, "false")
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{pod("a") + " 1", pod("a") + " 2", pod("b") + " 2"},
	}
}

// locking: the bucket has Object Lock, and two of its versions are protected.
func locking() scenario {
	return scenario{
		options: invariants.Options{Locks: true},
		before: func(w *invariants.World) {
			put(w, pod("a"), pod("b"), pod("c"))
			w.LockHold(pod("a"), 1, true)
			w.LockUntil(pod("b"), 1, time.Now().Add(90*24*time.Hour))
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{pod("a") + " 1", pod("b") + " 1"},
	}
}

// unwritable: the report bucket is gone, and then it is there and may not be written; nothing is deleted until it is mended.
func unwritable() scenario {
	kind := invariants.FaultNoBucket
	return scenario{
		before: func(w *invariants.World) { put(w, pod("a"), pod("b")) },
		fault: func(c invariants.Call) invariants.Fault {
			if c.Operation == "PutObject" {
				return invariants.Fault{Kind: kind}
			}
			return invariants.Fault{}
		},
		story: func(w *invariants.World, cutoff time.Time) {
			w.Push(delivery(cutoff))
			for _, next := range []invariants.FaultKind{invariants.FaultDenied, invariants.FaultNone} {
				w.Settle(time.Hour)
				w.Expect("r-1", "failed", "report_unwritable", pod("a")+" 1", pod("b")+" 1")
				w.Calm(func() { kind = next })
				w.Operate("r-1", inbox.Retry(), "")
			}
		},
		want: map[string]string{"r-1": "done"}, left: []string{},
	}
}

// reportThrottled: the report bucket asks the first worker for fewer requests, for longer than a slice waits.
func reportThrottled() scenario {
	throttled := 0
	return scenario{
		before: func(w *invariants.World) { put(w, pod("a")) },
		fault: func(c invariants.Call) invariants.Fault {
			if c.Operation == "PutObject" && throttled < 36 { // twelve tries of the batch, three attempts of the SDK each
				throttled++
				return invariants.Fault{Kind: invariants.FaultThrottled}
			}
			return invariants.Fault{}
		},
		story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
		want:  map[string]string{"r-1": "done"}, left: []string{},
	}
}

// unread: the tags of one version may not be read, so that nothing of its batch goes until somebody mends it.
func unread() scenario {
	mended := false
	return scenario{
		before: func(w *invariants.World) { put(w, pod("a"), pod("b")) },
		fault: func(c invariants.Call) invariants.Fault {
			if c.Operation == "GetObjectTagging" && strings.HasPrefix(c.About, pod("a")) && !mended {
				return invariants.Fault{Kind: invariants.FaultDenied}
			}
			return invariants.Fault{}
		},
		story: func(w *invariants.World, cutoff time.Time) {
			w.Push(delivery(cutoff))
			w.Settle(time.Hour)
			w.Expect("r-1", "failed", "access_denied", pod("a")+" 1", pod("b")+" 1")
			w.Calm(func() { mended = true })
			w.Operate("r-1", inbox.Retry(), "")
		},
		want: map[string]string{"r-1": "done"}, left: []string{},
	}
}
