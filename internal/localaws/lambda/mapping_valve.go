package lambda

import (
	"context"
	"sync"
)

// valve is whether a mapping is enabled. Its zero value is open.
type valve struct {
	mu     sync.Mutex
	opened chan struct{} // closed when it opens again; nil while it is open
}

func (v *valve) set(open bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case open && v.opened != nil:
		close(v.opened)
		v.opened = nil
	case !open && v.opened == nil:
		v.opened = make(chan struct{})
	}
}

func (v *valve) shut() bool { return v.opening() != nil }

func (v *valve) opening() chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.opened
}

// pass waits until the valve is open and is false when ctx ends before.
func (v *valve) pass(ctx context.Context) bool {
	for opened := v.opening(); opened != nil; opened = v.opening() {
		select {
		case <-opened:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
