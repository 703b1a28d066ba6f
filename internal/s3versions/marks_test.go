package s3versions_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

var (
	tagsAlone = retention.Ask{Tags: true}
	both      = retention.Ask{Tags: true, Locks: true}
)

func TestAnObjectTagHoldsItsVersion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tagging string
		held    bool
	}{
		"no tag at all":                        {"", false},
		"another tag":                          {"custody-holder=true", false},
		"the tag with a reason":                {"custody-hold=dispute+7", true},
		"the tag without a value":              {"custody-hold=", true},
		"the tag with true":                    {"custody-hold=true", true},
		"the tag with false":                   {"custody-hold=false", false},
		"False is not false":                   {"custody-hold=False", true},
		"a space is not nothing":               {"custody-hold=false+", true},
		"no is not false":                      {"custody-hold=no", true},
		"a tag in another case is another tag": {"Custody-Hold=true", false},
		"both cases":                           {"Custody-Hold=true&custody-hold=false", false},
		"the tag beside nine others":           {"a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&custody-hold=x", true},
	}
	sdk := local(t, nil)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := name
			id := putWith(t, sdk, key, func(in *s3.PutObjectInput) { in.Tagging = aws.String(tt.tagging) })
			put(t, sdk, key) // the current version has no tag
			got, err := s3versions.New(sdk, account, time.Now).
				Marks(t.Context(), bucket, []retention.Version{{Key: key, ID: id}}, tagsAlone)
			if diff := cmp.Diff([]retention.Marks{{TagHold: tt.held}}, got); diff != "" || err != nil {
				t.Errorf("marks: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestALockIsReadWithItsEnd(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(24 * time.Hour).Truncate(time.Second).UTC()
	retained := func(mode types.ObjectLockMode) func(*s3.PutObjectInput) {
		return func(in *s3.PutObjectInput) { in.ObjectLockMode, in.ObjectLockRetainUntilDate = mode, &until }
	}
	hold := func(in *s3.PutObjectInput) { in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOn }
	tests := map[string]struct {
		lock func(*s3.PutObjectInput)
		want retention.Marks
	}{
		"no lock":         {func(*s3.PutObjectInput) {}, retention.Marks{}},
		"legal hold":      {hold, retention.Marks{LegalHold: true}},
		"legal hold, off": {func(in *s3.PutObjectInput) { in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOff }, retention.Marks{}},
		"governance":      {retained(types.ObjectLockModeGovernance), retention.Marks{RetainUntil: until}},
		"compliance":      {retained(types.ObjectLockModeCompliance), retention.Marks{RetainUntil: until}},
		"everything at once": {
			func(in *s3.PutObjectInput) {
				hold(in)
				retained(types.ObjectLockModeCompliance)(in)
				in.Tagging = aws.String("custody-hold=1")
			},
			retention.Marks{TagHold: true, LegalHold: true, RetainUntil: until}},
	}
	sdk := lockable(t, locals3.Options{}, nil)
	for name, tt := range tests {
		for _, key := range []string{name, name + "\x01"} { // S3 names the key in "no lock", where XML cannot carry it
			t.Run(key, func(t *testing.T) {
				t.Parallel()
				id := putWith(t, sdk, key, tt.lock)
				got, err := s3versions.New(sdk, account, time.Now).
					Marks(t.Context(), bucket, []retention.Version{{Key: key, ID: id}}, both)
				if diff := cmp.Diff([]retention.Marks{tt.want}, got); diff != "" || err != nil {
					t.Errorf("marks: %v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

// questions matches the reads of Marks.
func questions(r *http.Request) bool {
	return reading("tagging")(r) || reading("legal-hold")(r) || reading("retention")(r)
}

func TestMarksStandInTheOrderOfTheVersionsAndDeleteMarkersAreNotAsked(t *testing.T) {
	t.Parallel()
	requests := &record{match: questions}
	sdk := lockable(t, locals3.Options{}, requests.wrap)
	vs, want := []retention.Version{}, []retention.Marks{}
	for i := range 90 {
		key := fmt.Sprint(i)
		switch i % 4 {
		case 0:
			id := putWith(t, sdk, key, func(in *s3.PutObjectInput) { in.Tagging = aws.String("custody-hold=1") })
			vs, want = append(vs, retention.Version{Key: key, ID: id}), append(want, retention.Marks{TagHold: true})
		case 1:
			vs, want = append(vs, retention.Version{Key: key, ID: unmake(t, sdk, key), DeleteMarker: true}), append(want, retention.Marks{})
		case 2:
			id := put(t, sdk, key)
			remove(t, sdk, key, id)
			vs, want = append(vs, retention.Version{Key: key, ID: id}), append(want, retention.Marks{Absent: true})
		case 3:
			vs, want = append(vs, retention.Version{Key: key, ID: put(t, sdk, key)}), append(want, retention.Marks{})
		}
	}
	for name, tt := range map[string]struct {
		ask  retention.Ask
		want []retention.Marks
		most int
	}{
		"tags":    {tagsAlone, want, 90},
		"both":    {both, want, 270},
		"nothing": {retention.Ask{}, make([]retention.Marks, 90), 0},
	} {
		requests.forget()
		got, err := s3versions.New(sdk, account, time.Now).Marks(t.Context(), bucket, vs, tt.ask)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if n := len(requests.seen()); n > tt.most {
			t.Errorf("%s: %d requests, at most %d are needed", name, n, tt.most)
		}
		for _, r := range requests.seen() {
			if r.URL.Query().Get("versionId") == "" {
				t.Errorf("%s: %s asks for no version", name, r.URL)
			}
			if r.Header.Get("X-Amz-Expected-Bucket-Owner") != account {
				t.Errorf("%s: %s carries no owner", name, r.URL)
			}
			for i, v := range vs {
				if v.DeleteMarker && r.URL.Path == "/"+bucket+"/"+v.Key {
					t.Errorf("%s: delete marker %d was asked: %s", name, i, r.URL)
				}
			}
		}
	}
}

func TestANullVersionIsAskedByItsName(t *testing.T) {
	t.Parallel()
	sdk := local(t, nil)
	versioning(t, sdk, types.BucketVersioningStatusSuspended)
	putWith(t, sdk, "held", func(in *s3.PutObjectInput) { in.Tagging = aws.String("custody-hold=1") })
	put(t, sdk, "replaced")
	versioning(t, sdk, types.BucketVersioningStatusEnabled)
	put(t, sdk, "held") // current, without a tag: a request without "null" would see this one
	versioning(t, sdk, types.BucketVersioningStatusSuspended)
	unmake(t, sdk, "replaced") // a delete marker now has the null version's id, and answers 405

	got, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, []retention.Version{
		{Key: "held", ID: retention.NullID}, {Key: "replaced", ID: retention.NullID}, {Key: "never", ID: retention.NullID},
	}, tagsAlone)
	if diff := cmp.Diff([]retention.Marks{{TagHold: true}, {Absent: true}, {Absent: true}}, got); diff != "" || err != nil {
		t.Errorf("marks: %v (-want +got):\n%s", err, diff)
	}
	if _, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, []retention.Version{{Key: "held"}}, tagsAlone); !errors.Is(err, s3versions.ErrNoVersionID) {
		t.Errorf("a version without an id: %v, want ErrNoVersionID", err)
	}
}

func TestARefusedReadIsCheckedAgainstTheListing(t *testing.T) {
	t.Parallel()
	for _, selector := range []string{"tagging", "legal-hold", "retention"} {
		for _, refusal := range []struct {
			status int
			code   string
			want   inbox.Category
		}{
			{403, "AccessDenied", inbox.CategoryAccessDenied}, {403, "", inbox.CategoryAccessDenied},
			{405, "MethodNotAllowed", inbox.CategoryInternal},
		} {
			t.Run(fmt.Sprint(selector, refusal), func(t *testing.T) {
				t.Parallel()
				sdk := lockable(t, locals3.Options{}, chain(refuse(refusal.status, refusal.code, reading(selector)), pagesOf("2")))
				var ids []string
				for range 7 {
					ids = append(ids, put(t, sdk, "pod/a"))
					put(t, sdk, "pod/ab")
				}
				remove(t, sdk, "pod/a", ids[1])
				unmake(t, sdk, "pod/a")
				c := s3versions.New(sdk, account, time.Now)

				got, err := c.Marks(t.Context(), bucket, []retention.Version{{Key: "pod/a", ID: ids[1]}}, both)
				if diff := cmp.Diff([]retention.Marks{{Absent: true}}, got); diff != "" || err != nil {
					t.Errorf("a version that is gone: %v (-want +got):\n%s", err, diff)
				}
				for _, there := range []string{ids[0], ids[6]} {
					got, err = c.Marks(t.Context(), bucket, []retention.Version{{Key: "pod/a", ID: ids[1]}, {Key: "pod/a", ID: there}}, both)
					if err == nil || inbox.CategoryOf(err) != refusal.want || got != nil {
						t.Errorf("a version that is there: %v, category %s of %v, want %s", got, inbox.CategoryOf(err), err, refusal.want)
					}
				}
			})
		}
	}
}

func TestTheListingThatChecksARefusalIsBounded(t *testing.T) {
	t.Parallel()
	listings := &record{match: reading("versions")}
	sdk := local(t, chain(refuse(403, "AccessDenied", reading("tagging")), pagesOf("1"), listings.wrap))
	gone := put(t, sdk, "a")
	remove(t, sdk, "a", gone)
	for range 20 {
		put(t, sdk, "a")
	}
	_, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, []retention.Version{{Key: "a", ID: gone}}, tagsAlone)
	if inbox.CategoryOf(err) != inbox.CategoryAccessDenied {
		t.Errorf("error %v, want one of category %s: S3 is taken at its word", err, inbox.CategoryAccessDenied)
	}
	if n := len(listings.seen()); n != 10 {
		t.Errorf("%d pages were listed, want 10", n)
	}
}

func TestTheListingThatChecksARefusalEndsWithItsKey(t *testing.T) {
	t.Parallel()
	listings := &record{match: reading("versions")}
	sdk := local(t, chain(refuse(403, "AccessDenied", reading("tagging")), pagesOf("1"), listings.wrap))
	gone := put(t, sdk, "a")
	remove(t, sdk, "a", gone)
	for range 20 {
		put(t, sdk, "ab")
	}
	got, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, []retention.Version{{Key: "a", ID: gone}}, tagsAlone)
	if diff := cmp.Diff([]retention.Marks{{Absent: true}}, got); diff != "" || err != nil {
		t.Errorf("marks: %v (-want +got):\n%s", err, diff)
	}
	if n := len(listings.seen()); n != 1 {
		t.Errorf("%d pages were listed, want 1: what follows is of another key", n)
	}
}

func TestMarksThatCannotBeReadAreAnErrorForAll(t *testing.T) {
	t.Parallel()
	faults := map[string]struct {
		status int
		code   string
		want   inbox.Category
	}{
		"503 SlowDown":                     {503, "SlowDown", inbox.CategoryThrottled},
		"500 InternalError":                {500, "InternalError", inbox.CategoryUnavailable},
		"502 without a body":               {502, "", inbox.CategoryUnavailable},
		"501 NotImplemented":               {501, "NotImplemented", inbox.CategoryUnavailable},
		"404 NoSuchBucket":                 {404, "NoSuchBucket", inbox.CategoryNoSuchBucket},
		"400 InvalidRequest":               {400, "InvalidRequest", inbox.CategoryInternal},
		"404 of a kind that nobody knows":  {404, "NoSuchTagSet", inbox.CategoryInternal},
		"200 without a body":               {200, "", inbox.CategoryUnavailable},
		"200 with an error for its answer": {200, "InternalError", inbox.CategoryUnavailable},
	}
	for _, selector := range []string{"tagging", "legal-hold", "retention"} {
		for name, f := range faults {
			t.Run(selector+" "+name, func(t *testing.T) {
				t.Parallel()
				one := func(r *http.Request) bool { return reading(selector)(r) && r.URL.Path == "/"+bucket+"/3" }
				sdk := lockable(t, locals3.Options{}, refuse(f.status, f.code, one))
				vs := []retention.Version{}
				for i := range 6 {
					vs = append(vs, retention.Version{Key: fmt.Sprint(i), ID: put(t, sdk, fmt.Sprint(i))})
				}
				got, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, vs, both)
				if err == nil || inbox.CategoryOf(err) != f.want || got != nil {
					t.Errorf("marks %v, category %s of %v, want none and %s", got, inbox.CategoryOf(err), err, f.want)
				}
			})
		}
	}
}

// Off is the only word that lets a version go; one that S3 may add some day holds until somebody has read what it means.
func TestALegalHoldOfAnUnknownWordHolds(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{"ON": true, "OFF": false, "PAUSED": true} {
		sdk := lockable(t, locals3.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if reading("legal-hold")(r) {
					_, _ = w.Write([]byte("<LegalHold><Status>" + word + "</Status></LegalHold>"))
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		vs := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}}
		got, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, vs, both)
		if err != nil || len(got) != 1 || got[0].LegalHold != want {
			t.Errorf("%s: marks %+v, error %v, want a legal hold: %v", word, got, err, want)
		}
	}
}

func TestALockAnswerWithoutWhatItIsForIsAnError(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ selector, body string }{
		"tags without a tag set":     {"tagging", "<Tagging/>"},
		"a hold without a status":    {"legal-hold", "<LegalHold/>"},
		"a retention without a date": {"retention", "<Retention><Mode>GOVERNANCE</Mode></Retention>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sdk := lockable(t, locals3.Options{}, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if reading(tt.selector)(r) {
						_, _ = w.Write([]byte(tt.body))
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			vs := []retention.Version{{Key: "a", ID: put(t, sdk, "a")}}
			got, err := s3versions.New(sdk, "", time.Now).Marks(t.Context(), bucket, vs, both)
			if inbox.CategoryOf(err) != inbox.CategoryUnavailable || got != nil {
				t.Errorf("marks %v, error %v, want none and category %s", got, err, inbox.CategoryUnavailable)
			}
		})
	}
}
