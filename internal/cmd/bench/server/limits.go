package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits are what stands between a contender and the engines. The zero value is nothing.
type Limits struct {
	// Latency is added to each request of S3 and of DynamoDB, before it is worked.
	Latency time.Duration `json:"latency"`
	// DeletesPerSecond is how many versions may be deleted a second below one first folder of a bucket; 0 is any number. What
	// comes above it is refused as a whole with 503 SlowDown, as S3 refuses requests above a prefix's rate.
	DeletesPerSecond int `json:"deletes_per_second"`
}

// Burst is how many deletes the limit lets through at once after a rest: those of one second, since S3 states its rates for a
// second, and at least one request of a thousand, which would otherwise never pass a limit below it.
func (l Limits) Burst() int { return max(1000, l.DeletesPerSecond) }

// Gate applies the limits that hold now.
type Gate struct {
	count func(what string) // is told of each SlowDown

	mu      sync.Mutex
	limits  Limits
	buckets map[string]*allowance
}

// allowance is the token bucket of one prefix. It may go below zero by one request, so that a large one is not starved by small
// ones.
type allowance struct {
	left float64
	at   time.Time
}

// NewGate is a gate without limits.
func NewGate(count func(string)) *Gate { return &Gate{count: count, buckets: map[string]*allowance{}} }

// Set begins anew: each prefix has its whole burst.
func (g *Gate) Set(l Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits, g.buckets = l, map[string]*allowance{}
}

func (g *Gate) current() Limits {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limits
}

// Delayed adds the latency.
func (g *Gate) Delayed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(g.current().Latency)
		next.ServeHTTP(w, r)
	})
}

// Paced refuses deletes above the rate.
func (g *Gate) Paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.current().DeletesPerSecond == 0 {
			next.ServeHTTP(w, r)
			return
		}
		wanted, err := deletesOf(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if !g.allow(wanted) {
			g.count("SlowDown")
			slowDown(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allow takes what is wanted of each prefix from its allowance, or nothing of any.
func (g *Gate) allow(wanted map[string]int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, burst := time.Now(), float64(g.limits.Burst())
	for prefix := range wanted {
		a := g.buckets[prefix]
		if a == nil {
			a = &allowance{left: burst, at: now}
			g.buckets[prefix] = a
		}
		a.left = min(burst, a.left+now.Sub(a.at).Seconds()*float64(g.limits.DeletesPerSecond))
		a.at = now
	}
	for prefix, n := range wanted {
		if g.buckets[prefix].left < min(float64(n), burst) {
			return false
		}
	}
	for prefix, n := range wanted {
		g.buckets[prefix].left -= float64(n)
	}
	return true
}

// deletesOf counts the versions that a request is to delete, by bucket and first folder. It leaves the body to be read again.
func deletesOf(r *http.Request) (map[string]int, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch s3Operation(r) {
	case "DeleteObject":
		return map[string]int{bucket + "/" + firstFolder(key): 1}, nil
	case "DeleteObjects":
	default:
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	wanted := map[string]int{}
	for rest := body; ; {
		_, behind, found := bytes.Cut(rest, []byte("<Key>"))
		if !found {
			return wanted, nil
		}
		name, after, _ := bytes.Cut(behind, []byte("</Key>"))
		wanted[bucket+"/"+firstFolder(string(name))]++
		rest = after
	}
}

func firstFolder(key string) string {
	folder, _, _ := strings.Cut(key, "/")
	return folder
}

// slowDown is S3's answer above a prefix's rate (error responses, API reference).
func slowDown(w http.ResponseWriter) {
	const body = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, body) // the client hung up; there is nobody left to tell
}
