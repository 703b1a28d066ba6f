package telemetry_test

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/telemetry"
)

// The summaries are all that telemetry can show. A new field is a decision: here it is made on purpose.
func TestSummariesHoldNothingThatMustNotBeLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		summary any
		want    string
	}{
		"delivery": {inbox.DeliverySummary{},
			"DeliveryID KeyID CommandType RunKey Scope ReservationID Outcome Status Signature Problem BodyBytes Age AckLatency Panicked"},
		"slice": {inbox.SliceSummary{},
			"Record Run Scope Outcome Mode Category Problem Scan Slices Attempts Pages Batches Listed Deleted Absent Refused RefusedVersions Retained Duration InboxToCompletion"},
		"sweep": {inbox.SweepSummary{},
			"Open Failed Recorded Counted OldestOpenAge Woken GivenUp Refused BadRows Errors Limited OldestOverdue ReservationsRead Problem Duration"},
		"canary":             {inbox.Canary{}, "Key Outcome Category Problem Versions Duration"},
		"a canary's version": {inbox.CanaryVersion{}, "ID DeleteMarker Current Fate Detail"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for f := range reflect.TypeOf(c.summary).Fields() {
				got = append(got, f.Name)
			}
			if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongTextIsCutAndBrokenTextMended(t *testing.T) {
	t.Parallel()
	long := accepted()
	long.DeliveryID, long.Problem = strings.Repeat("ä", 5000), "\xff"+strings.Repeat("b", 5000)
	lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) { tel.Delivery(t.Context(), long) })
	for field, limit := range map[string]int{"delivery_id": 310, "problem": 1010} {
		if got := len(fmt.Sprint(lines[0][field])); got > limit || got < 100 {
			t.Errorf("%s has %d bytes", field, got)
		}
	}
}

func TestTextCannotForgeALine(t *testing.T) {
	t.Parallel()
	evil := accepted()
	evil.DeliveryID = "x\"}\n{\"level\":\"INFO\",\"_aws\":{}"
	lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) { tel.Delivery(t.Context(), evil) })
	if len(lines) != 1 || lines[0]["delivery_id"] != evil.DeliveryID {
		t.Errorf("got %v", lines)
	}
}

func TestOtherLinesKeepTheStack(t *testing.T) {
	t.Parallel()
	lines := written(t, slog.LevelInfo, func(tel *telemetry.Telemetry) {
		tel.Logger().Warn("hold not understood", "scope", "warehouse:wh-17", "took", time.Second)
		tel.Logger().Debug("dropped at INFO")
	})
	if len(lines) != 1 || lines[0]["stack"] != "trial" || lines[0]["scope"] != "warehouse:wh-17" {
		t.Errorf("got %v", lines)
	}
}

func TestOtherLinesFollowTheLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelDebug: 2, slog.LevelInfo: 1, slog.LevelError: 1} {
		lines := written(t, level, func(tel *telemetry.Telemetry) {
			tel.Logger().Info("always")
			tel.Logger().Debug("at debug alone")
		})
		if len(lines) != want {
			t.Errorf("at %s: %v", level, lines)
		}
	}
}
