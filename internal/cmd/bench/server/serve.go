package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"custody/internal/localaws/dynamodb"
	"custody/internal/localaws/s3"
)

// Endpoints are where a server listens, as URLs without a slash at the end.
type Endpoints struct {
	S3       string `json:"s3"`
	DynamoDB string `json:"dynamodb"`
	Admin    string `json:"admin"`

	// The same without limits and uncounted, for the harness itself.
	DirectS3       string `json:"direct_s3"`
	DirectDynamoDB string `json:"direct_dynamodb"`
}

// age is how old everything is that the engine writes: older than any cutoff that a contender is given.
const age = 24 * time.Hour

// Serve runs a server, writes its endpoints to out as a line of JSON, and ends with the input: so it never outlives who started
// it.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	objects := s3.New(s3.Options{Now: func() time.Time { return time.Now().Add(-age) }})
	items := dynamodb.New(dynamodb.Options{})
	seen := &Counts{}
	limits := NewGate(seen.Add)
	var e Endpoints
	for _, part := range []struct {
		url     *string
		handler http.Handler
	}{
		{&e.S3, seen.Behind(s3Operation, limits.Delayed(limits.Paced(objects)))},
		{&e.DynamoDB, seen.Behind(itemsOperation, limits.Delayed(items))},
		{&e.DirectS3, objects},
		{&e.DirectDynamoDB, items},
		{&e.Admin, admin(objects, limits, seen)},
	} {
		url, err := listen(ctx, part.handler)
		if err != nil {
			return err
		}
		*part.url = url
	}
	if err := json.NewEncoder(out).Encode(e); err != nil {
		return fmt.Errorf("tell the endpoints: %w", err)
	}
	<-ctx.Done()
	return nil
}

// listen serves on a free port until ctx ends.
func listen(ctx context.Context, handler http.Handler) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() { _ = server.Serve(listener) }() // ends with ErrServerClosed
	return "http://" + listener.Addr().String(), nil
}

// admin is how the harness steers the server.
func admin(objects *s3.Engine, limits *Gate, seen *Counts) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stock", func(w http.ResponseWriter, r *http.Request) {
		var s Stock
		if !read(w, r, &s) {
			return
		}
		err := s.check()
		if err == nil {
			err = objects.Fill(s.Bucket, s.versions())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		// What the bucket before this one was made of is given back now, and not in the middle of a contender's run.
		debug.FreeOSMemory()
	})
	mux.HandleFunc("POST /limits", func(w http.ResponseWriter, r *http.Request) {
		var l Limits
		if read(w, r, &l) {
			limits.Set(l)
		}
	})
	mux.HandleFunc("POST /counts", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(seen.Take()) // the client hung up; there is nobody left to tell
	})
	return mux
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		http.Error(w, "read the request: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}
