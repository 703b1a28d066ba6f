package producer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"custody/internal/command"
)

// Form is how a field's value is written.
type Form string

const (
	// FormID is an identifier in the alphabet of delivery ids.
	FormID Form = "id"
	// FormTime is RFC 3339 with an offset.
	FormTime Form = "time"
	// FormNumber is a whole number from 1.
	FormNumber Form = "number"
)

// Field is one field of a command's payload, in the payload's own spelling.
type Field struct {
	Name  string
	Form  Form
	Means string
}

// Fields lists what a command's payload has beside its type; nil for a type that there is not.
func Fields(commandType string) []Field {
	return map[string][]Field{
		command.CleanupRun: {
			{"run_id", FormID, "names the run"},
			{"warehouse_id", FormID, "whose objects are cleaned up"},
			{"expired_before", FormTime, "only versions modified before it go"},
		},
		command.ListingExpire: {
			{"listing_id", FormID, "whose search and reservation data is removed"},
			{"generation", FormNumber, "counts the listing's expiries; one run for each"},
			{"expired_at", FormTime, "only versions modified before it go"},
		},
		command.ReservationExpire: {
			{"reservationId", FormID, "the reservation to expire"},
			{"titleId", FormID, "what was reserved"},
			{"expiresAt", FormTime, "its deadline; a reservation that was extended beyond it stays"},
		},
	}[commandType]
}

// Payload builds the body of a command from the values of its fields, by name, and checks it as the receiver does. An error
// is a *command.Error and names the fields.
func Payload(commandType string, values map[string]string) ([]byte, error) {
	fields := Fields(commandType)
	if fields == nil {
		return nil, &command.Error{Problems: []command.Problem{{Field: "type", Allowed: "one of " + strings.Join(command.Types(), ", ")}}}
	}
	for name := range values {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			return nil, &command.Error{Problems: []command.Problem{{Field: name, Allowed: "left out of " + commandType}}}
		}
	}
	members := []string{`"type":` + quote(commandType)}
	for _, f := range fields {
		members = append(members, quote(f.Name)+":"+f.write(values[f.Name]))
	}
	body := []byte("{" + strings.Join(members, ",") + "}")
	if err := check(body); err != nil {
		return nil, err
	}
	return body, nil
}

// write is the value in JSON. What is no number in plain digits becomes a string, so that the check names the field.
func (f Field) write(value string) string {
	if f.Form == FormNumber && value != "" && strings.Trim(value, "0123456789") == "" && value[0] != '0' {
		return value
	}
	return quote(value)
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(fmt.Sprintf("quote: %v", err))
	}
	return string(text)
}

// check decodes as a stack that accepts everything. Whether the command is due is for the receiver's clock and settings.
func check(body []byte) error {
	d, err := command.NewDecoder(command.Settings{
		Accepted: command.Types(), Bucket: "any",
		WarehousePrefixes: []string{"w/" + command.WarehousePlaceholder + "/"}, ListingPrefixes: []string{"l/" + command.ListingPlaceholder + "/"},
	})
	if err != nil {
		return fmt.Errorf("check the payload: %w", err)
	}
	_, err = d.Decode(body)
	return err
}
