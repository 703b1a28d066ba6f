package s3_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"custody/internal/localaws/s3"
)

// filled is an engine with n versions over n/perKey keys; it returns the ids in the order of writing.
func filled(b *testing.B, n, perKey int) (*s3.Engine, []item) {
	b.Helper()
	e := local(b, s3.Options{})
	items := make([]item, n)
	for i := range items {
		key := fmt.Sprintf("pod/wh-17/%07d", i%(n/perKey))
		put := send(b, e, http.MethodPut, "/bucket/"+key, "x")
		items[i] = item{Key: key, ID: put.header.Get("X-Amz-Version-Id")}
	}
	return e, items
}

func BenchmarkListPageOf1000(b *testing.B) {
	for _, perKey := range []int{1, 10, 100_000} {
		b.Run(fmt.Sprintf("100000 versions, %d a key", perKey), func(b *testing.B) {
			e, items := filled(b, 100_000, perKey)
			at := items[len(items)/2]
			target := "/bucket?versions&encoding-type=url&key-marker=" + at.Key + "&version-id-marker=" + at.ID
			for b.Loop() {
				if out := send(b, e, http.MethodGet, target, ""); out.status != http.StatusOK {
					b.Fatalf("%+v", out)
				}
			}
		})
	}
}

func BenchmarkDeleteObjectsOf1000(b *testing.B) {
	for _, perKey := range []int{1, 100_000} {
		b.Run(fmt.Sprintf("100000 versions, %d a key", perKey), func(b *testing.B) {
			var e *s3.Engine
			var left []item
			for b.Loop() {
				if len(left) < 1000 {
					b.StopTimer()
					e, left = filled(b, 100_000, perKey)
					b.StartTimer()
				}
				body, digest := batchOf(b, left[:1000])
				left = left[1000:]
				if out := send(b, e, http.MethodPost, "/bucket?delete", body, "Content-Md5: "+digest); strings.Contains(out.body, "<Error>") {
					b.Fatalf("%+v", out)
				}
			}
		})
	}
}

// batchOf is a DeleteObjects body and its Content-MD5.
func batchOf(t testing.TB, items []item) (body, digest string) {
	t.Helper()
	type object struct{ Key, VersionId string }
	in := struct {
		XMLName xml.Name `xml:"Delete"`
		Object  []object
	}{}
	for _, v := range items {
		in.Object = append(in.Object, object{v.Key, v.ID})
	}
	raw, err := xml.Marshal(in)
	must(t, "marshal", err)
	sum := md5.Sum(raw)
	return string(raw), base64.StdEncoding.EncodeToString(sum[:])
}
