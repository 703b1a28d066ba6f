package retention_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"custody/internal/retention"
)

func versions() *rapid.Generator[retention.Version] {
	return rapid.Custom(func(t *rapid.T) retention.Version {
		return retention.Version{
			Key:          rapid.SampledFrom([]string{"a", "a/b", "a/bc", ""}).Draw(t, "key"),
			ID:           rapid.SampledFrom([]string{"v", "v", retention.NullID, ""}).Draw(t, "id"),
			LastModified: rapid.SampledFrom([]time.Time{cutoff.Add(-time.Second), cutoff.Add(-time.Hour), cutoff, {}}).Draw(t, "modified"),
			DeleteMarker: rapid.Bool().Draw(t, "marker"),
			Currency: rapid.SampledFrom([]retention.Currency{
				retention.Current, retention.Noncurrent, retention.CurrencyUnknown,
			}).Draw(t, "currency"),
		}
	})
}

func someHolds() *rapid.Generator[retention.Hold] {
	return rapid.Custom(func(t *rapid.T) retention.Hold {
		h := retention.Hold{Reason: rapid.SampledFrom([]retention.Reason{
			retention.ReasonLegalHold, retention.ReasonOther, retention.ReasonStop, retention.ReasonUnreadableHold,
		}).Draw(t, "reason")}
		switch rapid.IntRange(0, 2).Draw(t, "covers") {
		case 0:
			h.Key = rapid.SampledFrom([]string{"a", "a/b", "a/bc", "c"}).Draw(t, "key")
		case 1:
			h.Prefix = rapid.SampledFrom([]string{"a", "a/", "a/bc", "c"}).Draw(t, "prefix")
		}
		if rapid.Bool().Draw(t, "ends") {
			h.ExpiresAt = cutoff.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "end")) * time.Second)
		}
		return h
	})
}

// given is facts before the holds are taken in.
type given struct {
	retention.Facts
	rows []retention.Hold
}

func (g given) facts() retention.Facts {
	g.Holds = retention.NewCover(g.rows, g.Now)
	return g.Facts
}

func someFacts() *rapid.Generator[given] {
	return rapid.Custom(func(t *rapid.T) given {
		return given{rows: rapid.SliceOfN(someHolds(), 0, 5).Draw(t, "holds"), Facts: retention.Facts{
			Cutoff: cutoff, Now: cutoff,
			VersioningEnabled: rapid.Bool().Draw(t, "enabled"), OthersStay: rapid.Bool().Draw(t, "others stay"),
			Marks: retention.Marks{
				TagHold: rapid.IntRange(0, 3).Draw(t, "tag") == 3, LegalHold: rapid.IntRange(0, 3).Draw(t, "lock") == 3,
				RetainUntil: rapid.SampledFrom([]time.Time{{}, cutoff, cutoff.Add(-time.Second), cutoff.Add(time.Second)}).Draw(t, "until"),
			},
		}}
	})
}

// mayGo is the rule in other words, as a list of everything that must be true at once.
func mayGo(v retention.Version, f given) bool {
	for _, h := range f.rows {
		over := !h.ExpiresAt.IsZero() && h.ExpiresAt.Compare(f.Now) <= 0
		exact, below, all := h.Key == v.Key, h.Prefix != "" && strings.Index(v.Key, h.Prefix) == 0, h.Key == "" && h.Prefix == ""
		if !over && (exact || below || all) {
			return false
		}
	}
	known := v.Key != "" && v.ID != "" && v.LastModified.Unix() > 0 && v.Currency != retention.CurrencyUnknown
	return known && v.LastModified.Unix() < f.Cutoff.Unix() &&
		(v.ID != "null" || f.VersioningEnabled) &&
		!f.Marks.TagHold && !f.Marks.LegalHold && f.Marks.RetainUntil.Compare(f.Now) <= 0 &&
		(v.Currency == retention.Noncurrent || !f.OthersStay)
}

func TestWhatMayGoGoesAndEverythingElseHasAReason(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 { // a decision is cheap
			v, f := versions().Draw(rt, "version"), someFacts().Draw(rt, "facts")
			d := retention.Decide(v, f.facts())
			if want := mayGo(v, f); d.Delete != want || want == (d.Reason != "") {
				rt.Fatalf("%+v of %+v by %+v, want it to go: %v", d, v, f, want)
			}
		}
	})
}

// A further hold or mark can only keep.
func TestAFurtherReasonNeverLetsAVersionGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 {
			v, f := versions().Draw(rt, "version"), someFacts().Draw(rt, "facts")
			before := retention.Decide(v, f.facts())
			switch rapid.IntRange(0, 3).Draw(rt, "what comes") {
			case 0:
				f.rows = append(f.rows, someHolds().Draw(rt, "hold"))
			case 1:
				f.Marks.TagHold = true
			case 2:
				f.Marks.LegalHold = true
			case 3:
				f.OthersStay = true
			}
			if after := retention.Decide(v, f.facts()); after.Delete && !before.Delete {
				rt.Fatalf("%+v stayed for %s and goes by more reasons: %+v", v, before.Reason, f)
			}
		}
	})
}

func TestOfSeveralReasonsTheOneThatBindsMostIsCounted(t *testing.T) {
	t.Parallel()
	now := cutoff.Add(time.Hour)
	all := given{Facts: retention.Facts{
		Cutoff: cutoff, Now: now, OthersStay: true,
		Marks: retention.Marks{TagHold: true, LegalHold: true, RetainUntil: now.Add(time.Hour)},
	}, rows: []retention.Hold{{Reason: retention.ReasonOther}, {Reason: retention.ReasonDisputeEvidence}, {Reason: retention.ReasonStop},
		{Reason: retention.ReasonActiveManifest}, {Reason: retention.ReasonUnreadableHold}, {Reason: retention.ReasonLegalHold}},
	}
	v := expired(func(v *retention.Version) { v.ID, v.Currency = retention.NullID, retention.Current })
	without := func(r retention.Reason) {
		for i, h := range all.rows {
			if h.Reason == r {
				all.rows = append(append([]retention.Hold{}, all.rows[:i]...), all.rows[i+1:]...)
				return
			}
		}
	}
	for _, step := range []struct {
		want retention.Reason
		drop func()
	}{
		{retention.ReasonNullVersion, func() { all.VersioningEnabled = true }},
		{retention.ReasonStop, func() { without(retention.ReasonStop) }},
		{retention.ReasonLegalHold, func() { without(retention.ReasonLegalHold) }},
		{retention.ReasonDisputeEvidence, func() { without(retention.ReasonDisputeEvidence) }},
		{retention.ReasonActiveManifest, func() { without(retention.ReasonActiveManifest) }},
		{retention.ReasonUnreadableHold, func() { without(retention.ReasonUnreadableHold) }},
		{retention.ReasonOther, func() { without(retention.ReasonOther) }},
		{retention.ReasonLockLegalHold, func() { all.Marks.LegalHold = false }},
		{retention.ReasonLockRetention, func() { all.Marks.RetainUntil = now }},
		{retention.ReasonTag, func() { all.Marks.TagHold = false }},
		{retention.ReasonCurrentOverKept, func() { all.OthersStay = false }},
	} {
		if got := retention.Decide(v, all.facts()); got != keep(step.want) {
			t.Errorf("decision %+v, want it kept for %s", got, step.want)
		}
		step.drop()
	}
	if got := retention.Decide(v, all.facts()); !got.Delete {
		t.Errorf("decision %+v without a reason", got)
	}
}
