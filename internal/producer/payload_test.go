package producer_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/producer"
)

// valuesOf are good values for the fields of a command.
func valuesOf(commandType string) map[string]string {
	values := map[string]string{}
	for _, f := range producer.Fields(commandType) {
		values[f.Name] = map[producer.Form]string{
			producer.FormID: "x-1", producer.FormTime: "2026-08-30T00:00:00+02:00", producer.FormNumber: "9007199254740993",
		}[f.Form]
	}
	return values
}

func TestPayloadOfEachCommand(t *testing.T) {
	t.Parallel()
	for commandType, want := range map[string]string{
		command.CleanupRun:        `{"type":"cleanup.run","run_id":"x-1","warehouse_id":"x-1","expired_before":"2026-08-30T00:00:00+02:00"}`,
		command.ListingExpire:     `{"type":"listing.expire","listing_id":"x-1","generation":9007199254740993,"expired_at":"2026-08-30T00:00:00+02:00"}`,
		command.ReservationExpire: `{"type":"reservation.expire","reservationId":"x-1","titleId":"x-1","expiresAt":"2026-08-30T00:00:00+02:00"}`,
	} {
		got, err := producer.Payload(commandType, valuesOf(commandType))
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", commandType, err, diff)
		}
	}
	for _, commandType := range command.Types() {
		if producer.Fields(commandType) == nil {
			t.Errorf("nobody can build a %s", commandType)
		}
	}
}

func TestEachFieldThatIsMissingOrWrongIsNamed(t *testing.T) {
	t.Parallel()
	for _, commandType := range command.Types() {
		for _, f := range producer.Fields(commandType) {
			for _, value := range []string{"", "a/b", "0", "-1", "1.5", " 1", "007", "\xff", `x","more":"y`} {
				if f.Form == producer.FormID && (value == "0" || value == "1.5" || value == "007") {
					continue // ids as good as any
				}
				values := valuesOf(commandType)
				values[f.Name] = value
				body, err := producer.Payload(commandType, values)
				if diff := cmp.Diff([]string{f.Name}, named(err)); diff != "" || body != nil {
					t.Errorf("%s with %s %q: %v (-want +got):\n%s", commandType, f.Name, value, err, diff)
				}
			}
			values := valuesOf(commandType)
			delete(values, f.Name)
			if _, err := producer.Payload(commandType, values); !slices.Equal(named(err), []string{f.Name}) {
				t.Errorf("%s without %s: %v", commandType, f.Name, err)
			}
		}
	}
	stray := valuesOf(command.CleanupRun)
	stray["listing_id"] = "4821"
	if _, err := producer.Payload(command.CleanupRun, stray); !slices.Equal(named(err), []string{"listing_id"}) {
		t.Errorf("a field of another command: %v", err)
	}
	if _, err := producer.Payload("cleanup.walk", nil); !slices.Equal(named(err), []string{"type"}) {
		t.Errorf("an unknown type: %v", err)
	}
}

// named are the fields that an error names.
func named(err error) []string {
	bad, ok := errors.AsType[*command.Error](err)
	if !ok {
		return nil
	}
	var fields []string
	for _, p := range bad.Problems {
		fields = append(fields, p.Field)
	}
	return fields
}

func TestADefaultSetOfEveryStackTakesWhatIsBuilt(t *testing.T) {
	t.Parallel()
	d, err := command.NewDecoder(command.Settings{
		Accepted: command.Types(), Bucket: "b", MinObjectAge: 24 * time.Hour,
		WarehousePrefixes: []string{"pod/{warehouse_id}/"}, ListingPrefixes: []string{"search/{listing_id}/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, commandType := range command.Types() {
		body, err := producer.Payload(commandType, valuesOf(commandType))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := d.Decode(body); err != nil || c.Type != commandType {
			t.Errorf("%s is read as %q: %v", body, c.Type, err)
		}
	}
}
