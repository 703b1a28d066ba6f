package cleanup_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"custody/internal/cleanup"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/retention"
	"custody/internal/s3versions"
)

// decisions are what is decided about each version, by "key id": "delete", or the reason to keep it.
type decisions map[string]string

// take is a listener that refuses to hear of a version twice.
func (d decisions) take(v retention.Version, what retention.Decision) error {
	name := v.Key + " " + v.ID
	if _, twice := d[name]; twice {
		return errors.New(name + " is told of twice")
	}
	d[name] = string(what.Reason)
	if what.Delete {
		d[name] = "delete"
	}
	return nil
}

// without leaves out what has the reason.
func (d decisions) without(r retention.Reason) decisions {
	rest := decisions{}
	for name, what := range d {
		if what != string(r) {
			rest[name] = what
		}
	}
	return rest
}

// survey surveys the bucket of a play, one request at a time as for a worker.
func (p *play) survey(cutoff time.Time) (decisions, bool) {
	type answer struct {
		stopped bool
		err     error
	}
	told, ended := decisions{}, make(chan answer, 1)
	go func() {
		set := cleanup.Settings{CheckTags: p.Tags, DeleteConcurrency: p.Batches}
		stopped, err := cleanup.NewSurvey(playing{p}, playing{p}, set, time.Now).Each(p.t.Context(), scope,
			inbox.Selection{Bucket: bucket, Prefixes: planPrefixes(), Cutoff: cutoff}, told.take)
		ended <- answer{stopped, err}
	}()
	a := serveUntil(p, ended)
	if a.err != nil {
		p.judge.wrong("survey: %v", a.err)
	}
	return told, a.stopped
}

// decided are the decisions that a dry run's report has.
func (p *play) decided() decisions {
	all := decisions{}
	h := report.NewHistory(key.Type, key.Key, nil)
	for object, data := range p.shelf {
		if err := h.Add(object, data); err != nil {
			p.judge.wrong("report: %v", err)
		}
	}
	for v := range h.Versions() {
		all[v.Key+" "+v.VersionID] = v.Reason
		if v.Fate == report.FateDryRun {
			all[v.Key+" "+v.VersionID] = "delete"
		}
	}
	return all
}

// below lists the versions of a play below the prefixes of the selection.
func (p *play) below() []string {
	names := []string{}
	for _, v := range p.list() {
		if slices.ContainsFunc(planPrefixes(), func(prefix string) bool { return strings.HasPrefix(v.key, prefix) }) {
			names = append(names, v.key+" "+v.id)
		}
	}
	slices.Sort(names)
	return names
}

func TestASurveyOfARandomBucketDecidesAsADryRunDoesAndNamesTheYoungOnes(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	isStop := func(h holding) bool { return h.Kind == "stop" }
	for range rounds / 4 {
		rapid.Check(t, func(rt *rapid.T) {
			pl := stillPlans().Draw(rt, "plan")
			var told, dry decisions
			var named, there []string
			says := pl.begin(t, nil, func(p *play, cutoff time.Time) {
				before := p.below()
				var stopped bool
				told, stopped = p.survey(cutoff)
				there = p.below()
				named = slices.AppendSeq([]string{}, maps.Keys(told))
				slices.Sort(named)
				if !slices.Equal(before, there) || p.judge.removed > 0 || len(p.shelf) > 0 || len(p.store.Drain()) > 0 {
					p.judge.wrong("the survey has left a trace: %d report objects, %v there, was %v", len(p.shelf), there, before)
				}
				if want := slices.ContainsFunc(pl.Holds, isStop) && len(told.without(retention.ReasonYoung)) > 0; stopped != want {
					p.judge.wrong("stopped is %v, want %v", stopped, want)
				}
			})
			pl.Holds = slices.DeleteFunc(slices.Clone(pl.Holds), isStop)
			says = append(says, pl.tell(t, nil, func(p *play, run inbox.Run) {
				if dry = p.decided(); run.State != inbox.StateDone {
					p.judge.wrong("the dry run is %s", run.State)
				}
			})...)
			says = append(says, cmp.Diff(there, named), cmp.Diff(dry, told.without(retention.ReasonYoung)))
			if said := strings.Join(says, ""); said != "" {
				rt.Fatalf("(-there, dry run +survey) %s%s", said, pl)
			}
			for _, what := range told {
				seen[what]++
			}
		})
	}
	t.Logf("%v", seen)
	for _, what := range []string{"delete", "young", "legal_hold", "unreadable_hold", "tag", "lock_legal_hold", "lock_retention",
		"current_over_kept", "null_version"} {
		if seen[what] == 0 {
			t.Errorf("no version was %s: the buckets are too much alike", what)
		}
	}
}

