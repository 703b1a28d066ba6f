package measures_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/measures"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
	"custody/internal/localaws/steady"
)

func serving(t *testing.T) *server.Server {
	t.Helper()
	in, stop := io.Pipe()
	out, said := io.Pipe()
	go func() { _ = server.Serve(context.WithoutCancel(t.Context()), in, said) }()
	t.Cleanup(func() { stop.Close() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var e server.Endpoints
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	return server.At(e)
}

// entrant is a contender of the test's own: it deletes all but so many versions and says that this took a second for each of the
// given number.
func entrant(name string, started *[]string, leaves int, seconds float64) contenders.Contender {
	return contenders.Contender{Name: name, Run: func(ctx context.Context, j contenders.Job) (contenders.Outcome, error) {
		*started = append(*started, name)
		c := s3.New(s3.Options{Region: server.Region, BaseEndpoint: &j.Server.S3, UsePathStyle: true, HTTPClient: steady.Client{},
			Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, "")})
		page, err := c.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &j.Bucket, Prefix: &j.Prefix})
		if err != nil {
			return contenders.Outcome{}, err
		}
		var all []types.ObjectIdentifier
		for _, v := range page.Versions {
			all = append(all, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			all = append(all, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		_, err = c.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &j.Bucket, Delete: &types.Delete{Objects: all[leaves:]}})
		return contenders.Outcome{Elapsed: time.Duration(seconds * float64(time.Second))}, err
	}}
}

func bench(t *testing.T, rounds int) measures.Bench {
	t.Helper()
	return measures.Bench{Server: serving(t), Log: io.Discard, Rounds: rounds, Versions: 100}
}

func TestEveryoneWorksOnceInEachRoundInAnOrderThatRotates(t *testing.T) {
	t.Parallel()
	var started []string
	who := []contenders.Contender{entrant("a", &started, 0, 1), entrant("b", &started, 0, 2), entrant("c", &started, 0, 4)}
	courses, err := bench(t, 4).Race(t.Context(), server.Limits{}, who)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("abc abc bca cab abc", spaced(started, 3)); diff != "" { // the first three are the warm-up
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{50, 50, 50, 50}, courses[1].Speeds); diff != "" {
		t.Errorf("versions a second of b (-want +got):\n%s", diff)
	}
	f := measures.Against("speed", courses[0], courses[2], results.AtLeast(4))
	if f.Median != 4 || f.Met == nil || !*f.Met || f.Contender != "a" || f.Against != "c" || len(f.Rounds) != 4 {
		t.Errorf("figure %+v, want that a is four times as fast as c", f)
	}
	if best := measures.Fastest(courses[1:]); best == nil || best.Name != "b" {
		t.Errorf("the fastest of b and c is %+v", best)
	}
}

func spaced(names []string, each int) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 && i%each == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(n)
	}
	return b.String()
}

func TestWhoDidNotDoTheWorkHasNoFigure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(call int, o *contenders.Outcome) error // behind the first call, which is the warm-up
		leaves int
		want   string
	}{
		"it leaves a version": {leaves: 1, want: server.ErrLeft.Error()},
		"it fails":            {change: func(int, *contenders.Outcome) error { return errors.New("exit status 1") }, want: "round 1: exit status 1"},
		"it fails behind a fast round": {change: func(call int, _ *contenders.Outcome) error {
			if call > 2 {
				return errors.New("exit status 1")
			}
			return nil
		}, want: "round 2: exit status 1"},
		"it says that it took no time": {change: func(_ int, o *contenders.Outcome) error { o.Elapsed = 0; return nil }, want: "took no time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var started []string
			bad := entrant("bad", &started, test.leaves, 0.001)
			run, calls := bad.Run, 0
			bad.Run = func(ctx context.Context, j contenders.Job) (contenders.Outcome, error) {
				o, err := run(ctx, j)
				if calls++; err == nil && calls > 1 && test.change != nil {
					err = test.change(calls, &o)
				}
				return o, err
			}
			courses, err := bench(t, 3).Race(t.Context(), server.Limits{}, []contenders.Contender{entrant("good", &started, 0, 1), bad})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(courses[1].Failed, test.want) || courses[0].Failed != "" || len(courses[0].Speeds) != 3 {
				t.Errorf("failed %q and %q with %d rounds, want %q and three rounds of the good one",
					courses[1].Failed, courses[0].Failed, len(courses[0].Speeds), test.want)
			}
			if best := measures.Fastest(courses); best != courses[0] {
				t.Errorf("the fastest is %+v", best)
			}
			if measures.Fastest(courses[1:]) != nil {
				t.Error("who failed is the fastest where nobody else is")
			}
			f := measures.Against("speed", courses[0], courses[1], results.AtLeast(0.1))
			if !strings.Contains(f.Missing, test.want) || f.Met == nil || *f.Met || len(f.Rounds) != 0 {
				t.Errorf("figure %+v, want none, and a target that is not met", f)
			}
			if n := strings.Count(strings.Join(started, " "), "bad"); n > 3 {
				t.Errorf("it was started %d times, though it was out", n)
			}
		})
	}
}

func TestWhoIsGivenFewerVersionsIsMeasuredByThose(t *testing.T) {
	t.Parallel()
	var started []string
	slow := entrant("slow", &started, 0, 2)
	slow.Share = 10
	courses, err := bench(t, 1).Race(t.Context(), server.Limits{}, []contenders.Contender{slow})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{5}, courses[0].Speeds); diff != "" {
		t.Errorf("versions a second (-want +got):\n%s", diff)
	}
}
