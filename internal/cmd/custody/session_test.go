package main_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/localaws"
)

// whole is a local stack with the built functions, and the tool in the environment that its env file gives.
type whole struct {
	tool
	stack  *localaws.Stack
	denied atomic.Bool // whether S3 refuses to list versions
}

// longBefore is how far S3's clock is behind: what is put is older than the cutoff of cleanupRun.
const longBefore = 48 * time.Hour

func startWhole(t *testing.T, settings map[string]string) *whole {
	t.Helper()
	return startWholeWith(t, settings, func() time.Time { return ago(longBefore) })
}

// startWholeWith has a clock of S3's own; nil is the true one.
func startWholeWith(t *testing.T, settings map[string]string, now func() time.Time) *whole {
	t.Helper()
	w := &whole{tool: tool{map[string]string{}}}
	stack, err := localaws.Start(t.Context(), localaws.Options{
		Settings: settings, Functions: filepath.Dir(os.Getenv("BUILT_TOOL")),
		Now: now, WrapS3: w.deny,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	w.stack = stack
	for _, pair := range stack.Env() {
		name, value, _ := strings.Cut(pair, "=")
		w.env[name] = value
	}
	return w
}

func (w *whole) deny(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.denied.Load() && r.URL.Query().Has("versions") {
			rw.Header().Set("Content-Type", "application/xml")
			rw.WriteHeader(http.StatusForbidden)
			fmt.Fprint(rw, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
			return
		}
		engine.ServeHTTP(rw, r)
	})
}

func (w *whole) put(t *testing.T, key string) {
	t.Helper()
	_, err := w.stack.S3().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(w.env["CUSTODY_BUCKET"]), Key: &key, Body: strings.NewReader("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keys are those that have a version left.
func (w *whole) keys(t *testing.T) string {
	t.Helper()
	out, err := w.stack.S3().ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(w.env["CUSTODY_BUCKET"])})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, v := range out.Versions {
		all = append(all, aws.ToString(v.Key))
	}
	return strings.Join(all, " ")
}

// deliver sends a signed cleanup of warehouse wh-17 up to yesterday.
func (w *whole) deliver(t *testing.T, deliveryID, runID string) {
	t.Helper()
	body := fmt.Sprintf(`{"run_id":%q,"warehouse_id":"wh-17","expired_before":%q}`, runID, ago(24*time.Hour).UTC().Format(time.RFC3339))
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(w.env["CUSTODY_SIGNING_KEY"]))
	mac.Write([]byte(stamp + "." + body))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.env["CUSTODY_URL"], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Delivery-ID", deliveryID)
	request.Header.Set("X-Delivery-Timestamp", stamp)
	request.Header.Set("X-Delivery-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("the delivery was answered %s", response.Status)
	}
}

// until asks custody show until the run is so. The test's own deadline bounds it.
func (w *whole) until(t *testing.T, run string, is func(o map[string]any) bool) map[string]any {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		o := objects(t, w.does(t, "show", run, "--json"))[0]
		if is(o) {
			return o
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%v, and the run is %v", context.Cause(t.Context()), o)
		}
	}
}

func in(state string) func(map[string]any) bool {
	return func(o map[string]any) bool { return o["state"] == state }
}

// says checks that a command's answer has all of these words.
func (w *whole) says(t *testing.T, args []string, words ...string) {
	t.Helper()
	text := w.does(t, args...)
	for _, want := range words {
		if !strings.Contains(text, want) {
			t.Errorf("custody %s does not say %q:\n%s", strings.Join(args, " "), want, text)
		}
	}
}

