package command_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
)

// everything is a stack that takes every command type, in the given order or in alphabetical order.
func everything(order ...string) command.Settings {
	s := settings()
	s.ListingPrefixes = []string{"search/{listing_id}/", "reservations/{listing_id}/"}
	s.Accepted = order
	if len(order) == 0 {
		s.Accepted = command.Types()
	}
	return s
}

// sample is a good payload of one type, as the raw JSON of its fields.
type sample struct {
	commandType    string
	times, numbers []string // the other fields are ids
	fields         map[string]string
}

func samples() []sample {
	return []sample{
		{command.CleanupRun, []string{"expired_before"}, nil, map[string]string{
			"run_id": `"r-1"`, "warehouse_id": `"wh-17"`, "expired_before": `"2026-08-30T12:00:00+02:00"`}},
		{command.ListingExpire, []string{"expired_at"}, []string{"generation"}, map[string]string{
			"listing_id": `"4821"`, "generation": "3", "expired_at": `"2026-08-30T12:00:00+02:00"`}},
		{command.ReservationExpire, []string{"expiresAt"}, nil, map[string]string{
			"reservationId": `"res-7"`, "titleId": `"title-1"`, "expiresAt": `"2026-08-30T12:00:00+02:00"`}},
	}
}

// with is the payload with one field of another value, and its type named; "" leaves the field out.
func (s sample) with(field, value string) string {
	fields := maps.Clone(s.fields)
	fields["type"] = `"` + s.commandType + `"`
	fields[field] = value
	var members []string
	for name, raw := range fields {
		if raw != "" {
			members = append(members, `"`+name+`":`+raw)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// broken are the values that no field takes.
func broken() map[string]string {
	return map[string]string{
		"nothing": "", "null": "null", "true": "true", "a list": `["4821"]`, "an object": `{"id":"4821"}`,
		"an empty text": `""`, "a space": `" "`,
	}
}

func brokenIDs() map[string]string {
	return map[string]string{
		"a number": "4821", "129 characters": `"` + strings.Repeat("7", 129) + `"`, "a slash": `"48/21"`,
		"only dots": `".."`, "a NUL": `"48\u000021"`, "the key separator": `"48#21"`, "a newline": `"4821\n"`,
		"a leading space": `" 4821"`, "a trailing space": `"4821 "`, "a wildcard": `"*"`,
		"a placeholder": `"{listing_id}"`, "a percent sign": `"%2F"`, "a backslash": `"48\\21"`,
		"Arabic digits": `"٤٨٢١"`, "an emoji": `"🙂"`, "a leading colon": `":4821"`, "a leading dash": `"-4821"`,
		"a leading dot": `".4821"`, "a comma": `"4821,4822"`, "a fullwidth letter": `"\uff41"`,
	}
}

func brokenTimes() map[string]string {
	return map[string]string{
		"a number of seconds": "1788084000", "a text of seconds": `"1788084000"`, "no offset": `"2026-08-30T12:00:00"`,
		"a date": `"2026-08-30"`, "a comma before the fraction": `"2026-08-30T12:00:00,5Z"`,
		"an hour of one digit": `"2026-08-30T1:00:00Z"`, "a space for the T": `"2026-08-30 12:00:00Z"`,
		"a month of 30 days": `"2026-09-31T00:00:00Z"`, "no leap year": `"2026-02-29T00:00:00Z"`,
		"hour 24": `"2026-08-30T24:00:00Z"`, "an offset of 24 hours": `"2026-08-30T12:00:00+24:00"`,
		"an offset without colon": `"2026-08-30T12:00:00+0200"`, "1969": `"1969-12-31T23:59:59Z"`,
		"1969 by its offset": `"1970-01-01T00:59:59+01:00"`, "year 10000": `"10000-01-01T00:00:00Z"`,
		"year 10000 by its offset": `"9999-12-31T23:30:00-01:00"`, "a trailing newline": `"2026-08-30T12:00:00Z\n"`,
		"Arabic digits": `"٢٠٢٦-08-30T12:00:00Z"`, "a zone's name": `"2026-08-30T12:00:00 UTC"`,
		"HTTP's form": `"Sun, 30 Aug 2026 12:00:00 GMT"`,
	}
}

func brokenNumbers() map[string]string {
	return map[string]string{
		"zero": "0", "minus zero": "-0", "minus one": "-1", "a decimal": "1.0", "a fraction": "0.5", "an exponent": "1e3",
		"an exponent of zero": "3e0", "in quotes": `"3"`, "one above the highest": "9223372036854775808",
		"the lowest": "-9223372036854775808", "2^64": "18446744073709551616", "2^64 and one": "18446744073709551617",
		"100 digits": strings.Repeat("9", 100), "the highest as an exponent": "9.223372036854775807e18",
	}
}

// refused gives the fields that the error names, and requires an error of the right kind and nothing beside it.
func refused(t *testing.T, d *command.Decoder, body string) []string {
	t.Helper()
	got, err := d.Decode([]byte(body))
	bad, ok := errors.AsType[*command.Error](err)
	if !ok {
		t.Fatalf("%s: got %+v and error %v, want a *command.Error", body, got, err)
	}
	if diff := cmp.Diff(command.Command{}, got); diff != "" {
		t.Errorf("%s: a command beside the error:\n%s", body, diff)
	}
	var fields []string
	for _, p := range bad.Problems {
		fields = append(fields, p.Field)
	}
	return fields
}

// Each field of each type, one at a time, with whatever it may not be: the error names that field and no other, and what was
// sent is not in it.
func TestEveryFieldOfEveryType(t *testing.T) {
	t.Parallel()
	d := decoder(t, everything())
	try := func(s sample, field string, wrong map[string]string) {
		for sentence, value := range wrong {
			if diff := cmp.Diff([]string{field}, refused(t, d, s.with(field, value))); diff != "" {
				t.Errorf("%s with %s as %s: fields (-want +got):\n%s", s.commandType, sentence, field, diff)
			}
		}
	}
	for _, s := range samples() {
		if _, err := d.Decode([]byte(s.with("note", "1"))); err != nil {
			t.Fatalf("%s: %v", s.commandType, err)
		}
		for field := range s.fields {
			try(s, field, broken())
			switch {
			case slices.Contains(s.numbers, field):
				try(s, field, brokenNumbers())
			case slices.Contains(s.times, field):
				try(s, field, brokenTimes())
			default:
				try(s, field, brokenIDs())
			}
		}
	}
}

// A field under another spelling of its name is missing, and one that differs in case is named besides.
func TestNamesAreWrittenInExactlyTheseLetters(t *testing.T) {
	t.Parallel()
	d := decoder(t, everything())
	for _, s := range samples() {
		for field, value := range s.fields {
			for _, other := range []string{strings.ToUpper(field), strings.ToUpper(field[:1]) + field[1:], strings.ToLower(field), title(field)} {
				if other == field {
					continue
				}
				body := strings.Replace(s.with(field, value), `"`+field+`"`, `"`+other+`"`, 1)
				if diff := cmp.Diff([]string{field, field}, refused(t, d, body)); diff != "" {
					t.Errorf("%s for %s (-want +got):\n%s", other, field, diff)
				}
				body = s.with(other, value) // beside the right one
				if diff := cmp.Diff([]string{""}, refused(t, d, body)); diff != "" {
					t.Errorf("%s beside %s (-want +got):\n%s", other, field, diff)
				}
			}
			escaped := strings.Replace(s.with(field, value), `"`+field+`"`, `"\u00`+hexOf(field[0])+field[1:]+`"`, 1)
			if _, err := d.Decode([]byte(escaped)); err != nil {
				t.Errorf("%s with its first letter escaped: %v", field, err)
			}
		}
	}
	// Names of another convention, and letters that only look alike, are other names: unknown, and the field is missing.
	for other, field := range map[string]string{
		"reservation_id": "reservationId", "reservation-id": "reservationId", "reservationId ": "reservationId", "r\u0435servationId": "reservationId",
		"titleID\u200b": "titleId", "expires_at": "expiresAt", "listingId": "listing_id", "expiredAt": "expired_at", "gener\u0430tion": "generation",
		"\uff47eneration": "generation", "runId": "run_id", "warehouseId": "warehouse_id",
	} {
		for _, s := range samples() {
			if value, has := s.fields[field]; has {
				body := strings.Replace(s.with(field, value), `"`+field+`"`, `"`+other+`"`, 1)
				if diff := cmp.Diff([]string{field}, refused(t, d, body)); diff != "" {
					t.Errorf("%q for %s (-want +got):\n%s", other, field, diff)
				}
			}
		}
	}
}

// title writes the last word of a name in capitals: reservationID, listing_ID.
func title(field string) string { return field[:len(field)-1] + strings.ToUpper(field[len(field)-1:]) }

func hexOf(c byte) string { return string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]) }

func TestTheTypeIsThatOfThePayloadOrTheFirstAccepted(t *testing.T) {
	t.Parallel()
	for _, order := range orders(command.Types()) {
		d := decoder(t, everything(order...))
		for _, s := range samples() {
			got, err := d.Decode([]byte(s.with("note", "null")))
			if d.Accepts(s.commandType) && (err != nil || got.Type != s.commandType) {
				t.Errorf("%v: a named %s was read as %q, error %v", order, s.commandType, got.Type, err)
			}
			// Never by its fields: a payload without a type is the first one's, and wrong where its fields are another's.
			got, err = d.Decode([]byte(s.with("type", "")))
			if first := s.commandType == order[0]; first != (err == nil) || first && got.Type != order[0] {
				t.Errorf("%v: a %s without its type was read as %q, error %v", order, s.commandType, got.Type, err)
			}
		}
	}
}

// orders are the permutations of every non-empty part of the list.
func orders(all []string) [][]string {
	var found [][]string
	var extend func(chosen []string)
	extend = func(chosen []string) {
		if len(chosen) > 0 {
			found = append(found, slices.Clone(chosen))
		}
		for _, next := range all {
			if !slices.Contains(chosen, next) {
				extend(append(slices.Clone(chosen), next))
			}
		}
	}
	extend(nil)
	return found
}

func TestATypeOutsideCommandsIsUnknown(t *testing.T) {
	t.Parallel()
	for _, order := range orders(command.Types()) {
		d := decoder(t, everything(order...))
		for _, s := range samples() {
			accepted := slices.Contains(order, s.commandType)
			if d.Accepts(s.commandType) != accepted {
				t.Errorf("%v: accepts %s: %t", order, s.commandType, !accepted)
			}
			_, err := d.Decode([]byte(s.with("note", "null")))
			if accepted {
				if err != nil {
					t.Errorf("%v: %s: %v", order, s.commandType, err)
				}
				continue
			}
			want := "type must be one of " + strings.Join(order, ", ")
			if err == nil || err.Error() != want {
				t.Errorf("%v: %s: error %v, want %q", order, s.commandType, err, want)
			}
		}
	}
}

// A type that is not accepted is refused before its fields are looked at: they are another version's business.
func TestATypeThatIsNotAcceptedSaysNothingOfItsFields(t *testing.T) {
	t.Parallel()
	d := decoder(t, everything(command.CleanupRun))
	if diff := cmp.Diff([]string{"type"}, refused(t, d, `{"type":"listing.expire","generation":-1,"RUN_ID":1}`)); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestErrorsOfEveryTypeNeverShowTheValue(t *testing.T) {
	t.Parallel()
	d := decoder(t, everything())
	for _, s := range samples() {
		for field := range s.fields {
			for _, value := range []string{`"SECRET/"`, `{"SECRET":1}`, `["SECRET"]`, `"\u0000SECRET"`, `"SECRET" x`, "SECRET", "777777777777777777777.5"} {
				_, err := d.Decode([]byte(s.with(field, value)))
				if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "7777") || !strings.Contains(err.Error(), " must be ") {
					t.Errorf("%s with %s as %s: error %v", s.commandType, value, field, err)
				}
			}
		}
	}
}

func TestSeveralProblemsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	d := decoder(t, everything())
	for body, want := range map[string]string{
		`{"type":"listing.expire"}`: "expired_at must be an RFC 3339 time with an offset, from 1970 to 9999 in UTC, such as 2026-08-30T00:00:00Z; " +
			"generation must be a whole number from 1 to 9223372036854775807, in digits alone; " +
			"listing_id must be a string of 1 to 128 characters of A-Z a-z 0-9 . _ : -, starting with a letter or digit",
		`{"type":"reservation.expire","titleId":"t"}`: "expiresAt must be an RFC 3339 time with an offset, from 1970 to 9999 in UTC, such as 2026-08-30T00:00:00Z; " +
			"reservationId must be a string of 1 to 128 characters of A-Z a-z 0-9 . _ : -, starting with a letter or digit",
	} {
		if _, err := d.Decode([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", body, err, want)
		}
	}
}

// at is the time that the samples name.
func at() time.Time { return time.Date(2026, 8, 30, 10, 0, 0, 0, time.UTC) }
