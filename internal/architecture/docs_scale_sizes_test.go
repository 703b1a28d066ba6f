package architecture_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/report"
	"custody/internal/telemetry"
)

// The sizes are those of what the store sends.
func TestDocsScaleMeasuresTheItems(t *testing.T) {
	t.Parallel()
	delivery, run := claimedItems(t, func(*inbox.Run) {})
	row := map[string]wireValue{}
	for _, name := range indexAttributes(t) {
		if v, there := run[name]; there {
			row[name] = v
		}
	}
	var want [][]string
	for _, it := range []struct {
		name string
		item map[string]wireValue
	}{{"a delivery", delivery}, {"a run when it is claimed", run}, {"its row in the index", row}} {
		n := wireBytes(it.item)
		want = append(want, []string{it.name, strconv.Itoa(n), strconv.Itoa((n + 1023) / 1024)})
	}
	if diff := cmp.Diff(want, tableOf(t, scalePage, "item", "bytes", "units of one write")); diff != "" {
		t.Errorf("items (-measured +docs):\n%s", diff)
	}
}

// The names of refused versions are what an item grows by, and the prefixes: a parameter of 4,096 bytes holds 227 of the shortest
// that can differ, with an id of 128 characters in each.
func TestDocsScaleMeasuresTheLargestItems(t *testing.T) {
	t.Parallel()
	refuse := func(key, id int) func(*inbox.Run) {
		return func(r *inbox.Run) {
			for range inbox.MaxRefusedNames {
				r.Place.RefusedCount++
				r.Place.Refused = append(r.Place.Refused, inbox.RefusedVersion{
					Key: strings.Repeat("k", key), VersionID: strings.Repeat("v", id), Code: "AccessDenied"})
			}
			failure := &inbox.LastError{Category: inbox.CategoryVersionsRefused, Message: strings.Repeat("m", 1000), At: r.ReceivedAt}
			r.LastError, r.Cause = failure, failure
		}
	}
	var want [][]string
	for _, it := range []struct {
		name   string
		change func(*inbox.Run)
	}{
		{"100 refused versions with keys of 32 bytes", refuse(32, 32)},
		{"100 refused versions with keys of 1,024 bytes, the longest", refuse(1024, 32)},
		{"the same with version ids of 1,024 bytes, and all prefixes that a parameter can name", func(r *inbox.Run) {
			refuse(1024, 1024)(r)
			r.Selection.Prefixes = slices.Repeat([]string{strings.Repeat("p", len("ab/")+128+len("/"))}, 4096/len("ab/{warehouse_id}/,"))
		}},
	} {
		_, run := claimedItems(t, it.change)
		want = append(want, []string{it.name, spelt(float64(wireBytes(run)))})
	}
	if diff := cmp.Diff(want, tableOf(t, scalePage, "item of a run", "bytes in all")); diff != "" {
		t.Errorf("items (-measured +docs):\n%s", diff)
	}
}

// claimedItems are the two items of a claim as they go out. The ids are as long as real ones.
func claimedItems(t *testing.T, change func(*inbox.Run)) (delivery, run map[string]wireValue) {
	t.Helper()
	var sent sentBody
	db := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), HTTPClient: &sent,
	})
	at := time.Date(2026, 8, 30, 12, 34, 56, 789e6, time.UTC)
	key := inbox.RunKey{Type: "cleanup.run", Key: "3f1c2b9e-6c7a-4d5e-9f80-123456789abc"}
	selection := inbox.Selection{
		Bucket: "acme-warehouse-documents", Prefixes: []string{"pod/wh-17/", "labels/wh-17/"}, Cutoff: at.Truncate(time.Second),
	}
	hash := strings.Repeat("a", 64)
	id := "d-" + strings.Repeat("x", 26)
	claim := inbox.Claim{
		Delivery: inbox.Delivery{ID: id, CommandType: key.Type, BodySHA256: hash, Outcome: inbox.OutcomeAccepted,
			ReceivedAt: at, TTL: at.Unix(), RunKey: key.Key},
		Run: inbox.NewRun(key, "warehouse:wh-17", selection, hash, id, at).Start(strings.Repeat("W", 26)),
	}
	change(&claim.Run)
	if there, err := dynamostore.New(db, "inbox").Claim(t.Context(), claim); err != nil || there != nil {
		t.Fatal(there, err)
	}
	var request struct {
		TransactItems []struct {
			Put struct{ Item map[string]wireValue }
		}
	}
	if err := json.Unmarshal(sent, &request); err != nil || len(request.TransactItems) != 2 {
		t.Fatalf("%v: a claim is two puts, and this was sent: %s", err, sent)
	}
	return request.TransactItems[0].Put.Item, request.TransactItems[1].Put.Item
}

// sentBody keeps the last request and answers that it is done.
type sentBody []byte

