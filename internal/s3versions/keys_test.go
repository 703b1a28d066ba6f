package s3versions_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/retention"
	"custody/internal/s3versions"
)

// oddKeys are keys that some part between a producer and S3 was seen to change.
func oddKeys() []string {
	keys := []string{
		"a b", "a+b", "a%20b", "a%2Bb", "a%2Fb", "%2F", "%", "%zz", "a//b", "//", "/", "/lead", "//lead", "trail/", "trail//",
		".", "..", "./a", "../a", "a/.", "a/..", "a/./b", "a/../b", "../../objects/a", " ", "  lead", "trail  ", "a\u00a0b",
		"emoji-😀", "e\u0301", "\u00e9", "\u0301", "\u2028", "\u200b", "\ufeff", "\u0085",
		"tab\tx", "new\nline", "\n", "cr\rx", "crlf\r\nx", "ctl\x01x", "ctl\ufffdx", "\x1f", "del\x7fx", "\ufffe", "a\ufffeb", "\uffff",
		"a&b<c>\"'", "a&amp;b", "&#x1;", "]]>", "<!--", "a?b#c", "a\\b", "a;b,c:d@e=f$g!h*i'j(k)", "null", "versions",
		strings.Repeat("x", 1024), strings.Repeat("😀", 256), strings.Repeat("d/", 512), strings.Repeat("\x02", 1024),
	}
	for r := rune(1); r < 0x20; r++ {
		keys = append(keys, "each"+string(r))
	}
	return keys
}

