// Package s3 is a local S3 with versioning for development and tests: buckets, versions, delete
// markers, listing by markers, deletes by version id, tags and Object Lock, in memory, over the real
// protocol (path style). It owns everything it stores, imports nothing but the standard library, and
// is imported only by tests, by internal/localaws and by internal/cmd.
//
// It refuses what it does not implement with 501 NotImplemented and the name of the operation,
// parameter or header: an emulator that ignores what it does not know answers "yes" to questions it
// never understood. Known gaps: multipart uploads, copies, ListObjects version 1, ACLs and policies,
// persistence; of a signature only the access key id and the region are looked at.
package s3

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// defaultAccount is the account of an engine that was not told otherwise.
const defaultAccount = "000000000000"

// Options of an engine. The zero value is usable.
type Options struct {
	// Now is the clock for LastModified and for Object Lock; nil is time.Now. A test moves it back to
	// write old versions, so versions of a key are ordered by write and never by time. It is called
	// with the engine's lock held and must not call the engine.
	Now func() time.Time
	// Account is the 12 digits of the account that access key ids belong to, and the buckets that are made with them; empty is
	// 000000000000. An access key id of 12 digits is one of another account.
	Account string
	// AccessKey is the only access key id that is let in; empty lets in any. A request must carry one
	// in either case.
	AccessKey string
}

// Engine is one local S3. It is an http.Handler and must be the server's own handler or stand behind
// wrappers that leave the path alone: http.ServeMux redirects keys such as a//b and ../c away.
//
// Faults, delays and rate limits are wrappers around it, so that the engine itself stays exact.
type Engine struct {
	now       func() time.Time
	account   string
	accessKey string
	routes    []operation
	ids       minter
	requests  atomic.Uint64

	// mu guards what follows. Requests are parsed before it is taken and answers rendered after it is
	// released, so a reader holds it only for the walk over one page.
	mu      sync.RWMutex
	written uint64 // sequence number of the last version written, over all buckets
	buckets map[string]*bucket
}

// New is an engine without buckets.
func New(o Options) *Engine {
	e := &Engine{
		now: o.Now, account: o.Account, accessKey: o.AccessKey,
		routes: operations(), ids: newMinter(), buckets: map[string]*bucket{},
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.account == "" {
		e.account = defaultAccount
	}
	return e
}

// reply is what an operation answers; a zero status is 200.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ServeHTTP answers one request. Every answer carries x-amz-request-id, also a refusal.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	acknowledgeEmptyBody(w, r)
	id := fmt.Sprintf("%016X", e.requests.Add(1))
	w.Header().Set("X-Amz-Request-Id", id)
	w.Header().Set("X-Amz-Id-2", "local/"+id)
	w.Header().Set("Server", "AmazonS3")
	answer, err := e.serve(r)
	if err != nil {
		answer = refusal(err, r.URL.EscapedPath(), id)
	}
	write(w, r.Method, answer)
}

// serve finds the operation, checks what came with it, and runs it.
func (e *Engine) serve(r *http.Request) (reply, error) {
	c, err := e.newCall(r)
	if err != nil {
		return reply{}, err
	}
	return c.op.run(e, c)
}

func write(w http.ResponseWriter, method string, a reply) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if w.Header().Get("Content-Length") == "" && a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if method != http.MethodHead {
		_, _ = w.Write(a.body) // the client hung up; there is nobody left to tell
	}
}

// acknowledgeEmptyBody sends the 100 Continue that net/http leaves out for an empty body. botocore
// asks for it on every PUT and otherwise waits a second and takes the final answer for a refusal.
// Without a server in front there is no connection to send it on.
func acknowledgeEmptyBody(w http.ResponseWriter, r *http.Request) {
	served := r.Context().Value(http.ServerContextKey) != nil
	if served && r.ContentLength == 0 && r.Header.Get("Expect") == "100-continue" {
		w.WriteHeader(http.StatusContinue)
	}
}

// view runs f on the call's bucket with the engine locked for reading.
func (e *Engine) view(c *call, f func(*bucket) error) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.within(c, f)
}

// change runs f on the call's bucket with the engine locked for writing.
func (e *Engine) change(c *call, f func(*bucket) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.within(c, f)
}

// within is the only way from a request to a bucket, so that no operation can forget the owner check.
func (e *Engine) within(c *call, f func(*bucket) error) error {
	b := e.buckets[c.bucket]
	if b == nil {
		return noSuchBucket(c.bucket)
	}
	if err := b.checkOwner(c); err != nil {
		return err
	}
	if err := b.checkRegion(c); err != nil {
		return err
	}
	return f(b)
}

// refusal turns an error into S3's error document. An error that is not S3's own is a defect of the
// engine and says so.
func refusal(err error, resource, requestID string) reply {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = fail(http.StatusInternalServerError, "InternalError", err.Error())
	}
	return f.reply(resource, requestID)
}
