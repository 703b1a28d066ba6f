package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// counts counts the requests of each operation, as they arrive.
type counts struct {
	mu sync.Mutex
	by map[string]int64
}

func newCounts() *counts { return &counts{by: map[string]int64{}} }

func (c *counts) add(operation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[operation]++
}

// take reads all and begins at zero again.
func (c *counts) take() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.by
	c.by = map[string]int64{}
	return taken
}

func (c *counts) wrap(name func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.add(name(r))
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
