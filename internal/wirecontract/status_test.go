package wirecontract_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// The rows of the table of answers that a single fault cannot show: those that commit, that meet what is there, and that wait. What
// is refused before the store is TestOrderOfTheChecks.
func TestAnswersThatCommitOrMeetWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc, "CUSTODY_RECORD_ONLY=false")
			for sentence, row := range map[string]struct {
				first  func(*message) // of the delivery that is there already; nil: there is none
				second func(*message) // of the delivery that is asked about
				want   string
				stored string // delivery and run of the second one
			}{
				"the first valid delivery":                      {nil, nil, "204 accepted", "delivery and run"},
				"a copy":                                        {same, same, "204 already_processed", "delivery and run"},
				"a copy that is a minute younger":               {same, s.signedAgo(-time.Minute), "204 already_processed", "delivery and run"},
				"a copy with the second key":                    {same, s.withSecondKey, "204 already_processed", "delivery and run"},
				"a copy that does not name its key":             {same, func(m *message) { m.keyID = "" }, "204 already_processed", "delivery and run"},
				"the same command under another id":             {same, s.anotherID, "204 already_processed", "delivery and run"},
				"the same command in another spelling":          {same, s.anotherSpelling, "204 already_processed", "delivery and run"},
				"the same id for another spelling of the body":  {same, respelled, "409 conflict", "delivery and run"},
				"the same id for another warehouse":             {same, selecting("wh-18"), "409 conflict", "delivery and run"},
				"the same id for another run":                   {same, s.anotherRun, "409 conflict", "delivery and run"},
				"the same run for another warehouse":            {same, func(m *message) { s.anotherID(m); selecting("wh-18")(m) }, "409 conflict", "run"},
				"the same run a second later":                   {same, func(m *message) { s.anotherID(m); cutoff("05Z", "06Z")(m) }, "409 conflict", "run"},
				"the same run by another offset of the time":    {same, func(m *message) { s.anotherID(m); cutoff("03:04:05Z", "05:04:05+02:00")(m) }, "204 already_processed", "delivery and run"},
				"the same run key as another type, a new one":   {s.runLikeAListing, s.listing, "204 accepted", "delivery"},
				"due within the window, but not yet":            {nil, due(2 * time.Minute), "503 not_due", ""},
				"due later than the window":                     {nil, due(10 * time.Minute), "422 rejected", ""},
				"the store hangs up":                            {nil, s.storeThat(hangUp), "503 retryable_failure", ""},
				"the store is throttled, and the run is there":  {same, s.storeThat(failing(400, "ThrottlingException", "")), "503 retryable_failure", "delivery and run"},
				"a body of exactly the cap":                     {nil, func(m *message) { m.pad = cap256KiB }, "204 accepted", "delivery and run"},
				"a body of exactly the cap, as binary":          {nil, func(m *message) { m.pad, m.contentType = cap256KiB, "image/png" }, "204 accepted", "delivery and run"},
				"a delivery without a type of content":          {nil, func(m *message) { m.contentType = "" }, "204 accepted", "delivery and run"},
				"a delivery without a type of command":          {nil, withoutType, "204 accepted", "delivery and run"},
				"a delivery whose id has every kind of letter":  {nil, func(m *message) { m.id = "0aZ_:-" + m.id }, "204 accepted", "delivery and run"},
				"a delivery whose id has 128 characters":        {nil, func(m *message) { m.id += strings.Repeat("-", 128-len(m.id)) }, "204 accepted", "delivery and run"},
				"a delivery whose chunks are of seven bytes":    {nil, func(m *message) { m.chunked = true }, "204 accepted", "delivery and run"},
				"a delivery with a question behind the path":    {nil, func(m *message) { m.target += "?verify=false&scheme=body&x=%2F" }, "204 accepted", "delivery and run"},
				"a delivery by the whole address":               {nil, func(m *message) { m.target = "http://" + m.host + m.target }, "204 accepted", "delivery and run"},
				"a delivery with headers that ask for leniency": {nil, lenient, "204 accepted", "delivery and run"},
				"headers in capitals":                           {nil, func(m *message) { m.respell(strings.ToUpper) }, "204 accepted", "delivery and run"},
				"headers in lower case":                         {nil, func(m *message) { m.respell(strings.ToLower) }, "204 accepted", "delivery and run"},
				"headers in both":                               {nil, func(m *message) { m.respell(zigzag) }, "204 accepted", "delivery and run"},
				"the encoding identity":                         {nil, func(m *message) { m.set("Content-Encoding", "identity") }, "204 accepted", "delivery and run"},
				"the encoding IDENTITY, with spaces around":     {nil, func(m *message) { m.set("content-encoding", "  IDENTITY\t") }, "204 accepted", "delivery and run"},
				"headers with spaces and tabs around them":      {nil, func(m *message) { s.aroundEach(m, "  \t", "\t ") }, "204 accepted", "delivery and run"},
			} {
				t.Run(sentence, func(t *testing.T) {
					t.Parallel()
					m := s.delivery()
					run := m.id
					if row.first != nil {
						row.first(&m)
						s.expect(t, "the delivery before", m, "204 accepted")
					}
					if row.second != nil {
						row.second(&m)
					}
					a := s.expect(t, sentence, m, row.want)
					s.gate.on(m.id, nil)
					if got := s.stored(t, m.id, run); got != row.stored {
						t.Errorf("the table has %q, want %q", got, row.stored)
					}
					if wait, _ := strconv.Atoi(a.header.Get("Retry-After")); row.want == "503 not_due" && (wait < 60 || wait > 120) {
						t.Errorf("Retry-After is %d s for two minutes", wait)
					}
				})
			}
		})
	}
}