func TestANightOnTheLocalStack(t *testing.T) {
	t.Parallel()
	w := startWhole(t, nil)
	w.put(t, "pod/wh-17/a")
	w.put(t, "pod/wh-17/case-4/b")

	// The brake is on: the run parks and deletes nothing.
	w.says(t, []string{"stop", "--scope", "warehouse:wh-17", "--reason", "wrong cutoff?", "--by", "alice"}, "scope warehouse:wh-17 stopped, by alice")
	w.deliver(t, "d-1", "r-1")
	w.until(t, "d-1", func(o map[string]any) bool { return o["state"] == "pending" && o["last_error"] != nil })
	w.says(t, []string{"show", "r-1"}, "Last error  stopped", "the emergency brake is on", "0 in a row without progress",
		"Brake       ON for scope warehouse:wh-17, by alice", "it is parked", "custody resume --scope warehouse:wh-17")
	w.says(t, []string{"runs"}, "cleanup.run/r-1", "attempt in", "1 open, 0 failed, 0 recorded")
	if got := w.keys(t); got != "pod/wh-17/a pod/wh-17/case-4/b" {
		t.Errorf("under the brake, left are %q", got)
	}

	// A hold is placed, the brake lifted; the parked run goes on by itself half a minute later at most.
	w.does(t, "hold", "add", "case-4", "--scope", "warehouse:wh-17", "--prefix", "pod/wh-17/case-4/", "--reason", "legal_hold")
	w.says(t, []string{"resume", "--scope", "warehouse:wh-17", "--yes"}, "is lifted", "go on by themselves")

	// Meanwhile another run fails, is seen, mended and retried.
	w.denied.Store(true)
	w.deliver(t, "d-2", "r-2")
	w.until(t, "r-2", in("failed"))
	w.says(t, []string{"runs"}, "failed", "operator", "cleanup.run/r-2")
	w.says(t, []string{"show", "r-2"}, "Last error  access_denied", "Read: docs/operations.md#access_denied", "custody retry cleanup.run/r-2")
	w.refuses(t, 4, "release refused: cleanup.run/r-2 is failed", "release", "r-2")
	w.denied.Store(false)
	w.says(t, []string{"retry", "r-2", "--reason", "role mended", "--by", "alice"}, "cleanup.run/r-2 is pending, by alice")
	w.until(t, "r-2", in("done"))
	w.says(t, []string{"show", "r-2"}, "Operator    retry by alice", "role mended", "(before the operator's retry)")
	w.refuses(t, 4, "dismiss refused: cleanup.run/r-2 is done, in delete mode", "dismiss", "r-2", "--reason", "x")

	w.until(t, "r-1", in("done"))
	w.says(t, []string{"show", "r-1"}, "Retained    1 legal_hold", "Holds       1 in force", "You can     nothing")
	if got := w.keys(t); got != "pod/wh-17/case-4/b" {
		t.Errorf("left are %q, want what the hold covers", got)
	}
	w.says(t, []string{"runs"}, "0 open, 0 failed, 0 recorded")
}

func TestTheRecordOnlyStage(t *testing.T) {
	t.Parallel()
	w := startWhole(t, map[string]string{"CUSTODY_RECORD_ONLY": "true"})
	w.put(t, "pod/wh-17/a")
	w.put(t, "pod/wh-17/kept")
	w.deliver(t, "d-1", "r-1")
	w.deliver(t, "d-2", "r-2")
	w.says(t, []string{"runs"}, "cleanup.run/r-1", "cleanup.run/r-2", "0 open, 0 failed, 2 recorded")
	w.says(t, []string{"show", "d-1"}, "State       recorded", "custody release cleanup.run/r-1")
	w.refuses(t, 4, "retry refused: cleanup.run/r-1 is recorded", "retry", "r-1")

	w.does(t, "hold", "add", "case-4", "--scope", "warehouse:wh-17", "--key", "pod/wh-17/kept", "--reason", "dispute_evidence")
	w.says(t, []string{"release", "r-1", "--by", "alice"}, "cleanup.run/r-1 is pending, by alice")
	done := w.until(t, "r-1", in("done"))
	if kept, _ := done["retained"].(map[string]any); kept["dispute_evidence"] != 1.0 || w.keys(t) != "pod/wh-17/kept" {
		t.Errorf("retained %v, left are %q", kept, w.keys(t))
	}
	w.says(t, []string{"dismiss", "r-2", "--reason", "sent twice", "--by", "alice"}, "cleanup.run/r-2 is dismissed, by alice")
	w.says(t, []string{"show", "r-2"}, "Operator    dismiss by alice", "sent twice")
	w.says(t, []string{"runs"}, "0 open, 0 failed, 0 recorded")
	w.refuses(t, 4, "release refused: cleanup.run/r-2 is dismissed, by alice (sent twice)", "release", "r-2")
}
