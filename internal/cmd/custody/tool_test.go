package main_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
)

// tool is the built tool in an environment of its own: nothing of the developer's AWS configuration takes part.
type tool struct{ env map[string]string }

// answer is what a command said, and its exit code.
type answer struct {
	stdout, stderr string
	code           int
}

func (x tool) run(t *testing.T, args ...string) answer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Getenv("BUILT_TOOL"), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "AWS_EC2_METADATA_DISABLED=true", "USER=nobody-known"}
	for name, value := range x.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return answer{code: code(t, cmd.Run()), stdout: stdout.String(), stderr: stderr.String()}
}

// does is run for a command that must succeed without a word of complaint.
func (x tool) does(t *testing.T, args ...string) string {
	t.Helper()
	a := x.run(t, args...)
	if a.code != 0 || a.stderr != "" {
		t.Fatalf("custody %s: exit code %d, stderr %s", strings.Join(args, " "), a.code, a.stderr)
	}
	return a.stdout
}

// refuses is run for a command that must fail with this code and these words, and print nothing else.
func (x tool) refuses(t *testing.T, code int, words string, args ...string) {
	t.Helper()
	a := x.run(t, args...)
	if a.code != code || !strings.Contains(a.stderr, words) || a.stdout != "" {
		t.Errorf("custody %s: exit code %d, stdout %q, stderr %s\nwant code %d and %q", strings.Join(args, " "), a.code, a.stdout, a.stderr, code, words)
	}
	for line := range strings.Lines(a.stderr) {
		if strings.HasPrefix(line, "SDK ") {
			t.Errorf("custody %s: the AWS SDK talks to whoever reads this: %s", strings.Join(args, " "), line)
		}
	}
}

// with is the tool with other variables; an empty one is taken away.
func (x tool) with(pairs ...string) tool {
	other := tool{env: map[string]string{}}
	for name, value := range x.env {
		other.env[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		other.env[pairs[i]] = pairs[i+1]
		if pairs[i+1] == "" {
			delete(other.env, pairs[i])
		}
	}
	return other
}

// objects reads one JSON object a line.
func objects(t *testing.T, output string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(output) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in line %s", err, line)
		}
		all = append(all, o)
	}
	return all
}

// tables is a local DynamoDB with the tables of a stack.
type tables struct {
	tool
	store *dynamostore.Store
	db    *dynamodb.Client
}

func newTables(t *testing.T) *tables {
	t.Helper()
	url, db := serve(t, localdb.New(localdb.Options{}))
	if err := (localaws.Tables{Inbox: "inbox", Holds: "holds"}).Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return &tables{store: dynamostore.New(db, "inbox"), db: db, tool: tool{map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"CUSTODY_TABLE": "inbox", "CUSTODY_HOLDS_TABLE": "holds",
	}}}
}

func serve(t *testing.T, h http.Handler) (string, *dynamodb.Client) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL, dynamodb.New(dynamodb.Options{
		HTTPClient: steady.Client{},
		Region:     "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

// ago is a time before now. The tool's clock is the real one, so what is asserted never depends on a second.
func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

// bodyHash is that of every delivery in these tables.
const bodyHash = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"

// fits checks that no line is wider, but for what must stay whole.
func fits(t *testing.T, text string, width int, whole ...string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > width && !slices.ContainsFunc(whole, func(w string) bool { return strings.Contains(line, w) }) {
			t.Errorf("a line of %d columns where there are %d: %s", utf8.RuneCountInString(line), width, line)
		}
	}
}

// has stores a run named after its state, with what change adds.
func (x *tables) has(t *testing.T, key string, state inbox.State, change func(*inbox.Run)) inbox.Run {
	t.Helper()
	sel := inbox.Selection{Bucket: "objects", Prefixes: []string{"pod/wh-17/", "labels/wh-17/"}, Cutoff: ago(48 * time.Hour).Truncate(time.Second)}
	run := inbox.NewRun(inbox.RunKey{Type: "cleanup.run", Key: key}, "warehouse:wh-17", sel, "hash", "d-"+key, ago(4*time.Hour+30*time.Second))
	run.State, run.Open = state, state.OpenIndex()
	if run.Open == "" {
		run.OpenSince, run.EndedAt, run.TTL = time.Time{}, ago(2*time.Hour+30*time.Second), time.Now().Add(80*24*time.Hour+time.Hour).Unix()
	}
	if change != nil {
		change(&run)
	}
	existing, err := x.store.Claim(t.Context(), inbox.Claim{Run: run, Delivery: inbox.Delivery{
		ID: run.DeliveryID, CommandType: run.Type, RunKey: run.Key, Outcome: inbox.OutcomeAccepted, ReceivedAt: run.ReceivedAt,
		BodySHA256: bodyHash,
	}})
	if err != nil || existing != nil {
		t.Fatalf("claim: %+v, %v", existing, err)
	}
	return run
}
