package retention_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/retention"
)

var cutoff = time.Date(2026, 8, 30, 0, 0, 0, 0, time.UTC)

func expired(change func(*retention.Version)) retention.Version {
	v := retention.Version{
		Key: "pod/wh-17/a.jpg", ID: "v1", LastModified: cutoff.Add(-time.Second), Currency: retention.Noncurrent, Size: 3,
	}
	if change != nil {
		change(&v)
	}
	return v
}

func keep(r retention.Reason) retention.Decision { return retention.Decision{Reason: r} }

func TestDecide(t *testing.T) {
	t.Parallel()
	remove := retention.Decision{Delete: true}
	now := cutoff.Add(24 * time.Hour)
	hold := func(h retention.Hold) retention.Facts {
		return retention.Facts{Cutoff: cutoff, Now: now, VersioningEnabled: true, Holds: retention.NewCover([]retention.Hold{h}, now)}
	}
	marked := func(m retention.Marks) retention.Facts {
		return retention.Facts{Cutoff: cutoff, Now: now, VersioningEnabled: true, Marks: m}
	}
	plain := retention.Facts{Cutoff: cutoff, Now: now, VersioningEnabled: true}

	tests := map[string]struct {
		version retention.Version
		facts   retention.Facts
		want    retention.Decision
	}{
		"a version one second older than the cutoff goes": {expired(nil), plain, remove},
		"a version modified at the cutoff is kept": {
			expired(func(v *retention.Version) { v.LastModified = cutoff }), plain, keep(retention.ReasonYoung)},
		"a version modified after the cutoff is kept": {
			expired(func(v *retention.Version) { v.LastModified = cutoff.Add(time.Nanosecond) }), plain, keep(retention.ReasonYoung)},
		"a current version goes when no other version of its key stays": {
			expired(func(v *retention.Version) { v.Currency = retention.Current }), plain, remove},
		"a current version stays over another that stays": {
			expired(func(v *retention.Version) { v.Currency = retention.Current }),
			retention.Facts{Cutoff: cutoff, Now: now, VersioningEnabled: true, OthersStay: true}, keep(retention.ReasonCurrentOverKept)},
		"a noncurrent version goes whatever else stays": {
			expired(nil), retention.Facts{Cutoff: cutoff, Now: now, VersioningEnabled: true, OthersStay: true}, remove},
		"a current delete marker stays over another that stays": {
			expired(func(v *retention.Version) { v.Currency, v.DeleteMarker = retention.Current, true }),
			retention.Facts{Cutoff: cutoff, Now: now, VersioningEnabled: true, OthersStay: true}, keep(retention.ReasonCurrentOverKept)},
		"a version of unknown currency is kept": {
			expired(func(v *retention.Version) { v.Currency = retention.CurrencyUnknown }), plain, keep(retention.ReasonIncomplete)},
		"a version without an id is kept": {
			expired(func(v *retention.Version) { v.ID = "" }), plain, keep(retention.ReasonIncomplete)},
		"a version without a key is kept": {
			expired(func(v *retention.Version) { v.Key = "" }), plain, keep(retention.ReasonIncomplete)},
		"a version without a time is kept": {
			expired(func(v *retention.Version) { v.LastModified = time.Time{} }), plain, keep(retention.ReasonIncomplete)},
		"a null version goes while versioning is enabled": {
			expired(func(v *retention.Version) { v.ID = retention.NullID }), plain, remove},
		"a null version stays while versioning is not enabled": {
			expired(func(v *retention.Version) { v.ID = retention.NullID }),
			retention.Facts{Cutoff: cutoff, Now: now}, keep(retention.ReasonNullVersion)},
		"a hold on the exact key keeps it": {
			expired(nil), hold(retention.Hold{Key: "pod/wh-17/a.jpg", Reason: retention.ReasonDisputeEvidence}),
			keep(retention.ReasonDisputeEvidence)},
		"a hold on a longer key does not": {
			expired(nil), hold(retention.Hold{Key: "pod/wh-17/a.jpg2", Reason: retention.ReasonLegalHold}), remove},
		"a hold on a shorter key does not, since a key is no prefix": {
			expired(nil), hold(retention.Hold{Key: "pod/wh-17/a", Reason: retention.ReasonLegalHold}), remove},
		"a hold on a prefix keeps it": {
			expired(nil), hold(retention.Hold{Prefix: "pod/wh-17/", Reason: retention.ReasonActiveManifest}),
			keep(retention.ReasonActiveManifest)},
		"a hold on another prefix does not": {
			expired(nil), hold(retention.Hold{Prefix: "pod/wh-18/", Reason: retention.ReasonLegalHold}), remove},
		"a hold that cannot be understood keeps everything": {
			expired(nil), hold(retention.Hold{Reason: retention.ReasonUnreadableHold}), keep(retention.ReasonUnreadableHold)},
		"a hold keeps up to the second before its expiry": {
			expired(nil), hold(retention.Hold{Reason: retention.ReasonOther, ExpiresAt: now.Add(time.Second)}), keep(retention.ReasonOther)},
		"a hold is over at its expiry": {
			expired(nil), hold(retention.Hold{Reason: retention.ReasonOther, ExpiresAt: now}), remove},
		"an expired brake keeps nothing": {
			expired(nil), hold(retention.Hold{Reason: retention.ReasonStop, ExpiresAt: now}), remove},
		"a tag keeps it": {expired(nil), marked(retention.Marks{TagHold: true}), keep(retention.ReasonTag)},
		"a legal hold of Object Lock keeps it": {
			expired(nil), marked(retention.Marks{LegalHold: true, TagHold: true}), keep(retention.ReasonLockLegalHold)},
		"a retention period keeps it up to its last second": {
			expired(nil), marked(retention.Marks{RetainUntil: now.Add(time.Second)}), keep(retention.ReasonLockRetention)},
		"a retention period is over at its end": {expired(nil), marked(retention.Marks{RetainUntil: now}), remove},
		"a hold without a reason keeps, too": {
			expired(nil), hold(retention.Hold{}), keep(retention.ReasonUnreadableHold)},
		"a brake keeps everything": {
			expired(nil), hold(retention.Hold{Reason: retention.ReasonStop}), keep(retention.ReasonStop)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, retention.Decide(tt.version, tt.facts)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheReasonDoesNotDependOnTheOrderOfTheHolds(t *testing.T) {
	t.Parallel()
	holds := []retention.Hold{{Reason: retention.ReasonOther}, {Reason: retention.ReasonLegalHold}, {Reason: retention.ReasonActiveManifest}}
	facts := retention.Facts{Cutoff: cutoff, Now: cutoff, VersioningEnabled: true}
	for range len(holds) {
		facts.Holds = retention.NewCover(holds, facts.Now)
		if diff := cmp.Diff(keep(retention.ReasonLegalHold), retention.Decide(expired(nil), facts)); diff != "" {
			t.Errorf("decision (-want +got):\n%s", diff)
		}
		holds = append(holds[1:], holds[0])
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		holds []retention.Hold
		want  bool
	}{
		"no holds":                 {nil, false},
		"other holds alone":        {[]retention.Hold{{Reason: retention.ReasonLegalHold}}, false},
		"a brake among others":     {[]retention.Hold{{Reason: retention.ReasonLegalHold}, {Reason: retention.ReasonStop}}, true},
		"a brake that has run out": {[]retention.Hold{{Reason: retention.ReasonStop, ExpiresAt: cutoff}}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := retention.Stopped(tt.holds, cutoff); got != tt.want {
				t.Errorf("Stopped = %v, want %v", got, tt.want)
			}
		})
	}
}

// Each reason that a decision can give is in the list, by the words of the source.
func TestReasonsAreAllOfThem(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("hold.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`Reason = "([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		if m[1] != string(retention.ReasonYoung) {
			want = append(want, m[1])
		}
	}
	var got []string
	for _, reason := range retention.Reasons() {
		got = append(got, string(reason))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-source +list):\n%s", diff)
	}
}