// survey surveys the world's bucket.
func (w *world) survey(cutoff time.Time, tell cleanup.Listener) (bool, error) {
	w.t.Helper()
	s := cleanup.NewSurvey(dynamostore.NewHolds(w.db, "holds", slog.New(slog.DiscardHandler)), s3versions.New(w.s3, "", w.clock), w.set, w.clock)
	return s.Each(w.t.Context(), scope, inbox.Selection{Bucket: bucket, Prefixes: []string{"pod/wh-17/"}, Cutoff: cutoff}, tell)
}

func TestASurveyAsksS3ForNothingThatChangesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set.CheckTags, w.set.DeleteConcurrency = true, 0 // of which no batch could ever go
	kept := w.put("pod/wh-17/a")
	over := w.mark("pod/wh-17/a")
	gone := w.put("pod/wh-17/b")
	w.put("pod/wh-170/c")
	w.hold(map[string]any{"scope": "*", "hold_id": "h", "reason": "legal_hold", "key": "pod/wh-17/a"})
	w.at(day.Add(2 * time.Hour))
	young := w.put("pod/wh-17/b")
	before := w.sorted()
	told := decisions{}
	if stopped, err := w.survey(day.Add(time.Hour), told.take); stopped || err != nil {
		t.Fatal(stopped, err)
	}
	want := decisions{"pod/wh-17/a " + kept: "legal_hold", "pod/wh-17/a " + over: "legal_hold", "pod/wh-17/b " + gone: "delete", "pod/wh-17/b " + young: "young"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, w.sorted()); diff != "" {
		t.Errorf("the bucket has changed (-before +after):\n%s", diff)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("S3 was asked %s", r)
		}
	}
}

func TestASurveyIsNotHeldUpByTheBrake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := w.put("pod/wh-17/a")
	w.hold(map[string]any{"scope": scope, "hold_id": "custody-stop", "reason": "stop"})
	w.at(day.Add(2 * time.Hour))
	told := decisions{}
	stopped, err := w.survey(day.Add(time.Hour), told.take)
	if diff := cmp.Diff(decisions{"pod/wh-17/a " + gone: "delete"}, told); diff != "" || !stopped || err != nil {
		t.Errorf("stopped %v, error %v (-want +got):\n%s", stopped, err, diff)
	}
}

// closedHolds is a holds table that may not be read.
type closedHolds struct{}

func (closedHolds) Covering(context.Context, string) ([]retention.Hold, error) {
	return nil, inbox.Failed(inbox.CategoryAccessDenied, errors.New("not yours"))
}

func TestASurveyEndsWithWhatWouldStopARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, k := range []string{"a", "b", "c"} {
		w.put("pod/wh-17/" + k)
	}
	w.at(day.Add(2 * time.Hour))
	enough := errors.New("enough")
	heard := 0
	if _, err := w.survey(day.Add(time.Hour), func(retention.Version, retention.Decision) error {
		heard++
		return enough
	}); !errors.Is(err, enough) || heard != 1 {
		t.Errorf("a listener that has enough heard %d times: %v", heard, err)
	}
	unheard := func(v retention.Version, d retention.Decision) error {
		t.Errorf("told of %v: %v", v, d)
		return nil
	}
	sel := inbox.Selection{Bucket: bucket, Prefixes: []string{"pod/wh-17/"}, Cutoff: day.Add(time.Hour)}
	_, err := cleanup.NewSurvey(closedHolds{}, s3versions.New(w.s3, "", w.clock), w.set, w.clock).Each(t.Context(), scope, sel, unheard)
	if inbox.CategoryOf(err) != inbox.CategoryAccessDenied || !strings.Contains(err.Error(), "holds of "+scope) {
		t.Errorf("without holds: %v", err)
	}
	_, err = w.direct.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("never")})
	w.must(err)
	sel.Bucket = "never"
	_, err = cleanup.NewSurvey(closedHolds{}, s3versions.New(w.s3, "", w.clock), w.set, w.clock).Each(t.Context(), scope, sel, unheard)
	if inbox.CategoryOf(err) != inbox.CategoryVersioningOff {
		t.Errorf("without versioning: %v", err)
	}
}