func same(*message) {}

func (s stack) signedAgo(ago time.Duration) func(*message) {
	return func(m *message) {
		if m.scheme.timestamp != "" {
			m.timestamp = unix(time.Now().Add(-ago))
		}
	}
}

func (s stack) withSecondKey(m *message) {
	m.key = s.second
	if m.keyID != "" {
		m.keyID = "k2"
	}
}

func (s stack) anotherID(m *message) { m.id = "alias-" + m.id }

// anotherSpelling is another delivery that says the same in other bytes.
func (s stack) anotherSpelling(m *message) {
	s.anotherID(m)
	respelled(m)
}

func respelled(m *message) { m.body = append([]byte("\r\n"), m.body...) }

func selecting(warehouse string) func(*message) { return cutoff("wh-17", warehouse) }

// cutoff replaces a piece of the body before it is signed.
func cutoff(old, other string) func(*message) {
	return func(m *message) { m.body = []byte(strings.Replace(string(m.body), old, other, 1)) }
}

func (s stack) anotherRun(m *message) { m.body = []byte(s.body(s.fresh())) }

// runLikeAListing is a run whose key is the text that a listing's run key has.
func (s stack) runLikeAListing(m *message) { m.body = []byte(s.body("listing-" + m.id + ":expiry-1")) }

func (s stack) listing(m *message) {
	m.body = fmt.Appendf(nil, `{"type":"listing.expire","listing_id":%q,"generation":1,"expired_at":"2020-01-01T00:00:00Z"}`, m.id)
	s.anotherID(m)
}

func withoutType(m *message) { cutoff(`"type":"cleanup.run",`, "")(m) }

func due(in time.Duration) func(*message) {
	return func(m *message) { cutoff("2020-01-02T03:04:05Z", time.Now().Add(in).UTC().Format(time.RFC3339))(m) }
}

func lenient(m *message) {
	for _, name := range []string{"X-Skip-Verification", "X-Debug", "X-Signature-Scheme", "X-HTTP-Method-Override", "X-Forwarded-Proto",
		"X-Original-URL", "X-Amz-Date", "Authorization", "Cookie"} {
		m.add(name, "none")
	}
}

func zigzag(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("aeiounAEIOUN", r) {
			return r ^ 0x20
		}
		return r
	}, name)
}

// aroundEach puts blanks around the values; they are the transport's, and no part of the value (RFC 9110, 5.5).
func (s stack) aroundEach(m *message, before, behind string) {
	for _, name := range []string{s.scheme.id, s.scheme.timestamp, s.scheme.signature} {
		if name != "" {
			m.alter(name, func(value string) string { return before + value + behind })
		}
	}
}

// storeThat lets the store do something to every call about the delivery.
func (s stack) storeThat(do act) func(*message) {
	return func(m *message) { s.gate.on(m.id, do) }
}

