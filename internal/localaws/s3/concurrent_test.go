package s3_test

import (
	"net/http"
	"testing"

	"custody/internal/localaws/s3"

	"golang.org/x/sync/errgroup"
)

// Readers and writers of everything that can change, at once: for the race detector.
func TestReadersAndWritersAtOnce(t *testing.T) {
	t.Parallel()
	e := local(t, s3.Options{})
	const tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tagging>"
	var g errgroup.Group
	for _, r := range []struct{ method, target, body string }{
		{http.MethodPut, "/bucket/k", "x"}, {http.MethodDelete, "/bucket/k", ""}, {http.MethodDelete, "/bucket/k?versionId=null", ""},
		{http.MethodGet, "/bucket?versions", ""}, {http.MethodGet, "/bucket?list-type=2", ""}, {http.MethodGet, "/bucket/k", ""},
		{http.MethodPut, "/bucket/k?tagging", tags}, {http.MethodGet, "/bucket/k?tagging", ""}, {http.MethodDelete, "/bucket/k?tagging", ""},
		{http.MethodPut, "/bucket?versioning", "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"},
		{http.MethodGet, "/bucket?versioning", ""}, {http.MethodGet, "/", ""}, {http.MethodPut, "/other", ""}, {http.MethodDelete, "/other", ""},
	} {
		g.Go(func() error {
			for range 100 {
				if out := send(t, e, r.method, r.target, r.body); out.status >= http.StatusInternalServerError {
					t.Errorf("%s %s: %d %s", r.method, r.target, out.status, out.body)
				}
			}
			return nil
		})
	}
	must(t, "requests", g.Wait())
}
