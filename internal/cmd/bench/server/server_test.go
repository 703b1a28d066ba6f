package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/cmd/bench/server"
)

const prefix = "pod/wh-17/"

func TestOnlyExactlyTheWorkIsTheWork(t *testing.T) {
	t.Parallel()
	s := serving(t)
	c := client(s.S3)
	all := func(t *testing.T) { remove(t, c, below(t, c, prefix)) }
	for _, test := range []struct {
		name string
		work func(t *testing.T)
		want []error
	}{
		{"everything below the prefix", all, nil},
		{"nothing", func(*testing.T) {}, []error{server.ErrLeft}},
		{"all but one version", func(t *testing.T) { remove(t, c, below(t, c, prefix)[1:]) }, []error{server.ErrLeft}},
		{"all but the delete markers", func(t *testing.T) {
			for _, v := range below(t, c, prefix) {
				out, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: v.Key, VersionId: v.VersionId})
				if err == nil && out != nil {
					remove(t, c, []types.ObjectIdentifier{v})
				}
			}
		}, []error{server.ErrLeft}},
		{"delete markers in place of deletes", func(t *testing.T) {
			_, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(prefix + "0000001.jpg")})
			must(t, err)
		}, []error{server.ErrLeft}},
		{"what stands beside the prefix as well", func(t *testing.T) { remove(t, c, below(t, c, strings.TrimSuffix(prefix, "/"))) },
			[]error{server.ErrGone}},
		{"the whole bucket", func(t *testing.T) { remove(t, c, below(t, c, "")) }, []error{server.ErrGone}},
		{"one old version of somebody else", func(t *testing.T) {
			all(t)
			remove(t, c, below(t, c, "~/")[1:])
		}, []error{server.ErrGone}},
		{"a marker over somebody else's", func(t *testing.T) {
			all(t)
			_, err := c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("!/stays")})
			must(t, err)
		}, []error{server.ErrNew}},
		{"too little and too much", func(t *testing.T) { remove(t, c, below(t, c, "!/")) }, []error{server.ErrLeft, server.ErrGone}},
	} {
		t.Run(test.name, func(t *testing.T) {
			stocked, err := s.Fill(t.Context(), server.Stock{Bucket: bucket, Prefixes: []string{prefix}, Versions: 23, PerKey: 5, MarkerEvery: 2})
			must(t, err)
			test.work(t)
			err = stocked.Verify(t.Context())
			for _, is := range []error{server.ErrLeft, server.ErrGone, server.ErrNew} {
				if errors.Is(err, is) != errors.Is(errors.Join(test.want...), is) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			}
			if len(test.want) == 0 && err != nil {
				t.Error(err)
			}
		})
	}
}

func TestABucketHoldsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := serving(t)
	stocked, err := s.Fill(t.Context(), server.Stock{Bucket: bucket, Prefixes: []string{prefix, "pod/wh-18/"}, Versions: 23, PerKey: 5, MarkerEvery: 2})
	must(t, err)
	if stocked.Total() != 46 {
		t.Errorf("total %d, want 46", stocked.Total())
	}
	page, err := client(s.S3).ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(bucket), Prefix: aws.String("pod/wh-18/")})
	must(t, err)
	got := map[string]int{}
	for _, v := range page.Versions {
		got[*v.Key]++
	}
	for _, m := range page.DeleteMarkers {
		got[*m.Key+" marker"]++
		if !*m.IsLatest {
			t.Errorf("the marker of %s is not its last version", *m.Key)
		}
	}
	want := map[string]int{
		"pod/wh-18/0000000.jpg": 4, "pod/wh-18/0000000.jpg marker": 1, "pod/wh-18/0000001.jpg": 5,
		"pod/wh-18/0000002.jpg": 4, "pod/wh-18/0000002.jpg marker": 1, "pod/wh-18/0000003.jpg": 5,
		"pod/wh-18/0000004.jpg": 2, "pod/wh-18/0000004.jpg marker": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions by key (-want +got):\n%s", diff)
	}
}

func TestABucketThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	s := serving(t)
	good := server.Stock{Bucket: bucket, Prefixes: []string{prefix}, Versions: 1, PerKey: 1}
	for name, change := range map[string]func(*server.Stock){
		"per_key":      func(s *server.Stock) { s.PerKey = 0 },
		"versions":     func(s *server.Stock) { s.Versions = -1 },
		"marker_every": func(s *server.Stock) { s.MarkerEvery = -1 },
		"prefix":       func(s *server.Stock) { s.Prefixes = []string{"pod"} },
		"no prefix":    func(s *server.Stock) { s.Prefixes = nil },
		"no name":      func(s *server.Stock) { s.Bucket = "No" },
	} {
		stock := good
		change(&stock)
		if _, err := s.Fill(t.Context(), stock); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want one that names it", name, err)
		}
	}
}

func TestEveryRequestIsCountedButTheHarnesss(t *testing.T) {
	t.Parallel()
	s := serving(t)
	c := client(s.S3)
	stocked, err := s.Fill(t.Context(), server.Stock{Bucket: bucket, Prefixes: []string{prefix}, Versions: 4, PerKey: 1})
	must(t, err)
	counts(t, s, nil) // filling and looking are the harness's own

	all := below(t, c, prefix)
	for _, v := range all[:2] {
		_, err := c.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(bucket), Key: v.Key, VersionId: v.VersionId})
		must(t, err)
	}
	_, err = c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: all[0].Key, VersionId: all[0].VersionId})
	must(t, err)
	remove(t, c, all[1:])
	_, err = c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("!/new")})
	must(t, err)
	_, err = c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	must(t, err)
	_, err = c.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: aws.String(bucket)})
	must(t, err)
	_, err = c.DeleteObjectTagging(t.Context(), &s3.DeleteObjectTaggingInput{Bucket: aws.String(bucket), Key: aws.String("!/new")})
	must(t, err)
	_, err = s.Items().ListTables(t.Context(), &dynamodb.ListTablesInput{})
	must(t, err)
	_, err = s.Items().ListTables(t.Context(), &dynamodb.ListTablesInput{}, func(o *dynamodb.Options) { o.BaseEndpoint = &s.DynamoDB })
	must(t, err)
	_ = stocked.Verify(t.Context())

	counts(t, s, map[string]int64{
		"ListObjectVersions": 1, "GetObjectTagging": 2, "DeleteObject": 1, "DeleteObjects": 1, "PutObject": 1, "ListObjectsV2": 1,
		"GET bucket versioning": 1, "DELETE object tagging": 1, server.ItemsPrefix + "ListTables": 1,
	})
	counts(t, s, nil) // once read, they begin at zero
}

func counts(t *testing.T, s *server.Server, want map[string]int64) {
	t.Helper()
	got, err := s.TakeCounts(t.Context())
	must(t, err)
	if want == nil {
		want = map[string]int64{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestARefusedDeleteDeletesNothingAndIsCounted(t *testing.T) {
	t.Parallel()
	s := serving(t)
	c := client(s.S3)
	_, err := s.Fill(t.Context(), server.Stock{Bucket: bucket, Prefixes: []string{prefix}, Versions: 1500, PerKey: 1})
	must(t, err)
	all := below(t, c, prefix)
	must(t, s.SetLimits(t.Context(), server.Limits{DeletesPerSecond: 1})) // so that no time of a slow test gives back what is used
	remove(t, c, all[:1000])
	_, err = c.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(bucket), Delete: &types.Delete{Objects: all[1000:]}})
	if err == nil || !strings.Contains(err.Error(), "SlowDown") || !strings.Contains(err.Error(), "503") {
		t.Errorf("error %v, want 503 SlowDown", err)
	}
	if left := below(t, c, prefix); len(left) != 500 {
		t.Errorf("%d versions are left, want 500", len(left))
	}
	got, err := s.TakeCounts(t.Context())
	must(t, err)
	if got["SlowDown"] != 1 || got["DeleteObjects"] != 2 {
		t.Errorf("counts %v, want 1 SlowDown of 2 DeleteObjects", got)
	}
	must(t, s.SetLimits(t.Context(), server.Limits{}))
	remove(t, c, all[1000:])
}
