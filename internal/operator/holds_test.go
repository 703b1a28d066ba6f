package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/operator"
	"custody/internal/retention"
)

// aHold is a hold that may be added.
func aHold(change func(*retention.Row)) retention.Row {
	row := retention.Row{
		Hold: retention.Hold{Scope: "warehouse:wh-17", ID: "dispute-991", Prefix: "pod/wh-17/991/", Reason: retention.ReasonDisputeEvidence},
		Note: "case 991", By: "alice",
	}
	if change != nil {
		change(&row)
	}
	return row
}

func TestHoldsAreCheckedBeforeTheyAreWritten(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		change func(*retention.Row)
		want   string
	}{
		"no id":                      {func(r *retention.Row) { r.ID = "" }, "id is empty, it must be a name of your choice"},
		"an id of two lines":         {func(r *retention.Row) { r.ID = "a\nb" }, `id is "a\nb", it must be one line`},
		"an id that is too long":     {func(r *retention.Row) { r.ID = strings.Repeat("i", 1025) }, "id has 1025 bytes"},
		"the brake's id":             {func(r *retention.Row) { r.ID = "custody-stop" }, "id is custody-stop, the emergency brake's own"},
		"no scope":                   {func(r *retention.Row) { r.Scope = "" }, `scope is "", it must be * for all`},
		"a scope that no run has":    {func(r *retention.Row) { r.Scope = "warehose:wh-17" }, `scope is "warehose:wh-17"`},
		"a scope without an id":      {func(r *retention.Row) { r.Scope = "warehouse:" }, `scope is "warehouse:"`},
		"a scope with a bad id":      {func(r *retention.Row) { r.Scope = "warehouse:a/b" }, `scope is "warehouse:a/b"`},
		"neither key nor prefix":     {func(r *retention.Row) { r.Prefix = "" }, "key or prefix is missing"},
		"both key and prefix":        {func(r *retention.Row) { r.Key = "k" }, "key and prefix are both given"},
		"a key that no object has":   {func(r *retention.Row) { r.Prefix, r.Key = "", strings.Repeat("k", 1025) }, "key has 1025 bytes"},
		"a prefix that is too long":  {func(r *retention.Row) { r.Prefix = strings.Repeat("k", 1025) }, "prefix has 1025 bytes"},
		"a key that is not UTF-8":    {func(r *retention.Row) { r.Prefix, r.Key = "", "a\xff" }, `key is "a\xff", it must be UTF-8`},
		"no reason":                  {func(r *retention.Row) { r.Reason = "" }, `reason is "", it must be one of legal_hold, dispute_evidence, active_manifest, other`},
		"a reason that there is not": {func(r *retention.Row) { r.Reason = "because" }, `reason is "because"`},
		"a reason that decisions give": {func(r *retention.Row) { r.Reason = retention.ReasonUnreadableHold },
			`reason is "unreadable_hold"`},
		"the brake's reason": {func(r *retention.Row) { r.Reason = retention.ReasonStop },
			"reason is \"stop\", it must be one of legal_hold, dispute_evidence, active_manifest, other; the emergency brake is `custody stop`"},
		"nobody":               {func(r *retention.Row) { r.By = "" }, "by is empty: who placed a hold is kept in it"},
		"a note of two lines":  {func(r *retention.Row) { r.Note = "a\nb" }, `note is "a\nb"`},
		"an expiry right now":  {func(r *retention.Row) { r.ExpiresAt = now }, "expiry is 2026-11-30T12:00:00Z, it must be in the future"},
		"an expiry in a while": {func(r *retention.Row) { r.ExpiresAt = now.Add(time.Second) }, ""},
		"for every scope":      {func(r *retention.Row) { r.Scope = "*" }, ""},
		"for a listing":        {func(r *retention.Row) { r.Scope = "listing:4821" }, ""},
		"two things at once":   {func(r *retention.Row) { r.Scope, r.Reason = "x", "y" }, `scope is "x", it must be * for all, or warehouse: or listing: and an id, such as warehouse:wh-17` + "\n" + `reason is "y"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, _, err := w.AddHold(t.Context(), aHold(test.change))
			rows, readErr := w.Holds.AllRows(t.Context())
			if readErr != nil {
				t.Fatal(readErr)
			}
			if test.want == "" {
				if err != nil || len(rows) != 1 {
					t.Errorf("error %v, %d rows", err, len(rows))
				}
				return
			}
			if _, ok := errors.AsType[*operator.InvalidError](err); !ok || !strings.HasPrefix(text(err), test.want) || len(rows) != 0 {
				t.Errorf("error %v with %d rows written, want %s", err, len(rows), test.want)
			}
		})
	}
}

// Every scope that a command can have is one that a hold can be placed on.
func TestTheScopesOfCommandsAreKnown(t *testing.T) {
	t.Parallel()
	d, err := command.NewDecoder(command.Settings{Accepted: []string{command.CleanupRun}, Bucket: "b", WarehousePrefixes: []string{"pod/{warehouse_id}/"}})
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := d.Decode([]byte(`{"run_id":"r-1","warehouse_id":"wh:17","expired_before":"2026-08-30T00:00:00Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := operator.CheckScope(cmd.Scope); err != nil {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		hold retention.Hold
		want []string
	}{
		"a folder":               {retention.Hold{Prefix: "pod/wh-17/"}, nil},
		"a key":                  {retention.Hold{Key: "pod/wh-17/a"}, nil},
		"a prefix without slash": {retention.Hold{Prefix: "pod/wh-17"}, []string{`prefix "pod/wh-17" does not end in /: it also covers keys such as "pod/wh-171/a"`}},
		"a key with a slash":     {retention.Hold{Key: "pod/"}, []string{`key "pod/" ends in /: it covers that one key and nothing below it; a prefix would`}},
		"a bucket in front":      {retention.Hold{Prefix: "s3://b/pod/"}, []string{`"s3://b/pod/" begins with s3://: keys are written without the bucket`}},
		"a slash in front":       {retention.Hold{Key: "/pod"}, []string{`"/pod" begins with /: keys seldom do`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, operator.Warnings(test.hold)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAHoldIsAddedOnceAndNeverReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	half := now.Add(time.Hour + time.Millisecond)
	hold := aHold(func(r *retention.Row) { r.ExpiresAt = half })
	for _, want := range []bool{false, true} { // the second is the same command again, or its repetition after a lost answer
		if _, already, err := w.AddHold(t.Context(), hold); already != want || err != nil {
			t.Fatalf("already %v, error %v", already, err)
		}
	}
	for sentence, change := range map[string]func(*retention.Row){
		"another prefix": func(r *retention.Row) { r.Prefix = "pod/" },
		"a key instead":  func(r *retention.Row) { r.Key, r.Prefix = "pod/wh-17/991/", "" },
		"another reason": func(r *retention.Row) { r.Reason = retention.ReasonOther },
		"another note":   func(r *retention.Row) { r.Note = "" },
		"another expiry": func(r *retention.Row) { r.ExpiresAt = time.Time{} },
	} {
		other := hold
		change(&other)
		_, _, err := w.AddHold(t.Context(), other)
		want := `hold dispute-991 of warehouse:wh-17 exists already (prefix "pod/wh-17/991/", dispute_evidence); remove it first, or choose another id`
		if _, ok := errors.AsType[*operator.ExistsError](err); !ok || text(err) != want {
			t.Errorf("%s: error %v", sentence, err)
		}
	}
	one := aHold(func(r *retention.Row) { r.ID, r.Key, r.Prefix = "one", "a", "" })
	if _, _, err := w.AddHold(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	one.Key = "b"
	if _, _, err := w.AddHold(t.Context(), one); text(err) != `hold one of warehouse:wh-17 exists already (key "a", dispute_evidence); remove it first, or choose another id` {
		t.Errorf("another key: error %v", err)
	}
	w.removes(t, one.Scope, one.ID)
	want := hold
	want.ExpiresAt, want.CreatedAt = now.Add(time.Hour+time.Second), now // rounded up: it does not end before it was told to
	rows, err := w.ListHolds(t.Context(), hold.Scope)
	if diff := cmp.Diff([]retention.Row{want}, rows); diff != "" || err != nil {
		t.Errorf("stored, error %v (-want +got):\n%s", err, diff)
	}
	// Once it is over, its id is free again.
	w.Now = func() time.Time { return now.Add(2 * time.Hour) }
	later := hold
	later.ExpiresAt, later.Note = time.Time{}, "again"
	if _, already, err := w.AddHold(t.Context(), later); already || err != nil {
		t.Errorf("over an expired hold: already %v, error %v", already, err)
	}
}

// removes shows the hold and removes it.
func (w *world) removes(t *testing.T, scope, id string) retention.Row {
	t.Helper()
	shown, err := w.Hold(t.Context(), scope, id)
	if err != nil {
		t.Fatal(err)
	}
	row, err := w.RemoveHold(t.Context(), shown)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestRemoveHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, _, err := w.AddHold(t.Context(), aHold(nil)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ scope, id, want string }{
		{"warehouse:wh-18", "dispute-991", "no hold dispute-991 of warehouse:wh-18: looked up row dispute-991 of scope warehouse:wh-18"},
		{"warehouse:wh-17", "dispute-992", "no hold dispute-992 of warehouse:wh-17: looked up row dispute-992 of scope warehouse:wh-17"},
		{"", "dispute-991", `scope is "", it must be`},
		{"*", "", "id is empty"},
	} {
		if _, err := w.Hold(t.Context(), test.scope, test.id); !strings.HasPrefix(text(err), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
	shown, err := w.Hold(t.Context(), "warehouse:wh-17", "dispute-991")
	if err != nil {
		t.Fatal(err)
	}
	w.putRow(t, map[string]string{"scope": shown.Scope, "hold_id": shown.ID, "prefix": "pod/", "reason": "other", "by": "bob", "note": "all of it"})
	_, err = w.RemoveHold(t.Context(), shown)
	want := `hold dispute-991 of warehouse:wh-17 was changed after it was shown, and stays; now it says: prefix "pod/", other, by bob, note all of it`
	if _, is := errors.AsType[*operator.ChangedError](err); !is || text(err) != want {
		t.Errorf("of a hold that was changed: error %v", err)
	}
	if row := w.removes(t, "warehouse:wh-17", "dispute-991"); row.Prefix != "pod/" || row.By != "bob" {
		t.Errorf("removed %+v", row)
	}
	if _, err := w.RemoveHold(t.Context(), shown); !strings.HasPrefix(text(err), "no hold dispute-991 of warehouse:wh-17: ") {
		t.Errorf("of a hold that somebody else has removed: error %v", err)
	}
}

// putRow writes a row as another system might.
func (w *world) putRow(t *testing.T, row map[string]string) {
	t.Helper()
	item := map[string]types.AttributeValue{}
	for name, value := range row {
		item[name] = &types.AttributeValueMemberS{Value: value}
	}
	if _, err := w.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(holdsTable), Item: item}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) fillHolds(t *testing.T) {
	t.Helper()
	for _, row := range []retention.Row{
		aHold(func(r *retention.Row) { r.ID = "b" }), aHold(func(r *retention.Row) { r.ID = "a" }),
		aHold(func(r *retention.Row) { r.Scope = "*" }), aHold(func(r *retention.Row) { r.Scope = "warehouse:wh-18" }),
		aHold(func(r *retention.Row) { r.ID, r.ExpiresAt = "short", now.Add(time.Second) }),
	} {
		if _, _, err := w.AddHold(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	w.putRow(t, map[string]string{"scope": "warehouse:wh-17", "hold_id": "odd", "reason": "legal hold", "key": "k"})
}

func names(rows []retention.Row) []string {
	var all []string
	for _, row := range rows {
		all = append(all, row.Scope+" "+row.ID)
	}
	return all
}

func TestListHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fillHolds(t)
	own := []string{"* dispute-991", "warehouse:wh-17 a", "warehouse:wh-17 b", "warehouse:wh-17 odd", "warehouse:wh-17 short"}
	for scope, want := range map[string][]string{
		"*":               {"* dispute-991"},
		"warehouse:wh-17": own,
		"warehouse:wh-19": {"* dispute-991"},
		"":                append(own, "warehouse:wh-18 dispute-991"),
	} {
		rows, err := w.ListHolds(t.Context(), scope)
		if diff := cmp.Diff(want, names(rows)); diff != "" || err != nil {
			t.Errorf("scope %q, error %v (-want +got):\n%s", scope, err, diff)
		}
	}
	if _, err := w.ListHolds(t.Context(), "wh-17"); !strings.HasPrefix(text(err), `scope is "wh-17"`) {
		t.Errorf("error %v", err)
	}
	rows, err := w.ListHolds(t.Context(), "warehouse:wh-17")
	if err != nil {
		t.Fatal(err)
	}
	if odd := rows[3]; odd.Reason != retention.ReasonUnreadableHold || odd.Key != "" || !strings.HasPrefix(odd.Problem, "reason is not one of") {
		t.Errorf("a row that cannot be understood is %+v", odd)
	}
}

func TestCoverIsWhatIsInForceForARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fillHolds(t)
	w.putRow(t, map[string]string{"scope": "*", "hold_id": "incident", "reason": "stop"})
	w.Now = func() time.Time { return now.Add(time.Second) }
	cover, err := w.Cover(t.Context(), runIn(inbox.StatePending))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{"stops": names(cover.Stops), "holds": names(cover.Holds)}
	want := map[string][]string{
		"stops": {"* incident"}, "holds": {"warehouse:wh-17 a", "warehouse:wh-17 b", "warehouse:wh-17 odd", "* dispute-991"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cover (-want +got):\n%s", diff)
	}
}

func TestHoldsOfAStoreThatIsDownAreNeverNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for sentence, ask := range map[string]func() error{
		"list all":   func() error { _, err := w.ListHolds(ctx, ""); return err },
		"list a few": func() error { _, err := w.ListHolds(ctx, "warehouse:wh-17"); return err },
		"cover":      func() error { _, err := w.Cover(ctx, runIn(inbox.StatePending)); return err },
		"add":        func() error { _, _, err := w.AddHold(ctx, aHold(nil)); return err },
		"remove":     func() error { _, err := w.RemoveHold(ctx, aHold(nil)); return err },
		"stop":       func() error { _, _, err := w.Stop(ctx, "*", "alice", "why"); return err },
		"resume":     func() error { _, err := w.Resume(ctx, "*"); return err },
	} {
		if err := ask(); !errors.Is(err, inbox.ErrUnavailable) {
			t.Errorf("%s: error %v", sentence, err)
		}
	}
}
