package runbook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/retention"
)

const wh17 = "warehouse:wh-17"

// holdCases are the holds and the emergency brake, with the tool and without.
func holdCases() map[string]blockCase {
	dispute := retention.Row{Hold: retention.Hold{Scope: wh17, ID: "dispute-991", Prefix: "pod/wh-17/2026-06/", Reason: retention.ReasonDisputeEvidence},
		By: "you", Note: "case 991"}
	stop := retention.Row{Hold: retention.Hold{Scope: retention.ScopeAll, ID: "custody-stop", Reason: retention.ReasonStop}, By: "you", Note: "wrong cutoff sent"}
	there := func(rows ...retention.Row) func(t *testing.T, s *sandbox) string {
		return func(t *testing.T, s *sandbox) string {
			for _, row := range rows {
				if stands, err := s.holds.Put(t.Context(), row, time.Now()); err != nil || stands != nil {
					t.Fatal(stands, err)
				}
			}
			return ""
		}
	}
	behind := func(scope string, want ...retention.Row) func(t *testing.T, s *sandbox, out string) {
		return func(t *testing.T, s *sandbox, _ string) { same(t, want, s.rows(t, scope)) }
	}
	return map[string]blockCase{
		// Put, listed, removed.
		"Keeping something: a hold: custody hold": {asks: true, check: func(t *testing.T, s *sandbox, out string) {
			says(t, out, "dispute-991 of warehouse:wh-17 added", "(case", "dispute-991 of warehouse:wh-17 removed")
			behind(wh17)(t, s, out)
		}},
		"Keeping something: a hold: aws dynamodb put-item":                   {check: behind(wh17, dispute)},
		"Keeping something: a hold: aws dynamodb delete-item":                {prepare: there(dispute), check: behind(wh17)},
		"Stopping everything: the emergency brake: custody stop":             {asks: true, check: behind(retention.ScopeAll)},
		"Stopping everything: the emergency brake: aws dynamodb put-item":    {check: behind(retention.ScopeAll, stop)},
		"Stopping everything: the emergency brake: aws dynamodb delete-item": {prepare: there(stop), check: behind(retention.ScopeAll)},
		"stopped: aws dynamodb query":                                        {prepare: there(stop), check: func(t *testing.T, _ *sandbox, out string) { says(t, out, `"wrong cutoff sent"`, `"Count": 1`) }},
		"Restore a table from point-in-time recovery: bin/custody stop": {check: func(t *testing.T, s *sandbox, _ string) {
			rows := s.rows(t, retention.ScopeAll)
			if len(rows) != 1 || rows[0].Reason != retention.ReasonStop || rows[0].Note != "restoring tables" {
				t.Errorf("the brake's rows are %+v", rows)
			}
		}},
	}
}

// rows are the holds of a scope as the cleanup reads them. When the tool wrote one is not compared.
func (s *sandbox) rows(t *testing.T, scope string) []retention.Row {
	t.Helper()
	rows, err := s.holds.Rows(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	var found []retention.Row
	for _, row := range rows {
		row.CreatedAt = time.Time{}
		found = append(found, row)
	}
	return found
}

func same[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func says(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(out, word) {
			t.Errorf("it does not say %q:\n%s", word, out)
		}
	}
}
