package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Counts counts the requests of each operation, as a server sees them: what an SDK repeats counts as well. The zero value is ready.
type Counts struct {
	mu sync.Mutex
	by map[string]int
}

// Add counts one request.
func (c *Counts) Add(operation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.by[operation]++
}

// Take reads all and begins at zero again. Where nothing was counted it is an empty map.
func (c *Counts) Take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.by
	if c.by = nil; taken == nil {
		taken = map[string]int{}
	}
	return taken
}

// Behind counts each request and hands it on.
func (c *Counts) Behind(operation func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Add(operation(r))
		next.ServeHTTP(w, r)
	})
}

// s3Operation names a request of S3 by the API's word where the harness counts it, else by what tells it from others.
func s3Operation(r *http.Request) string {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	switch {
	case key == "" && r.Method == http.MethodGet && query.Has("versions"):
		return "ListObjectVersions"
	case key == "" && r.Method == http.MethodGet && query.Has("list-type"):
		return "ListObjectsV2"
	case key == "" && r.Method == http.MethodPost && query.Has("delete"):
		return "DeleteObjects"
	case key != "" && r.Method == http.MethodDelete && len(query) == 0, key != "" && r.Method == http.MethodDelete && query.Has("versionId"):
		return "DeleteObject"
	case key != "" && r.Method == http.MethodGet && query.Has("tagging"):
		return "GetObjectTagging"
	case key != "" && r.Method == http.MethodPut && !query.Has("tagging"):
		return "PutObject"
	}
	on := "service"
	if key != "" {
		on = "object"
	} else if bucket != "" {
		on = "bucket"
	}
	return strings.Join(append([]string{r.Method, on}, slices.Sorted(maps.Keys(query))...), " ")
}

// ItemsPrefix begins the name of each operation of DynamoDB among the counts.
const ItemsPrefix = "DynamoDB "

// itemsOperation is the name that the protocol itself carries.
func itemsOperation(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return ItemsPrefix + name
}
