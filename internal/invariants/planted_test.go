package invariants_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/cleanup"
	"custody/internal/invariants"
	"custody/internal/report"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// plant is a worker that breaks one promise about the report, the tags or the locks.
type plant struct {
	options invariants.Options
	want    string // what the observer says of it
	fault   func(invariants.Call) invariants.Fault
}

// unwritten is a report bucket that refuses.
func unwritten(c invariants.Call) invariants.Fault {
	if c.Operation == "PutObject" {
		return invariants.Fault{Kind: invariants.FaultDenied}
	}
	return invariants.Fault{}
}

// denied is what S3 says of one key.
func denied(key string, _ int) string {
	if key == pod("b") {
		return "AccessDenied"
	}
	return ""
}

// writing lets the function write in the report's place.
func writing(write func(ctx context.Context, next cleanup.Reports, object string, data []byte) error) invariants.Options {
	return invariants.Options{Reports: func(_ *s3.Client, next cleanup.Reports) cleanup.Reports {
		return reports(func(ctx context.Context, object string, data []byte) error { return write(ctx, next, object, data) })
	}}
}

type reports func(ctx context.Context, object string, data []byte) error

func (f reports) Write(ctx context.Context, object string, data []byte) error {
	return f(ctx, object, data)
}

// forging lets the function change what is written, the name included.
func forging(forge func(o *report.Object)) invariants.Options {
	encoder := &report.Encoder{}
	return writing(func(ctx context.Context, next cleanup.Reports, object string, data []byte) error {
		o, err := report.Decode(object, data)
		if err != nil {
			return err
		}
		forge(&o)
		if o.Header.Kind == report.KindSelection {
			object, data, err = encoder.Selection(o.Header, slices.Values(o.Selections))
		} else {
			object, data, err = encoder.Outcome(o.Header, slices.Values(o.Outcomes))
		}
		if err != nil {
			return err
		}
		return next.Write(ctx, object, data)
	})
}

type marksOf func(ctx context.Context, c *s3versions.Client, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error)

// marking lets the function read the marks in the client's place.
func marking(marks marksOf) invariants.Options {
	return invariants.Options{Versions: func(next *s3versions.Client) invariants.Versions { return marked{next, marks} }}
}

type marked struct {
	*s3versions.Client
	marks marksOf
}

func (m marked) Marks(ctx context.Context, _ string, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error) {
	return m.marks(ctx, m.Client, vs, ask)
}

// forgetting reads the marks and forgets a part of what they say.
func forgetting(forget func(*retention.Marks)) invariants.Options {
	return marking(func(ctx context.Context, c *s3versions.Client, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error) {
		marks, err := c.Marks(ctx, invariants.Bucket, vs, ask)
		for i := range marks {
			forget(&marks[i])
		}
		return marks, err
	})
}

func withLocks(o invariants.Options) invariants.Options {
	o.Locks = true
	return o
}

// sentTwice: S3 wants one version sent again.
func sentTwice(o invariants.Options) invariants.Options {
	o.Refuse = sentAgain().options.Refuse
	return o
}

func isSelection(object string) bool { return strings.HasSuffix(object, "-selection.jsonl.gz") }

