package command_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/inbox"
)

func settings() command.Settings {
	return command.Settings{
		Accepted: []string{command.CleanupRun}, Bucket: "pods", MinObjectAge: 24 * time.Hour,
		WarehousePrefixes: []string{"pod/{warehouse_id}/", "labels/{warehouse_id}/"},
	}
}

func decoder(t testing.TB, s command.Settings) *command.Decoder {
	t.Helper()
	d, err := command.NewDecoder(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const good = `{"run_id":"r-1","warehouse_id":"wh-17","expired_before":"2026-08-30T12:00:00+02:00"}`

func TestCleanupRunBecomesARun(t *testing.T) {
	t.Parallel()
	got, err := decoder(t, settings()).Decode([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	cutoff := time.Date(2026, 8, 30, 10, 0, 0, 0, time.UTC)
	want := command.Command{
		Type:  "cleanup.run",
		Run:   inbox.RunKey{Type: "cleanup.run", Key: "r-1"},
		Scope: "warehouse:wh-17",
		Selection: inbox.Selection{
			Bucket: "pods", Prefixes: []string{"pod/wh-17/", "labels/wh-17/"}, Cutoff: cutoff,
		},
		Due: cutoff.Add(24 * time.Hour),
		// printf '["cleanup.run","r-1","wh-17","2026-08-30T10:00:00Z"]' | sha256sum
		Hash: "40e982461146a9d437cd13473d55449e072700eff6a44cc747a35054c986c5ac",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}

func TestCutoffIsRoundedDownToTheSecondAndDueIsNot(t *testing.T) {
	t.Parallel()
	body := strings.Replace(good, "12:00:00", "12:00:00.999999999", 1)
	got, err := decoder(t, settings()).Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	cutoff := time.Date(2026, 8, 30, 10, 0, 0, 0, time.UTC)
	if want := cutoff.Add(24*time.Hour + 999999999); !got.Selection.Cutoff.Equal(cutoff) || !got.Due.Equal(want) {
		t.Errorf("cutoff %s, want %s; due %s, want %s", got.Selection.Cutoff, cutoff, got.Due, want)
	}
}

func TestPayloadsThatAreTheSameCommand(t *testing.T) {
	t.Parallel()
	d := decoder(t, settings())
	first, err := d.Decode([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for sentence, body := range map[string]string{
		"with its type":               strings.Replace(good, "{", `{"type":"cleanup.run",`, 1),
		"with an escaped name":        strings.Replace(good, "run_id", `run\u005fid`, 1),
		"in another time zone":        strings.Replace(good, "12:00:00+02:00", "10:00:00Z", 1),
		"with a fraction of zero":     strings.Replace(good, "12:00:00", "12:00:00.000", 1),
		"in another order":            `{"expired_before":"2026-08-30T10:00:00Z","warehouse_id":"wh-17","run_id":"r-1"}`,
		"with whitespace around":      " \r\n\t" + good + "\n\n",
		"with unknown extra fields":   strings.Replace(good, "{", `{"note":null,"more":[{"a":1,"b":{"a":1}}],"n":1e999,`, 1),
		"with a number above 2^53":    strings.Replace(good, "{", `{"n":9007199254740993,`, 1),
		"with the same name deeper":   strings.Replace(good, "{", `{"more":{"run_id":1,"list":["run_id","RUN_ID"]},`, 1),
		"with an emoji in a field":    strings.Replace(good, "{", `{"note":"🙂 \ud83d\ude42",`, 1),
		"with 1,000 levels of a list": strings.Replace(good, "{", `{"deep":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`,`, 1),
	} {
		got, err := d.Decode([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", sentence, err)
		} else if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestHashIsOfTheCommandNotOfTheStack(t *testing.T) {
	t.Parallel()
	other := settings()
	other.Bucket, other.MinObjectAge, other.WarehousePrefixes = "elsewhere", 0, []string{"x/{warehouse_id}/"}
	a, errA := decoder(t, settings()).Decode([]byte(good))
	b, errB := decoder(t, other).Decode([]byte(good))
	if errA != nil || errB != nil || a.Hash != b.Hash {
		t.Errorf("hashes %s (%v) and %s (%v) differ by the stack's settings", a.Hash, errA, b.Hash, errB)
	}
	seen := map[string]string{a.Hash: "the command itself"}
	for sentence, body := range map[string]string{
		"another run":       strings.Replace(good, "r-1", "r-2", 1),
		"another warehouse": strings.Replace(good, "wh-17", "wh-1", 1),
		"another cutoff":    strings.Replace(good, "12:00:00", "12:00:01", 1),
		"another fraction":  strings.Replace(good, "12:00:00", "12:00:00.5", 1),
		"ids that share":    strings.Replace(strings.Replace(good, "r-1", "r-1wh-1", 1), "wh-17", "7", 1),
	} {
		got, err := decoder(t, settings()).Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if twin, twice := seen[got.Hash]; twice {
			t.Errorf("%s has the hash of %s", sentence, twin)
		}
		seen[got.Hash] = sentence
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	add := func(member string) string { return strings.Replace(good, "{", "{"+member+",", 1) }
	put := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	whole, run, warehouse, before := []string{""}, []string{"run_id"}, []string{"warehouse_id"}, []string{"expired_before"}

	for sentence, c := range map[string]struct {
		body string
		want []string // the fields that the error names
	}{
		"nothing":                           {"", whole},
		"whitespace":                        {" \n", whole},
		"null":                              {"null", whole},
		"a list":                            {"[" + good + "]", whole},
		"a string":                          {`"cleanup.run"`, whole},
		"broken JSON":                       {good[:len(good)-1], whole},
		"a byte order mark":                 {"\ufeff" + good, whole},
		"a second object":                   {good + good, whole},
		"trailing garbage":                  {good + "x", whole},
		"a trailing NUL":                    {good + "\x00", whole},
		"a trailing comma":                  {put("}", ",}"), whole},
		"a comment":                         {put("{", "{/**/"), whole},
		"a single-quoted name":              {put(`"run_id"`, `'run_id'`), whole},
		"a duplicate name":                  {add(`"run_id":"r-2"`), whole},
		"a duplicate name, escaped":         {add(`"run\u005fid":"r-2"`), whole},
		"a duplicate name deep below":       {add(`"more":[{"x":{"a":1,"a":2}}]`), whole},
		"a name in two cases":               {add(`"RUN_ID":"r-2"`), whole},
		"an unknown name in two cases":      {add(`"Note":1,"note":2`), whole},
		"a name in two cases deep below":    {add(`"more":[{"x":{"a":1,"A":2}}]`), whole},
		"a name in two cases of a long s":   {add(`"s":1,"\u017f":2`), whole},
		"a name in two cases by Unicode":    {add(`"k":1,"\u212a":2`), whole},
		"invalid UTF-8 in an unknown field": {add("\"note\":\"\xff\""), whole},
		"invalid UTF-8 in a name":           {add("\"\xff\":1"), whole},
		"an overlong slash":                 {put("wh-17", "wh\xc0\xaf17"), whole},
		"a lone surrogate":                  {put("r-1", `r\ud800`), whole},
		"a lone surrogate in an extra":      {add(`"note":"\udc00"`), whole},
		"surrogates the wrong way round":    {add(`"note":"\ude42\ud83d"`), whole},
		"a bare control character":          {add("\"note\":\"\x01\""), whole},
		"NaN":                               {add(`"n":NaN`), whole},
		"a leading zero":                    {add(`"n":01`), whole},
		"20,000 levels":                     {add(`"deep":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000)), whole},
		"an unknown type":                   {add(`"type":"warehouse.burn"`), []string{"type"}},
		"a type that is not accepted here":  {add(`"type":"listing.expire"`), []string{"type"}},
		"a type in upper case":              {add(`"type":"CLEANUP.RUN"`), []string{"type"}},
		"an empty type":                     {add(`"type":""`), []string{"type"}},
		"a null type":                       {add(`"type":null`), []string{"type"}},
		"a type in a list":                  {add(`"type":["cleanup.run"]`), []string{"type"}},
		"Type for type":                     {add(`"Type":"listing.expire"`), []string{"type"}},
		"no run id":                         {put(`"run_id":"r-1",`, ""), run},
		"a null run id":                     {put(`"r-1"`, "null"), run},
		"a number as run id":                {put(`"r-1"`, "1"), run},
		"an empty run id":                   {put("r-1", ""), run},
		"a run id of 129 characters":        {put("r-1", strings.Repeat("r", 129)), run},
		"a run id with a NUL":               {put("r-1", `r\u0000`), run},
		"a run id with the separator":       {put("r-1", "r#1"), run},
		"a run id with a newline":           {put("r-1", `r\n`), run},
		"a run id with an emoji":            {put("r-1", "r🙂"), run},
		"RUN_ID for run_id":                 {put("run_id", "RUN_ID"), []string{"run_id", "run_id"}},
		"a warehouse with a slash":          {put("wh-17", "wh/17"), warehouse},
		"a warehouse that climbs":           {put("wh-17", ".."), warehouse},
		"a warehouse with a wildcard":       {put("wh-17", "*"), warehouse},
		"a warehouse that is a template":    {put("wh-17", "{warehouse_id}"), warehouse},
		"an empty warehouse":                {put("wh-17", ""), warehouse},
		"a time without an offset":          {put("+02:00", ""), before},
		"a date":                            {put("T12:00:00+02:00", ""), before},
		"Unix seconds":                      {put(`"2026-08-30T12:00:00+02:00"`, "1788084000"), before},
		"an empty time":                     {put("2026-08-30T12:00:00+02:00", ""), before},
		"a comma before the fraction":       {put("12:00:00", "12:00:00,5"), before},
		"an hour of one digit":              {put("T12", "T1"), before},
		"a space for the T":                 {put("T12", " 12"), before},
		"the 31st of a short month":         {put("08-30", "09-31"), before},
		"an offset of 24 hours":             {put("+02:00", "+24:00"), before},
		"a year of five digits":             {put("2026", "20260"), before},
		"a year before the Unix epoch":      {put("2026", "1969"), before},
		"a year pushed below zero":          {put("2026-08-30T12", "0000-01-01T00"), before},
		"a year pushed to five digits":      {put("2026-08-30T12:00:00+", "9999-12-31T23:00:00-"), before},
		"all three fields wrong":            {`{}`, []string{"expired_before", "run_id", "warehouse_id"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, err := decoder(t, settings()).Decode([]byte(c.body))
			bad, ok := errors.AsType[*command.Error](err)
			if !ok {
				t.Fatalf("got %+v and error %v, want a *command.Error", got, err)
			}
			var fields []string
			for _, p := range bad.Problems {
				fields = append(fields, p.Field)
			}
			if diff := cmp.Diff(c.want, fields); diff != "" {
				t.Errorf("fields of %q (-want +got):\n%s", bad, diff)
			}
			if diff := cmp.Diff(command.Command{}, got); diff != "" {
				t.Errorf("a command beside the error:\n%s", diff)
			}
		})
	}
}

func TestErrorsNameFieldAndRuleButNeverTheValue(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"run_id":"SECRET/","warehouse_id":"SECRET/","expired_before":"SECRET"}`, `{"type":"SECRET"}`,
		`{"SECRET":1,"SECRET":2}`, `{"secret":1,"SECRET":2}`, `{"x":"\ud800SECRET"}`, `{"x":"` + "\xff" + `SECRET"}`,
		`{SECRET`, `{} SECRET`, `{"RUN_ID":"SECRET"}`,
	} {
		_, err := decoder(t, settings()).Decode([]byte(body))
		if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: error %q", body, err)
		}
	}
}

func TestTypeThatIsAbsentIsTheFirstAccepted(t *testing.T) {
	t.Parallel()
	got, err := decoder(t, settings()).Decode([]byte(good))
	if err != nil || got.Run.Type != settings().Accepted[0] {
		t.Errorf("type %q, error %v", got.Run.Type, err)
	}
}

func TestSettingsThatCannotWorkFailTheStart(t *testing.T) {
	t.Parallel()
	for sentence, change := range map[string]func(*command.Settings){
		"no command type":         func(s *command.Settings) { s.Accepted = nil },
		"an unknown command type": func(s *command.Settings) { s.Accepted = append(s.Accepted, "warehouse.burn") },
		"a command type twice":    func(s *command.Settings) { s.Accepted = append(s.Accepted, command.CleanupRun) },
		"no bucket":               func(s *command.Settings) { s.Bucket = "" },
		"no prefix":               func(s *command.Settings) { s.WarehousePrefixes = nil },
		"a prefix without its id": func(s *command.Settings) { s.WarehousePrefixes = []string{"pod/"} },
	} {
		s := settings()
		change(&s)
		if _, err := command.NewDecoder(s); err == nil {
			t.Errorf("%s: accepted", sentence)
		}
	}
}
