package command_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/signature"
)

// lenient is a second reader of the payloads: the one of encoding/json, which takes names in any case, the last of two, and
// broken text.
type lenient struct {
	Type          *string     `json:"type"`
	RunID         string      `json:"run_id"`
	WarehouseID   string      `json:"warehouse_id"`
	ExpiredBefore time.Time   `json:"expired_before"`
	ListingID     string      `json:"listing_id"`
	Generation    json.Number `json:"generation"`
	ExpiredAt     time.Time   `json:"expired_at"`
	ReservationID string      `json:"reservationId"`
	ExpiresAt     time.Time   `json:"expiresAt"`
}

// command is what the second reader takes the payload for, under the type. Only what it cannot know is missing.
func (l lenient) command(commandType string) command.Command {
	c := command.Command{Type: commandType, Run: inbox.RunKey{Type: commandType}}
	c.Selection.Bucket = "pods"
	switch commandType {
	case command.CleanupRun:
		c.Run.Key, c.Scope = l.RunID, "warehouse:"+l.WarehouseID
		c.Selection.Prefixes = []string{"pod/" + l.WarehouseID + "/", "labels/" + l.WarehouseID + "/"}
		c.Selection.Cutoff, c.Due = l.ExpiredBefore, l.ExpiredBefore.Add(24*time.Hour)
	case command.ListingExpire:
		c.Run.Key, c.Scope = "listing-"+l.ListingID+":expiry-"+l.Generation.String(), "listing:"+l.ListingID
		c.Selection.Prefixes = []string{"search/" + l.ListingID + "/", "reservations/" + l.ListingID + "/"}
		c.Selection.Cutoff, c.Due = l.ExpiredAt, l.ExpiredAt
	case command.ReservationExpire:
		c.Run, c.Selection = inbox.RunKey{}, inbox.Selection{}
		c.Expiry, c.Due = &inbox.Expiry{ReservationID: l.ReservationID, ExpiresAt: l.ExpiresAt}, l.ExpiresAt
	}
	return c
}

// FuzzDecode holds what is accepted, of each type and as each default, against a second, lenient reader: whatever it reads, it
// must read the same command. A selection never leaves the prefixes of its own id.
func FuzzDecode(f *testing.F) {
	for _, s := range samples() {
		f.Add([]byte(s.with("note", "1")))
		f.Add([]byte(s.with("type", "")))
	}
	f.Add([]byte(strings.Repeat("[", 100)))
	var decoders []*command.Decoder
	for _, first := range command.Types() {
		order := []string{first}
		for _, other := range command.Types() {
			if other != first {
				order = append(order, other)
			}
		}
		decoders = append(decoders, decoder(f, everything(order...)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for i, d := range decoders {
			got, err := d.Decode(body)
			if err != nil {
				continue
			}
			var other lenient
			if err := json.Unmarshal(body, &other); err != nil {
				t.Fatalf("accepted what encoding/json refuses: %v", err)
			}
			meant := command.Types()[i]
			if other.Type != nil {
				meant = *other.Type
			}
			checkRead(t, got, other.command(meant))
		}
	})
}

func checkRead(t *testing.T, got, want command.Command) {
	t.Helper()
	if got.Type != want.Type || got.Run != want.Run || got.Scope != want.Scope || !got.Due.Equal(want.Due) ||
		(got.Expiry == nil) != (want.Expiry == nil) {
		t.Fatalf("read %+v, another reader %+v", got, want)
	}
	if got.Expiry != nil {
		if got.Expiry.ReservationID != want.Expiry.ReservationID || !got.Expiry.ExpiresAt.Equal(want.Expiry.ExpiresAt) ||
			!signature.ValidID(got.Expiry.ReservationID) || got.Hash != "" || len(got.Selection.Prefixes) > 0 {
			t.Fatalf("read %+v of %+v, another reader %+v", got, got.Expiry, want.Expiry)
		}
		return
	}
	early := want.Selection.Cutoff.Sub(got.Selection.Cutoff)
	if early < 0 || early >= time.Second || got.Selection.Cutoff.Nanosecond() != 0 || got.Selection.Bucket != want.Selection.Bucket {
		t.Fatalf("selection %+v, another reader %+v", got.Selection, want.Selection)
	}
	if strings.Join(got.Selection.Prefixes, ",") != strings.Join(want.Selection.Prefixes, ",") || !command.ValidScope(got.Scope) {
		t.Fatalf("prefixes %q of %q, another reader %q", got.Selection.Prefixes, got.Scope, want.Selection.Prefixes)
	}
	if back, ok := inbox.ParseItemKey(got.Run.ItemKey()); !ok || back != got.Run || len(got.Hash) != 64 {
		t.Fatalf("item key %q reads back as %v, hash %q", got.Run.ItemKey(), back, got.Hash)
	}
}

// FuzzFields fills the fields of each type with raw JSON, so that the fuzzer need not find the names. What is accepted is exactly
// what the rules say.
func FuzzFields(f *testing.F) {
	f.Add(uint8(0), `"r-1"`, `"wh-17"`, `"2026-08-30T12:00:00Z"`)
	f.Add(uint8(1), `"4821"`, `3`, `"2026-08-30T12:00:00.999Z"`)
	f.Add(uint8(2), `"res-7"`, `"title-1"`, `"2026-08-30T12:00:00+02:00"`)
	f.Add(uint8(1), `"4821"`, `9223372036854775807`, `"9999-12-31T23:59:59Z"`)
	f.Add(uint8(1), `"4821"`, `9007199254740993.0`, `"1970-01-01T00:00:00Z"`)
	f.Add(uint8(1), `"4821","generation":4`, `3`, `null`)
	d := decoder(f, everything())
	form := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`) // RFC 3339, section 5.6
	f.Fuzz(func(t *testing.T, which uint8, first, second, third string) {
		s := samples()[int(which)%len(samples())]
		names := map[string][]string{
			command.CleanupRun:        {"run_id", "warehouse_id", "expired_before"},
			command.ListingExpire:     {"listing_id", "generation", "expired_at"},
			command.ReservationExpire: {"reservationId", "titleId", "expiresAt"},
		}[s.commandType]
		body := `{"type":"` + s.commandType + `","` + names[0] + `":` + first + `,"` + names[1] + `":` + second + `,"` + names[2] + `":` + third + `}`
		got, err := d.Decode([]byte(body))
		valid := validID
		if s.commandType == command.ListingExpire {
			valid = validNumber
		}
		want := validID(first) && valid(second) && validTime(form, third)
		// Values that hold whole members of their own are FuzzDecode's.
		if alone := json.Valid([]byte(first)) && json.Valid([]byte(second)) && json.Valid([]byte(third)); alone && want != (err == nil) {
			t.Fatalf("%s: accepted as %+v, error %v", body, got, err)
		}
	})
}

func validID(raw string) bool {
	var id string
	return strings.HasPrefix(strings.TrimSpace(raw), `"`) && json.Unmarshal([]byte(raw), &id) == nil && signature.ValidID(id)
}

func validNumber(raw string) bool {
	n, err := strconv.ParseUint(strings.Trim(raw, " \t\r\n"), 10, 63)
	return err == nil && n > 0
}

// validTime asks the form of RFC 3339, and leaves the calendar to time.Parse.
func validTime(form *regexp.Regexp, raw string) bool {
	var text string
	if !strings.HasPrefix(strings.TrimSpace(raw), `"`) || json.Unmarshal([]byte(raw), &text) != nil || !form.MatchString(text) {
		return false
	}
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && 1970 <= at.UTC().Year() && at.UTC().Year() <= 9999
}