// plants are the promises about report, tags and locks, each broken.
func plants() map[string]plant {
	firstTags := map[string][]retention.Marks{}
	return map[string]plant{
		"a selection that is not written": {
			writing(func(ctx context.Context, next cleanup.Reports, object string, data []byte) error {
				if isSelection(object) {
					return nil
				}
				return next.Write(ctx, object, data)
			}), "not on record: it has stored no selection object", nil},
		"a selection that is written behind the delete": {
			writing(func(ctx context.Context, next cleanup.Reports, object string, data []byte) error {
				if !isSelection(object) {
					return next.Write(ctx, object, data)
				}
				go func() {
					time.Sleep(time.Second)
					_ = next.Write(context.WithoutCancel(ctx), object, data)
				}()
				return nil
			}), "that are not on record", nil},
		"a selection that cannot be written, and is deleted all the same": {
			writing(func(ctx context.Context, next cleanup.Reports, object string, data []byte) error {
				_ = next.Write(ctx, object, data)
				return nil
			}), "that are not on record", unwritten},
		"a version that no selection names": {
			writing(func(context.Context, cleanup.Reports, string, []byte) error { return nil }), "and its report has not selected it", nil},
		"one selection for two tries": {
			sentTwice(writing(func(ctx context.Context, next cleanup.Reports, object string, data []byte) error {
				if n, err := report.ParseName(object); err != nil || n.Try > 1 && n.Kind == report.KindSelection {
					return err
				}
				return next.Write(ctx, object, data)
			})), "no request has used, selects " + pod("b"), nil},
		"a selection that leaves out a version": {forging(func(o *report.Object) {
			o.Selections = slices.DeleteFunc(o.Selections, func(s report.Selection) bool { return s.Key == pod("b") })
		}), "no request has used, selects " + pod("b"), nil},
		"a selection that calls a version kept": {forging(func(o *report.Object) {
			for i, s := range o.Selections {
				if s.Key == pod("b") {
					o.Selections[i].Decision, o.Selections[i].Reason = report.DecisionKeep, "other"
				}
			}
		}), "no request has used, selects " + pod("b"), nil},
		"a selection under another's lease": {forging(func(o *report.Object) { o.Header.LeaseToken = "another" }), "has never had that lease", nil},
		"a selection of another run":        {forging(func(o *report.Object) { o.Header.RunKey = "r-2" }), "for the run \"run#cleanup.run#r-1\"", nil},
		"a selection of an earlier scan":    {forging(func(o *report.Object) { o.Header.Scan = 1 }), "is left by scan 2, and scan 1 tells the report", nil},
		"a selection of another slice":      {forging(func(o *report.Object) { o.Header.Slice = 7 }), "in slice 1", nil},
		"a header with another cutoff": {forging(func(o *report.Object) {
			o.Header.Cutoff = o.Header.Cutoff.Add(time.Second)
		}), "the header of another run", nil},
		"an object that is written over": {
			invariants.Options{Reports: func(client *s3.Client, next cleanup.Reports) cleanup.Reports {
				return reports(func(ctx context.Context, object string, data []byte) error {
					if err := next.Write(ctx, object, data); err != nil {
						return err
					}
					_, err := client.PutObject(ctx, &s3.PutObjectInput{
						Bucket: aws.String("reports"), Key: &object, Body: strings.NewReader("another"),
					})
					return err
				})
			}}, "which is there already", nil},
		"an object without the condition": {
			invariants.Options{Reports: func(client *s3.Client, _ cleanup.Reports) cleanup.Reports {
				return reports(func(ctx context.Context, object string, data []byte) error {
					_, err := client.PutObject(ctx, &s3.PutObjectInput{
						Bucket: aws.String("reports"), Key: &object, Body: strings.NewReader(string(data)),
					})
					return err
				})
			}}, "has the wrong conditions", nil},
		"a report that is read": {
			invariants.Options{Reports: func(client *s3.Client, next cleanup.Reports) cleanup.Reports {
				return reports(func(ctx context.Context, object string, data []byte) error {
					_, _ = client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String("reports")})
					return next.Write(ctx, object, data)
				})
			}}, "which no slice may do", nil},
		"an outcome that calls gone what is there": {
			invariants.Options{
				Refuse: denied,
				Reports: forging(func(o *report.Object) {
					for i := range o.Outcomes {
						o.Outcomes[i].Fate, o.Outcomes[i].Code = report.FateDeleted, ""
					}
				}).Reports,
			}, "that it is deleted, and it is there", nil},
		"an outcome that calls kept what is gone": {forging(func(o *report.Object) {
			for i := range o.Outcomes {
				o.Outcomes[i].Fate = report.FateLocked
			}
		}), "stays, and it had gone by the same worker", nil},
		"a report without what was kept": {forging(func(o *report.Object) {
			o.Selections = slices.DeleteFunc(o.Selections, func(s report.Selection) bool { return s.Decision == report.DecisionKeep })
		}), "is left by scan 2, and scan 0 tells the report", nil},
		"tags that nobody reads": {
			marking(func(_ context.Context, _ *s3versions.Client, vs []retention.Version, _ retention.Ask) ([]retention.Marks, error) {
				return make([]retention.Marks, len(vs)), nil
			}), "GetObjectTagging has never told it about the version", nil},
		"a tag that is read and forgotten": {
			forgetting(func(m *retention.Marks) { m.TagHold = false }), "version 1 of \"" + pod("a") + "\": GetObjectTagging said that it stays", nil},
		"tags of the first try that serve the second": {
			sentTwice(marking(func(ctx context.Context, c *s3versions.Client, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error) {
				if known, again := firstTags[vs[0].ID]; again && len(known) >= len(vs) {
					return known[:len(vs)], nil
				}
				marks, err := c.Marks(ctx, invariants.Bucket, vs, ask)
				for i, v := range vs {
					firstTags[v.ID] = marks[i:]
				}
				return marks, err
			})), "GetObjectTagging was read for an earlier request", nil},
		"locks that nobody reads": {
			withLocks(marking(func(ctx context.Context, c *s3versions.Client, vs []retention.Version, _ retention.Ask) ([]retention.Marks, error) {
				return c.Marks(ctx, invariants.Bucket, vs, retention.Ask{Tags: true})
			})), "GetObjectLegalHold has never told it about the version", nil},
		"a legal hold that is forgotten": {
			withLocks(forgetting(func(m *retention.Marks) { m.LegalHold = false })), "version 1 of \"" + pod("d") + "\": GetObjectLegalHold said that it stays", nil},
		"a retention that is forgotten": {
			withLocks(forgetting(func(m *retention.Marks) { m.RetainUntil = time.Time{} })), "version 1 of \"" + pod("e") + "\": GetObjectRetention said that it stays until", nil},
		"a delete marker that is asked": {
			marking(func(ctx context.Context, c *s3versions.Client, vs []retention.Version, ask retention.Ask) ([]retention.Marks, error) {
				asked := slices.Clone(vs)
				for i := range asked {
					asked[i].DeleteMarker = false
				}
				return c.Marks(ctx, invariants.Bucket, asked, ask)
			}), "asks a delete marker of \"" + pod("c") + "\"", nil},
	}
}