// hangUp closes the connection without an answer.
func hangUp(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// The whole effect of this command is in its answer, and each answer is exact.
func TestAnswersAboutReservations(t *testing.T) {
	t.Parallel()
	number := func(at time.Time) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(at.UnixMilli(), 10)}
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	deadline := time.Now().Add(-time.Hour).Truncate(time.Second)
	held := map[string]types.AttributeValue{"status": text("held"), "expires_at": number(deadline)}
	s := open(t, schemes()[0], "CUSTODY_RECORD_ONLY=false")
	for sentence, row := range map[string]struct {
		item   map[string]types.AttributeValue
		want   string
		status string // afterwards
	}{
		"held, and its time is the event's":     {held, "204 expired", "expired"},
		"held, and its time is before":          {with(held, "expires_at", number(deadline.Add(-time.Millisecond))), "204 expired", "expired"},
		"held, and extended by a millisecond":   {with(held, "expires_at", number(deadline.Add(time.Millisecond))), "204 no_longer_held", "held"},
		"held, and without a time":              {with(held, "expires_at", nil), "204 no_longer_held", "held"},
		"paid":                                  {with(held, "status", text("paid")), "204 no_longer_held", "paid"},
		"released":                              {with(held, "status", text("released")), "204 no_longer_held", "released"},
		"expired already, by another hand":      {with(held, "status", text("expired")), "204 no_longer_held", "expired"},
		"without a status":                      {with(held, "status", nil), "204 no_longer_held", ""},
		"missing, which is no error":            {nil, "204 no_longer_held", ""},
		"held beyond what a float can count to": {with(held, "expires_at", &types.AttributeValueMemberN{Value: "9007199254740993"}), "204 no_longer_held", "held"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			id := s.fresh()
			if row.item != nil {
				s.putReservation(t, with(row.item, "reservation_id", text(id)))
			}
			body := fmt.Sprintf(`{"type":"reservation.expire","reservationId":%q,"titleId":"t-1","expiresAt":%q,"note":%q}`,
				id, deadline.UTC().Format(time.RFC3339), s.mark)
			s.expect(t, "the first delivery", s.message(id, body), row.want)
			s.expect(t, "its copy", s.message(id, body), "204 already_processed")
			s.expect(t, "the same id for another body", s.message(id, body+" "), "409 conflict")
			if row.item == nil {
				return
			}
			got := s.reservation(t, id)
			if got["status"] != row.status || (got["expired_at"] != "") != (row.want == "204 expired") {
				t.Errorf("the reservation is %v, want status %q", got, row.status)
			}
			delete(got, "status")
			delete(got, "expired_at")
			want := plain(with(with(row.item, "reservation_id", text(id)), "status", nil))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what else the reservation has (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("early", func(t *testing.T) {
		t.Parallel()
		id := s.fresh()
		body := fmt.Sprintf(`{"type":"reservation.expire","reservationId":%q,"titleId":"t-1","expiresAt":%q}`,
			id, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
		s.expect(t, "an event before its time", s.message(id, body), "503 not_due")
		if s.item(t.Context(), t, "delivery#"+id) != nil {
			t.Error("it was claimed")
		}
	})
}

func TestAReservationIsNotHalfExpiredInTheRecordOnlyStage(t *testing.T) {
	t.Parallel()
	s := open(t, schemes()[0])
	id := s.fresh()
	body := fmt.Sprintf(`{"type":"reservation.expire","reservationId":%q,"titleId":"t-1","expiresAt":"2020-01-01T00:00:00Z"}`, id)
	s.expect(t, "a reservation in the record-only stage", s.message(id, body), "503 retryable_failure")
}

func with(item map[string]types.AttributeValue, name string, value types.AttributeValue) map[string]types.AttributeValue {
	other := map[string]types.AttributeValue{}
	for n, v := range item {
		other[n] = v
	}
	if other[name] = value; value == nil {
		delete(other, name)
	}
	return other
}

func (s stack) putReservation(t *testing.T, item map[string]types.AttributeValue) {
	t.Helper()
	table := s.local.Setting("CUSTODY_RESERVATIONS_TABLE")
	if _, err := s.local.DynamoDB().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func (s stack) reservation(t *testing.T, id string) map[string]string {
	t.Helper()
	table := s.local.Setting("CUSTODY_RESERVATIONS_TABLE")
	out, err := s.local.DynamoDB().GetItem(context.WithoutCancel(t.Context()), &dynamodb.GetItemInput{TableName: &table,
		Key: map[string]types.AttributeValue{"reservation_id": &types.AttributeValueMemberS{Value: id}}})
	if err != nil {
		t.Fatal(err)
	}
	return plain(out.Item)
}
