package main

import (
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"custody/internal/operator"
)

// counting shows on a terminal how much has been read and how fast, while the answer is not there yet. Of what is still to come
// nobody knows how much it is. A nil counting shows nothing.
type counting struct {
	progress
	what  string // in the plural
	n     atomic.Int64
	began time.Time
	once  sync.Once
	stop  chan struct{}
	ended chan struct{}
}

// countedEvery is how often the line is drawn. What is over before the first time never shows one.
const countedEvery = 200 * time.Millisecond

// newCounting counts on out, which is stderr: what goes to stdout is the answer and nothing else.
func newCounting(out io.Writer, what string) *counting {
	c := &counting{progress: *newProgress(out, 0), what: what, began: time.Now(), stop: make(chan struct{}), ended: make(chan struct{})}
	if !c.terminal {
		return nil
	}
	go c.run()
	return c
}

// toFile reports whether what is written goes to a file: lines that come while something is counted would else meet the count on the
// terminal, as those of a pipe may, too, where its other end writes there.
func toFile(w io.Writer) bool {
	f, isFile := w.(*os.File)
	if !isFile {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

func (c *counting) add(n int) {
	if c != nil {
		c.n.Add(int64(n))
	}
}

// clear ends it and takes the line away. It may be called again.
func (c *counting) clear() {
	if c == nil {
		return
	}
	c.once.Do(func() { close(c.stop) })
	<-c.ended
}

func (c *counting) run() {
	defer close(c.ended)
	tick := time.NewTicker(countedEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			if c.ticks > 0 {
				c.progress.clear()
			}
			return
		case now := <-tick.C:
			c.draw(now)
		}
	}
}

func (c *counting) draw(now time.Time) {
	c.ticks++
	n := c.n.Load()
	text := fitted([]string{short(n) + " " + c.what, speed(float64(n) / now.Sub(c.began).Seconds())}, c.width()-4) // a sign that turns, and spaces
	fmt.Fprint(c.out, "\r"+c.rendered(operator.Reading{}, text, 0)+clearRight)
}

// each is the sequence, counted.
func each[K, V any](c *counting, all iter.Seq2[K, V]) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for k, v := range all {
			c.add(1)
			if !yield(k, v) {
				return
			}
		}
	}
}
