package localaws_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"custody/internal/command"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
	"custody/internal/report"
)

// operatorTool is the built tool in the environment of a local stack, and of nothing else.
type operatorTool struct{ binary string }

// buildTool links the tool as make does, but for the time that stripping takes.
func buildTool(t *testing.T) operatorTool {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "custody")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "custody/internal/cmd/custody")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the tool: %v\n%s", err, out)
	}
	return operatorTool{binary}
}

// run gives what the command printed, and its exit code.
func (o operatorTool) run(t *testing.T, s *localaws.Stack, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), o.binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"HOME=" + cmd.Dir, "AWS_EC2_METADATA_DISABLED=true", "USER=alice"}, s.Env()...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// says requires that the command succeeds, and these words in its answer.
func (o operatorTool) says(t *testing.T, s *localaws.Stack, args []string, words ...string) {
	t.Helper()
	out, code := o.run(t, s, args...)
	if code != 0 {
		t.Errorf("custody %s: exit code %d: %s", strings.Join(args, " "), code, out)
	}
	for _, want := range words {
		if !strings.Contains(out, want) {
			t.Errorf("custody %s does not say %q:\n%s", strings.Join(args, " "), want, out)
		}
	}
}

func listingExpire(listing string, generation int64, expiredAt time.Time) string {
	return fmt.Sprintf(`{"type":"listing.expire","listing_id":%q,"generation":%d,"expired_at":%q}`, listing, generation, expiredAt.UTC().Format(time.RFC3339))
}

func listingRun(listing string, generation int64) inbox.RunKey {
	return inbox.RunKey{Type: command.ListingExpire, Key: fmt.Sprintf("listing-%s:expiry-%d", listing, generation)}
}

// waitFor polls a run's item until the condition holds. The test's own deadline bounds it.
func waitFor(t *testing.T, s *localaws.Stack, key inbox.RunKey, holds func(inbox.Run) bool) inbox.Run {
	t.Helper()
	store := dynamostore.New(s.DynamoDB(), s.Setting("CUSTODY_TABLE"))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		run, err := store.Run(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if run != nil && holds(*run) {
			return *run
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("run %s never got there, it is %+v", key, run)
		}
	}
}

// versions counts what is left of each key.
func versions(t *testing.T, s *localaws.Stack, bucket string) map[string]int {
	t.Helper()
	client, left := s.S3(), map[string]int{}
	out, err := client.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(s.Setting(bucket))})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range out.Versions {
		left[aws.ToString(v.Key)]++
	}
	for _, m := range out.DeleteMarkers {
		left[aws.ToString(m.Key)]++
	}
	return left
}

