package cleanup_test

import (
	"fmt"
	"io"
	"net/http"
)

func (w *world) answer(f http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.onS3 = f
}

// before calls f before each request of the operation reaches the engine.
func (w *world) before(op string, f func()) {
	w.answer(func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) == op {
			f()
		}
		w.objects.ServeHTTP(rw, r)
	})
}

// once makes a function that acts the first time only.
func once(f func()) func() {
	done := false
	return func() {
		if !done {
			done = true
			f()
		}
	}
}

func (w *world) asked(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, r := range w.requests {
		if r == what {
			n++
		}
	}
	return n
}

// fail answers each request of the operation with a status and an S3 error code.
func fail(w *world, op string, status int, code string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if operation(r) != op {
			w.objects.ServeHTTP(rw, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		rw.WriteHeader(status)
		fmt.Fprintf(rw, "<Error><Code>%s</Code><Message>m</Message></Error>", code)
	}
}
