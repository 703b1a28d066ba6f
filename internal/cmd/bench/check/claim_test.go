package check_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/signature"
)

// A claim is one transaction, whatever it meets: the refusal itself says what stood in the way. Only another id for a known run
// is a second write, of the delivery alone.
func TestRoundTripsOfAClaim(t *testing.T) {
	t.Parallel()
	var onDB counts
	server := httptest.NewServer(onDB.Behind(dynamoDBOperation, localdb.New(localdb.Options{})))
	t.Cleanup(server.Close)
	db := dynamoDBOver(steady.Client{}, server.URL)
	must(t, localaws.Tables{Inbox: "inbox"}.Make(t.Context(), db))
	door, err := inprocess.NewDoor(signature.SchemeTimestamped, dynamostore.New(db, "inbox"))
	must(t, err)

	one, another, now := inprocess.Body("r-1"), inprocess.Body("r-2"), time.Now()
	for _, step := range []struct {
		name, delivery string
		body           []byte
		outcome        inbox.Outcome
		want           map[string]int
	}{
		{"a first delivery", "d-1", one, inbox.OutcomeAccepted, map[string]int{"TransactWriteItems": 1}},
		{"the same delivery again", "d-1", one, inbox.OutcomeAlreadyProcessed, map[string]int{"TransactWriteItems": 1}},
		{"the same run under another id", "d-2", one, inbox.OutcomeAlreadyProcessed, map[string]int{"TransactWriteItems": 1, "PutItem": 1}},
		{"that other id again", "d-2", one, inbox.OutcomeAlreadyProcessed, map[string]int{"TransactWriteItems": 1}},
		{"a known id with another body", "d-1", another, inbox.OutcomeConflict, map[string]int{"TransactWriteItems": 1}},
	} {
		onDB.Take()
		_, sum := door.Handler.Handle(t.Context(), door.Request(step.delivery, step.body, now))
		if sum.Outcome != step.outcome {
			t.Errorf("%s: outcome %s, want %s: %s", step.name, sum.Outcome, step.outcome, sum.Problem)
		}
		if diff := cmp.Diff(step.want, onDB.Take()); diff != "" {
			t.Errorf("%s takes other round trips than it may; look at internal/webhook/claim.go and internal/dynamostore/claim.go (-want +got):\n%s",
				step.name, diff)
		}
	}
}