func TestAListingExpiresOnceInEachGeneration(t *testing.T) {
	t.Parallel()
	tool, clock := buildTool(t), longAgo()
	stack := start(t, localaws.Options{Now: clock.now})
	client, bucket := stack.S3(), stack.Setting("CUSTODY_BUCKET")
	for _, key := range []string{
		"search/4821/a", "search/4821/a", "search/4821/deep/b", "search/4821/unheld/c", "reservations/4821/d", "search/4821/renewed",
		"search/4821/dispute/e", "reservations/4821/held", // under holds of the listing
		"search/48210/f", "reservations/48210/g", "search/482/h", "search/4821", "search/4821-old/i", "pod/4821/j", // not the listing's
	} {
		putObject(t, client, bucket, key)
	}
	clock.back.Store(int64(time.Hour)) // young: behind the first expiry
	putObject(t, client, bucket, "search/4821/young")
	putObject(t, client, bucket, "search/4821/renewed")
	others := map[string]int{"search/48210/f": 1, "reservations/48210/g": 1, "search/482/h": 1, "search/4821": 1, "search/4821-old/i": 1, "pod/4821/j": 1}
	held := map[string]int{"search/4821/dispute/e": 1, "reservations/4821/held": 1}

	for _, hold := range [][]string{
		{"dispute-991", "--scope", "listing:4821", "--prefix", "search/4821/dispute/", "--reason", "dispute_evidence"},
		{"case-4", "--scope", "listing:4821", "--key", "reservations/4821/held", "--reason", "legal_hold"},
		{"case-5", "--scope", "warehouse:4821", "--prefix", "search/4821/", "--reason", "legal_hold"}, // of somebody else
		{"case-6", "--scope", "listing:48210", "--prefix", "search/4821/", "--reason", "legal_hold"},  // too
	} {
		tool.says(t, stack, append([]string{"hold", "add"}, hold...))
	}
	if out, code := tool.run(t, stack, "hold", "add", "x", "--scope", "listings:4821", "--key", "k", "--reason", "other"); code != 2 ||
		!strings.Contains(out, "warehouse: or listing: and an id") {
		t.Errorf("a hold on a scope that no run has: exit code %d: %s", code, out)
	}
	tool.says(t, stack, []string{"hold", "list", "--scope", "listing:4821"}, "dispute-991", "case-4")

	yesterday := time.Now().Add(-24 * time.Hour)
	third := listingExpire("4821", 3, yesterday)
	answers(t, stack, [][3]string{{"d-1", third, "204 accepted"}})
	run := waitFor(t, stack, listingRun("4821", 3), done)
	if run.State != inbox.StateDone || run.Scope != "listing:4821" || run.Counters.Deleted != 6 {
		t.Errorf("the run of %s is %s with %+v", run.Scope, run.State, run.Counters)
	}
	if diff := cmp.Diff(map[string]int64{"dispute_evidence": 1, "legal_hold": 1}, run.Place.Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
	left := maps.Clone(others)
	maps.Copy(left, held)
	left["search/4821/young"], left["search/4821/renewed"] = 1, 1
	if diff := cmp.Diff(left, versions(t, stack, "CUSTODY_BUCKET")); diff != "" {
		t.Errorf("behind generation 3 are left (-want +got):\n%s", diff)
	}

	answers(t, stack, [][3]string{
		{"d-1", third, "204 already_processed"},
		{"d-2", third, "204 already_processed"},
		{"d-3", listingExpire("4821", 3, yesterday.Add(-time.Hour)), "409 conflict"},
		{"d-1", listingExpire("4821", 4, yesterday), "409 conflict"},
		{"d-4", listingExpire("4821", 0, yesterday), "422 rejected"},
		{"d-4", listingExpire("4821", 4, time.Now().Add(time.Hour)), "422 rejected"},
		{"d-4", listingExpire("4821", 4, time.Now().Add(time.Minute)), "503 not_due"},
	})
	if again := waitFor(t, stack, listingRun("4821", 3), done); again.Slices != run.Slices || again.DeliveryID != "d-1" {
		t.Errorf("copies made %d slices of delivery %s, it had %d", again.Slices, again.DeliveryID, run.Slices)
	}
	deliveriesAre(t, stack, map[string]inbox.Outcome{"d-1": inbox.OutcomeAccepted, "d-2": inbox.OutcomeAlreadyProcessed, "d-3": "", "d-4": ""})
	for _, name := range []string{"listing.expire/listing-4821:expiry-3", "listing-4821:expiry-3", "d-1", "d-2"} {
		tool.says(t, stack, []string{"show", name}, "Run         listing.expire/listing-4821:expiry-3", "State       done", "Scope       listing:4821",
			"Retained    1 dispute_evidence, 1 legal_hold", "search/4821/", "Holds       2 in force")
	}

	answers(t, stack, [][3]string{{"d-4", listingExpire("4821", 4, time.Now().Add(-time.Minute)), "204 accepted"}})
	if fourth := waitFor(t, stack, listingRun("4821", 4), done); fourth.State != inbox.StateDone || fourth.Counters.Deleted != 2 {
		t.Errorf("generation 4 is %s with %+v", fourth.State, fourth.Counters)
	}
	left = maps.Clone(others)
	maps.Copy(left, held)
	if diff := cmp.Diff(left, versions(t, stack, "CUSTODY_BUCKET")); diff != "" {
		t.Errorf("behind generation 4 are left (-want +got):\n%s", diff)
	}
	reportsAreOf(t, stack, listingRun("4821", 3), listingRun("4821", 4))
}

// answers delivers in order: id, body, and what is answered.
func answers(t *testing.T, s *localaws.Stack, deliveries [][3]string) {
	t.Helper()
	for _, d := range deliveries {
		if got := deliver(t, s, d[0], d[1]); got != d[2] {
			t.Errorf("delivery %s of %s: %s, want %s", d[0], d[1], got, d[2])
		}
	}
}

// deliveriesAre asks the table: "" is a delivery that left no item.
func deliveriesAre(t *testing.T, s *localaws.Stack, want map[string]inbox.Outcome) {
	t.Helper()
	store := dynamostore.New(s.DynamoDB(), s.Setting("CUSTODY_TABLE"))
	got := map[string]inbox.Outcome{}
	for id := range want {
		d, err := store.Delivery(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got[id] = ""
		if d != nil {
			got[id] = d.Outcome
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

// reportsAreOf requires report objects of each of these runs, and of no other.
func reportsAreOf(t *testing.T, s *localaws.Stack, want ...inbox.RunKey) {
	t.Helper()
	var got []inbox.RunKey
	for object := range versions(t, s, "CUSTODY_REPORT_BUCKET") {
		name, err := report.ParseName(object)
		if err != nil {
			t.Fatal(err)
		}
		if key := (inbox.RunKey{Type: name.CommandType, Key: name.RunKey}); !slices.Contains(got, key) {
			got = append(got, key)
		}
	}
	byName := func(a, b inbox.RunKey) int { return strings.Compare(a.String(), b.String()) }
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs with a report (-want +got):\n%s", diff)
	}
}

// The longest name that a run can have goes everywhere: the tables, the report, the tool's lines.
func TestTheLongestListingIsWorkedAndShown(t *testing.T) {
	t.Parallel()
	tool, clock := buildTool(t), longAgo()
	stack := start(t, localaws.Options{Now: clock.now})
	longest := strings.Repeat("L:", 63) + "48"
	key := "search/" + longest + "/" + strings.Repeat("k", 1024-len("search/")-len(longest)-1)
	putObject(t, stack.S3(), stack.Setting("CUSTODY_BUCKET"), key)
	scope := "listing:" + longest
	last := listingRun(longest, math.MaxInt64)
	if len(last.Key) != 163 {
		t.Fatalf("the run key has %d characters", len(last.Key))
	}

	// The brake holds the run open, so that it is listed; it is dismissed, and the generation before is worked.
	tool.says(t, stack, []string{"stop", "--scope", scope, "--reason", "a look first"}, scope)
	answers(t, stack, [][3]string{{"d-1", listingExpire(longest, math.MaxInt64, time.Now().Add(-time.Hour)), "204 accepted"}})
	waitFor(t, stack, last, func(r inbox.Run) bool { return r.State == inbox.StatePending && r.LastError != nil })
	tool.says(t, stack, []string{"runs"}, last.String(), "1 open, 0 failed, 0 recorded")
	out, _ := tool.run(t, stack, "runs", "--json")
	var line struct {
		Run    string `json:"run"`
		RunKey string `json:"run_key"`
		Scope  string `json:"scope"`
	}
	if err := json.Unmarshal([]byte(out), &line); err != nil || line.Run != last.String() || line.RunKey != last.Key || line.Scope != scope {
		t.Errorf("runs --json says %s, error %v", out, err)
	}
	tool.says(t, stack, []string{"show", last.String()}, last.String(), "Scope       "+scope, "Brake       ON for scope")
	tool.says(t, stack, []string{"dismiss", last.Key, "--reason", "the generation before will do"}, last.String()+" is dismissed")
	tool.says(t, stack, []string{"resume", "--scope", scope, "--yes"}, "is lifted")

	before := listingRun(longest, math.MaxInt64-1)
	answers(t, stack, [][3]string{{"d-2", listingExpire(longest, math.MaxInt64-1, time.Now().Add(-time.Hour)), "204 accepted"}})
	if run := waitFor(t, stack, before, done); run.State != inbox.StateDone || run.Counters.Deleted != 1 {
		t.Errorf("the run is %s with %+v: %+v", run.State, run.Counters, run.LastError)
	}
	tool.says(t, stack, []string{"show", before.Key}, before.String(), "State       done")
	reportsAreOf(t, stack, before)
	if left := versions(t, stack, "CUSTODY_BUCKET"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// The bytes of a generation are what counts: 2^53 and its neighbour are two runs, and neither is the other's conflict.
func TestNeighbouringGenerationsBeyondFloatingPoint(t *testing.T) {
	t.Parallel()
	stack := start(t, localaws.Options{})
	at := time.Now().Add(-time.Hour)
	answers(t, stack, [][3]string{
		{"d-1", listingExpire("4821", 1<<53, at), "204 accepted"},
		{"d-2", listingExpire("4821", 1<<53+1, at), "204 accepted"},
		{"d-3", listingExpire("4821", 1<<53+1, at.Add(-time.Minute)), "409 conflict"},
		{"d-4", listingExpire("4821", 1<<53, at), "204 already_processed"},
	})
	for _, generation := range []int64{1 << 53, 1<<53 + 1} {
		if run := waitFor(t, stack, listingRun("4821", generation), done); run.State != inbox.StateDone {
			t.Errorf("%s is %s", run.RunKey(), run.State)
		}
	}
}

// A stack whose two prefixes meet does not start, and the function's log names both.
func TestPrefixesThatMeetFailTheStart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log strings.Builder
	stack, err := localaws.Start(t.Context(), localaws.Options{
		Functions: os.Getenv("BUILT_FUNCTIONS"),
		Settings:  map[string]string{"CUSTODY_LISTING_PREFIXES": "search/{listing_id}/,pod/{listing_id}/old/"},
		Output: func(_ lambda.Process, line string) {
			mu.Lock()
			defer mu.Unlock()
			log.WriteString(line + "\n")
		},
	})
	if err == nil {
		_ = stack.Close()
		t.Fatal("the stack started")
	}
	mu.Lock()
	defer mu.Unlock()
	for _, prefix := range []string{"pod/{warehouse_id}/", "pod/{listing_id}/old/"} {
		if !strings.Contains(log.String(), prefix) {
			t.Errorf("the log does not name %s:\n%s", prefix, log.String())
		}
	}
}