func TestOddKeysAreDeletedByTheirOwnNameAndNoOther(t *testing.T) {
	t.Parallel()
	for _, key := range oddKeys() {
		t.Run(fmt.Sprintf("%.40q", key), func(t *testing.T) {
			t.Parallel()
			sdk := local(t, nil)
			neighbours := []string{"neighbour", strings.Map(asXML, key)}
			neighbours = slices.DeleteFunc(neighbours, func(k string) bool { return k == key || k == "" || len(k) > 1024 })
			kept := []string{}
			for _, k := range neighbours { // under the key that a broken name would reach, something is to stay
				kept = append(kept, k+" "+put(t, sdk, k))
			}
			mine := []string{put(t, sdk, key), put(t, sdk, key), unmake(t, sdk, key)}
			c := s3versions.New(sdk, "", time.Now)
			vs := slices.DeleteFunc(all(t, c, key), func(v retention.Version) bool { return v.Key != key })
			ids := []string{}
			for _, v := range vs {
				ids = append(ids, v.ID)
			}
			slices.Sort(mine)
			slices.Sort(ids)
			if diff := cmp.Diff(mine, ids); diff != "" {
				t.Fatalf("versions of the key as listed (-want +got):\n%s", diff)
			}
			marks, err := c.Marks(t.Context(), bucket, vs, retention.Ask{Tags: true})
			if diff := cmp.Diff(make([]retention.Marks, 3), marks); diff != "" || err != nil {
				t.Errorf("marks: %v (-want +got):\n%s", err, diff)
			}
			fates, err := c.Delete(t.Context(), bucket, vs, later())
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range fates {
				if f.Kind != retention.FateDeleted {
					t.Errorf("%q: fate %+v, want deleted", vs[i].Key, f)
				}
			}
			left := names(all(t, c, ""))
			slices.Sort(left)
			slices.Sort(kept)
			if diff := cmp.Diff(kept, left); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
			want := []retention.Marks{}
			for _, v := range vs {
				want = append(want, retention.Marks{Absent: !v.DeleteMarker})
			}
			marks, err = c.Marks(t.Context(), bucket, vs, retention.Ask{Tags: true})
			if diff := cmp.Diff(want, marks); diff != "" || err != nil {
				t.Errorf("marks when it is gone: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// asXML is the key that a reader of XML 1.0 understands for the rune (https://www.w3.org/TR/xml/#charsets).
func asXML(r rune) rune {
	switch {
	case r == '\r':
		return '\n'
	case r < 0x20 && r != '\t' && r != '\n', r == 0xfffe, r == 0xffff:
		return '\ufffd'
	}
	return r
}

// swallowing is a server that takes every delete and answers as S3 does for versions that are gone. It notes the names of what
// it was to delete, as "key id".
type swallowing struct {
	mu              sync.Mutex
	together, alone []string
}

func (s *swallowing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodDelete {
		s.alone = append(s.alone, strings.TrimPrefix(r.URL.Path, "/"+bucket+"/")+" "+r.URL.Query().Get("versionId"))
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var in batch
	body, _ := io.ReadAll(r.Body)
	if err := xml.Unmarshal(body, &in); err != nil {
		answer(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	out := struct {
		XMLName xml.Name `xml:"DeleteResult"`
		Deleted any
	}{Deleted: in.Objects}
	for _, o := range in.Objects {
		s.together = append(s.together, o.Key+" "+o.ID)
	}
	text, _ := xml.Marshal(out)
	_, _ = w.Write(text)
}

// TestDeleteObjectsWouldHaveNamedAnotherKey is why some keys go one by one: the SDK itself changes them in DeleteObjects, and
// S3 then confirms that a key is gone which nobody meant.
func TestDeleteObjectsWouldHaveNamedAnotherKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ key, named string }{
		"a control character":        {"ctl\x01x", "ctl\ufffdx"},
		"the last control character": {"\x1f", "\ufffd"},
		"U+FFFE":                     {"a\ufffeb", "a\ufffdb"},
		"U+FFFF":                     {"\uffff", "\ufffd"},
		"bytes that are not UTF-8":   {"a\xffb", "a\ufffdb"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, ours := &swallowing{}, &swallowing{}
			out, err := clientOf(t, raw).DeleteObjects(t.Context(), &s3.DeleteObjectsInput{
				Bucket: aws.String(bucket),
				Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: &tt.key, VersionId: aws.String("1")}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.named + " 1"}, raw.together); diff != "" {
				t.Errorf("named by the SDK (-want +got):\n%s", diff)
			}
			if len(out.Deleted) != 1 || len(out.Errors) != 0 {
				t.Errorf("the answer is %+v, want one success: that is the trap", out)
			}
			fates, err := s3versions.New(clientOf(t, ours), "", time.Now).
				Delete(t.Context(), bucket, []retention.Version{{Key: tt.key, ID: "1"}}, later())
			if err != nil || fates[0].Kind != retention.FateDeleted {
				t.Errorf("fates %+v, %v", fates, err)
			}
			if diff := cmp.Diff([]string{tt.key + " 1"}, slices.Concat(ours.alone, ours.together)); diff != "" {
				t.Errorf("named by Delete (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhateverTheKeysAreExactlyTheyAreNamed holds for every key, be it sent alone or together.
func TestWhateverTheKeysAreExactlyTheyAreNamed(t *testing.T) {
	t.Parallel()
	server := &swallowing{}
	c := s3versions.New(clientOf(t, server), "", time.Now)
	odd := rapid.SampledFrom(oddKeys())
	strange := rapid.StringOfN(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\x01\t\n\r\x1f\x7f\x85\ufffd\ufffe\uffff /.%+&<>\"'"))), 1, 30, 1024)
	anything := rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), func(b []byte) string { return string(b) })
	key := rapid.OneOf(odd, strange, anything).Filter(func(k string) bool { return len(k) <= 1024 })
	rapid.Check(t, func(rt *rapid.T) {
		server.mu.Lock()
		server.alone, server.together = nil, nil
		server.mu.Unlock()
		vs, want := []retention.Version{}, []string{}
		for _, k := range rapid.SliceOfNDistinct(key, 1, 20, rapid.ID[string]).Draw(rt, "keys") {
			vs = append(vs, retention.Version{Key: k, ID: "1"})
			want = append(want, k+" 1")
		}
		fates, err := c.Delete(t.Context(), bucket, vs, later())
		if err != nil {
			rt.Fatal(err)
		}
		for i, f := range fates {
			if f.Kind != retention.FateDeleted {
				rt.Errorf("%q: fate %+v, want deleted", vs[i].Key, f)
			}
		}
		got := slices.Concat(server.alone, server.together)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("named (-want +got):\n%s", diff)
		}
	})
}
