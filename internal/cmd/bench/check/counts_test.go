package check_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"custody/internal/cmd/bench/server"
)

// counts are requests by operation, counted as the benchmarks' own server counts them.
type counts = server.Counts

func sum(by map[string]int) int {
	n := 0
	for _, count := range by {
		n += count
	}
	return n
}

// table lists counts for people, in the order of their names.
func table(by map[string]int) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		lines = append(lines, fmt.Sprintf("%s %d", name, by[name]))
	}
	return strings.Join(lines, ", ")
}

// dynamoDBOperation is the operation of a request to DynamoDB, and for a query the index or table that it reads.
func dynamoDBOperation(r *http.Request) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return operation
}

// s3Operation is the operation of a request to S3, by its name in the API reference. What a run has no business with stands
// there with method and query.
func s3Operation(r *http.Request) string {
	q, object := r.URL.Query(), strings.Count(strings.Trim(r.URL.Path, "/"), "/") > 0
	for _, known := range []struct {
		method, parameter string
		object            bool
		name              string
	}{
		{http.MethodGet, "versions", false, "ListObjectVersions"},
		{http.MethodPost, "delete", false, "DeleteObjects"},
		{http.MethodGet, "versioning", false, "GetBucketVersioning"},
		{http.MethodGet, "object-lock", false, "GetObjectLockConfiguration"},
		{http.MethodGet, "tagging", true, "GetObjectTagging"},
		{http.MethodDelete, "versionId", true, "DeleteObject"},
	} {
		if r.Method == known.method && object == known.object && q.Has(known.parameter) {
			return known.name
		}
	}
	if r.Method == http.MethodPut && object && len(q) <= 1 { // x-id=PutObject
		return "PutObject"
	}
	return r.Method + " " + r.URL.RawQuery
}