// An observer that has never seen anything wrong may be blind. Each promise about the report, the tags and the locks is broken once,
// and it must say so.
func TestTheObserverSeesWhatIsPlanted(t *testing.T) {
	t.Parallel()
	for name, p := range plants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenario{
				options: p.options, fault: p.fault,
				before: func(w *invariants.World) {
					put(w, pod("a"), pod("a"), pod("b"), pod("b"), pod("c"), pod("d"), pod("e"))
					w.Remove(pod("c"))
					w.Tag(pod("a"), 1, "case 12")
					if p.options.Locks {
						w.LockHold(pod("d"), 1, true)
						w.LockUntil(pod("e"), 1, time.Now().Add(90*24*time.Hour))
					}
				},
				story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
			}
			o := s.tell(t, nil)
			if !slices.ContainsFunc(o.violations, func(v string) bool { return strings.Contains(v, p.want) }) {
				t.Errorf("the observer saw %q, and not %q", o.violations, p.want)
			}
		})
	}
}

// The same story without a plant is one that the observer says nothing about.
func TestTheStoryOfThePlantsIsSound(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]invariants.Options{
		"as it is":            {},
		"with locks":          {Locks: true},
		"sent twice":          sentTwice(invariants.Options{}),
		"forged into nothing": forging(func(*report.Object) {}),
		"forgotten nothing":   withLocks(forgetting(func(*retention.Marks) {})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenario{
				options: o,
				before: func(w *invariants.World) {
					put(w, pod("a"), pod("a"), pod("b"), pod("b"), pod("c"), pod("d"), pod("e"))
					w.Remove(pod("c"))
					w.Tag(pod("a"), 1, "case 12")
				},
				story: func(w *invariants.World, cutoff time.Time) { w.Push(delivery(cutoff)) },
				want:  map[string]string{"r-1": "done"}, left: []string{pod("a") + " 1", pod("a") + " 2"},
			}
			s.sound(t)
		})
	}
}
