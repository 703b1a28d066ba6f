package s3_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"custody/internal/localaws/s3"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// inProcess lets the SDK talk to a handler without a socket: a random history has thousands of calls.
type inProcess struct{ http.Handler }

func (h inProcess) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// randomBucket is one random history: a bucket and the model of it.
type randomBucket struct {
	*store
	model model
}

const walkBucket = "walk"

func walkKeys() []string {
	return []string{"o", "p/a", "p/a b", "p/a!", "p/a-b", "p/a.b", "p/a/b", "p/a/b/c", "p/B", "p/z+", "p/é", "p/%25", "p/日", "q/\x01", "q/x"}
}

func (h *randomBucket) put(t *rapid.T) {
	key := rapid.SampledFrom(walkKeys()).Draw(t, "key")
	out, err := h.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: aws.String(walkBucket), Key: &key})
	h.must(t, err)
	h.model.write(key, aws.ToString(out.VersionId), false)
}

func (h *randomBucket) mark(t *rapid.T) {
	key := rapid.SampledFrom(walkKeys()).Draw(t, "key")
	out, err := h.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: aws.String(walkBucket), Key: &key})
	h.must(t, err)
	if h.model.status == "" {
		h.model.remove(key, null)
		return
	}
	h.model.write(key, aws.ToString(out.VersionId), true)
}

func (h *randomBucket) setStatus(t *rapid.T) {
	h.model.status = rapid.SampledFrom([]string{"Enabled", "Enabled", "Suspended"}).Draw(t, "status")
	_, err := h.PutBucketVersioning(t.Context(), &sdk.PutBucketVersioningInput{Bucket: aws.String(walkBucket),
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatus(h.model.status)}})
	h.must(t, err)
}

// remove deletes some of the given items in one of the two ways.
func (h *randomBucket) remove(t *rapid.T, from []item) {
	for _, v := range from {
		if !rapid.Bool().Draw(t, "delete") {
			continue
		}
		// "q/\x01" cannot be said in XML; both ways otherwise.
		if v.Key == "q/\x01" || rapid.Bool().Draw(t, "alone") {
			_, err := h.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: aws.String(walkBucket), Key: &v.Key, VersionId: &v.ID})
			h.must(t, err)
		} else {
			out, err := h.DeleteObjects(t.Context(), &sdk.DeleteObjectsInput{Bucket: aws.String(walkBucket),
				Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: &v.Key, VersionId: &v.ID}}}})
			h.must(t, err)
			if len(out.Errors) != 0 || len(out.Deleted) != 1 {
				t.Fatalf("delete %v: %+v", v, out)
			}
		}
		h.model.remove(v.Key, v.ID)
	}
}

// removeAny deletes versions that are there and versions that are long gone.
func (h *randomBucket) removeAny(t *rapid.T) {
	if len(h.model.records) == 0 {
		return
	}
	h.remove(t, []item{rapid.SampledFrom(h.model.records).Draw(t, "version").item})
}

// look compares one page from anywhere.
func (h *randomBucket) look(t *rapid.T) {
	at := marker{}
	switch {
	case rapid.Bool().Draw(t, "behind a version") && len(h.model.records) > 0:
		r := rapid.SampledFrom(h.model.records).Draw(t, "marker")
		at = marker{r.Key, r.ID}
	case rapid.Bool().Draw(t, "behind a key"):
		at = marker{Key: rapid.SampledFrom(append(walkKeys(), "p", "p/", "p/a/", "z")).Draw(t, "key marker")}
	}
	h.compare(t, h.prefix(t), rapid.SampledFrom([]string{"", "/"}).Draw(t, "delimiter"), at, h.size(t))
}

func (h *randomBucket) prefix(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "p/", "p/a", "q"}).Draw(t, "prefix")
}

func (h *randomBucket) size(t *rapid.T) int { return rapid.IntRange(1, 7).Draw(t, "size") }

func (h *randomBucket) compare(t *rapid.T, prefixed, delimited string, at marker, size int) onePage {
	want := h.model.page(prefixed, delimited, at, size)
	out, err := h.page(t.Context(), ask(walkBucket, prefix(prefixed), delimiter(delimited), behind(at), most(size)))
	h.must(t, err)
	if diff := cmp.Diff(want, out, cmp.AllowUnexported(onePage{})); diff != "" {
		t.Fatalf("page of %d under %q by %q behind %q (-want +got):\n%s", size, prefixed, delimited, at, diff)
	}
	return out
}

// walk is what a cleanup does: list a page, delete some, write something, resume by the markers.
func (h *randomBucket) walk(t *rapid.T) {
	prefix, size, at := h.prefix(t), h.size(t), marker{}
	for {
		p := h.compare(t, prefix, "", at, size)
		h.remove(t, p.all())
		if rapid.Bool().Draw(t, "write meanwhile") {
			h.put(t)
		}
		if !p.truncated {
			return
		}
		at = p.next
	}
}

func (h *randomBucket) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func TestRandomHistoriesAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &randomBucket{store: &store{Client: newClient("http://local", "us-east-1", inProcess{s3.New(s3.Options{})})}}
		_, err := h.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: aws.String(walkBucket)})
		h.must(t, err)
		t.Repeat(map[string]func(*rapid.T){
			"put": h.put, "put again": h.put, "put once more": h.put, "mark": h.mark, "status": h.setStatus,
			"remove": h.removeAny, "look": h.look, "walk": h.walk,
			"": func(t *rapid.T) { h.compare(t, "", "", marker{}, 1000) },
		})
	})
}

// The index keeps versions in chunks of some hundred; this history fills, splits, empties and joins
// them in random order, which short histories do not.
func TestThousandsOfVersionsStayInOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	s := &store{Client: newClient("http://local", "us-east-1", inProcess{local(t, s3.Options{})})}
	m := &model{status: "Enabled"}
	for range 2000 {
		key := fmt.Sprintf("k/%d", random.IntN(40))
		m.write(key, s.put(t, "bucket", key, ""), false)
	}
	for _, left := range []int{1500, 700, 50, 0} {
		live := m.live()
		random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		for _, r := range live[left:] {
			s.remove(t, "bucket", r.Key, r.ID)
			r.gone = true
		}
		at := marker{}
		must(t, "walk", s.walk(t, "bucket", 333, func(p onePage) error {
			want := m.page("", "", at, 333)
			at = want.next
			return first(differ("contents", want.contents, p.contents), differ("next", want.next, p.next))
		}))
	}
}