func (s *sentBody) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	*s = body
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, err
}

// wireValue is an attribute as DynamoDB's protocol writes it.
type wireValue struct {
	S    string
	N    string
	BOOL *bool
	M    map[string]wireValue
	L    []wireValue
}

// wireBytes counts as DynamoDB does (Developer Guide, "Item sizes and formats"): names and strings by their bytes, a number by a
// byte for two significant digits and one more, a list or map 3 bytes and 1 for each member.
func wireBytes(item map[string]wireValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + v.bytes()
	}
	return n
}

func (v wireValue) bytes() int {
	switch {
	case v.N != "":
		digits := strings.Trim(strings.TrimPrefix(v.N, "-"), "0")
		return (len(digits)+1)/2 + 1
	case v.BOOL != nil:
		return 1
	case v.M != nil:
		return 3 + len(v.M) + wireBytes(v.M)
	case v.L != nil:
		n := 3
		for _, member := range v.L {
			n += 1 + member.bytes()
		}
		return n
	}
	return len(v.S)
}

// The lines' lengths hang on ids and times; a hundred bytes more or less are what costs.
func TestDocsScaleMeasuresTheLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tel := telemetry.New(&out, "custody", slog.LevelInfo)
	key := inbox.RunKey{Type: "cleanup.run", Key: "3f1c2b9e-6c7a-4d5e-9f80-123456789abc"}
	tel.Delivery(t.Context(), inbox.DeliverySummary{
		DeliveryID: "d-" + strings.Repeat("x", 26), KeyID: "k1", CommandType: key.Type, RunKey: key.Key, Scope: "warehouse:wh-17",
		Outcome: inbox.OutcomeAccepted, Status: http.StatusNoContent, Signature: "valid", Age: time.Second, BodyBytes: 120,
		AckLatency: 25 * time.Millisecond,
	})
	tel.Slice(t.Context(), inbox.SliceSummary{
		Record: strings.Repeat("c", 32), Run: key, Scope: "warehouse:wh-17", Outcome: inbox.SliceCompleted, Mode: inbox.ModeDelete,
		Scan: 2, Slices: 1, Pages: 500, Batches: 480, Listed: 480_000, Deleted: 480_000, InboxToCompletion: time.Second, Duration: time.Minute,
	})
	tel.Sweep(t.Context(), inbox.SweepSummary{Counted: true, Open: 10_000, OldestOpenAge: time.Hour})

	var want [][]string
	for line := range bytes.Lines(out.Bytes()) {
		var fields struct{ Msg string }
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		want = append(want, []string{fields.Msg, fmt.Sprint((len(line) + 50) / 100 * 100)})
	}
	if diff := cmp.Diff(want, tableOf(t, scalePage, "line", "bytes, rounded")); diff != "" {
		t.Errorf("lines (-measured +docs):\n%s", diff)
	}
}

// A packed object's size hangs on how its keys and ids repeat; ten thousand bytes more or less are what is stored.
func TestDocsScaleMeasuresTheReport(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 30, 12, 34, 56, 789e6, time.UTC)
	header := report.Header{
		Name:  report.Name{CommandType: "cleanup.run", RunKey: "r-1", Slice: 1, LeaseToken: "T", Scan: 1, Batch: 1, Try: 1},
		Scope: "warehouse:wh-17", Mode: report.Mode(inbox.ModeDelete), Bucket: "acme-warehouse-documents",
		Prefixes: []string{"pod/wh-17/"}, Cutoff: at.Truncate(time.Second), HoldsReadAt: at,
	}
	random := rand.New(rand.NewPCG(1, 2)) // version ids are random text, which does not pack
	id := func() string { return fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()) }
	key := func(i int) string { return fmt.Sprintf("pod/wh-17/2026-06/%010d.jpg", 7*i) }
	var encoder report.Encoder
	_, selection, err := encoder.Selection(header, func(yield func(report.Selection) bool) {
		for i := range 1000 {
			line := report.Selection{Key: key(i), VersionID: id(), LastModified: at.Add(-time.Duration(i) * time.Hour),
				Size: 10_000 + random.Int64N(10_000), Decision: report.DecisionDelete, At: at}
			if !yield(line) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, outcome, err := encoder.Outcome(header, func(yield func(report.Outcome) bool) {
		for i := range 1000 {
			if !yield(report.Outcome{Key: key(i), VersionID: id(), Fate: report.FateDeleted, At: at}) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	rounded := func(data []byte) string { return spelt(math.Round(float64(len(data))/10_000) * 10_000) }
	want := [][]string{{"selection", rounded(selection)}, {"outcome", rounded(outcome)}}
	if diff := cmp.Diff(want, tableOf(t, scalePage, "object of 1,000 lines", "bytes, packed and rounded")); diff != "" {
		t.Errorf("objects (-measured +docs):\n%s", diff)
	}
}
