package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"custody/internal/inbox"
)

// work watches the run, kills the cleanup function in the middle, and watches it go on.
func (s *story) work(ctx context.Context) error {
	s.say("4. Watch it delete, and kill -9 the cleanup function in the middle")
	bar := newProgress(s.out, s.goes())
	defer bar.clear()
	middle, err := s.until(ctx, runKey, "the middle of the run", func(run inbox.Run) bool {
		bar.show(run)
		return run.State != inbox.StateRunning && run.Slices > 0 || run.Counters.Deleted > s.goes()/4
	})
	if err != nil {
		return err
	}
	bar.clear()
	killed := s.stack.Function("cleanup").Processes()
	if err := kill(killed); err != nil {
		return err
	}
	if err := s.check(middle.State == inbox.StateRunning && len(killed) == 1,
		"killed process %v at %d deleted, behind key %s", killed, middle.Counters.Deleted, middle.Place.Key); err != nil {
		return err
	}
	again, err := s.until(ctx, runKey, "the second slice", func(run inbox.Run) bool { return run.Slices > 1 })
	if err != nil {
		return err
	}
	now := s.stack.Function("cleanup").Processes()
	if err := s.check(!slices.Equal(now, killed) && again.LeaseRecord == middle.LeaseRecord && again.Counters.Deleted >= middle.Counters.Deleted,
		"process %v took the dead one's lease over at once and goes on from its checkpoint", now); err != nil {
		return err
	}
	done, err := s.until(ctx, runKey, "the end of the run", func(run inbox.Run) bool {
		bar.show(run)
		return run.State == inbox.StateDone || run.State == inbox.StateFailed
	})
	if err != nil {
		return err
	}
	bar.clear()
	return s.check(done.State == inbox.StateDone && !done.Place.Deleted && done.Slices == 2,
		"the run is %s: scan %d found nothing more to delete", done.State, done.Place.Scan)
}

// kill is kill -9: the processes die between two instructions, as a host that loses its power.
func kill(pids []int) error {
	for _, pid := range pids {
		p, err := os.FindProcess(pid)
		if err != nil {
			return fmt.Errorf("find process %d: %w", pid, err)
		}
		if err := p.Kill(); err != nil {
			return fmt.Errorf("kill process %d: %w", pid, err)
		}
	}
	return nil
}
