package deployed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/google/go-cmp/cmp"

	"custody/internal/deployed"
	"custody/internal/localaws/logs"
	"custody/internal/localaws/steady"
	"custody/internal/retention"
)

const group = "/custody/custody/operator"

// noon is the time of every operation here.
func noon() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 500_000_000, time.FixedZone("", 3600)) }

// logged is a log over a handler, and the calls and events that came.
type logged struct {
	deployed.OperatorLog
	mu     sync.Mutex
	calls  []string
	events []logs.Event
}

func (l *logged) take(e logs.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// logOver asks instead first; what that does not answer, the local CloudWatch Logs does.
func logOver(t *testing.T, instead func(w http.ResponseWriter, operation string) bool) *logged {
	t.Helper()
	l := &logged{}
	engine := logs.New(logs.Options{Groups: []string{group}, Output: l.take})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		l.mu.Lock()
		l.calls = append(l.calls, operation)
		l.mu.Unlock()
		if instead == nil || !instead(w, operation) {
			engine.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	l.OperatorLog = deployed.OperatorLog{Group: group, Client: cloudwatchlogs.New(cloudwatchlogs.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: steady.Client{}, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})}
	return l
}

// retries are retries of so many runs, a millisecond apart.
func retries(n int, change func(i int, o *deployed.Operation)) []deployed.Operation {
	all := make([]deployed.Operation, n)
	for i := range all {
		all[i] = deployed.Operation{
			Time: noon().Add(time.Duration(i) * time.Millisecond), Action: deployed.ActionRetry, Run: fmt.Sprintf("cleanup.run/r-%d", i),
			By: "alice", Outcome: deployed.OperationDone, Version: "v1",
		}
		if change != nil {
			change(i, &all[i])
		}
	}
	return all
}

func linesOf(operations []deployed.Operation) (all []string) {
	for _, o := range operations {
		all = append(all, o.Line())
	}
	return all
}

func (l *logged) lines() (all []string) {
	for _, e := range l.events {
		all = append(all, e.Message)
	}
	return all
}

func TestOperatorLogMakesTheStreamOfTheDayWhereItIsMissing(t *testing.T) {
	t.Parallel()
	l := logOver(t, nil)
	for range 2 {
		if missing, err := l.Write(t.Context(), retries(2, nil)); missing != nil || err != nil {
			t.Fatal(missing, err)
		}
	}
	if diff := cmp.Diff([]string{"PutLogEvents", "CreateLogStream", "PutLogEvents", "PutLogEvents"}, l.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	at := noon().Truncate(time.Millisecond)
	line := `{"time":"2026-01-31T11:00:00.5Z","level":"INFO","msg":"operation","action":"retry","run":"cleanup.run/r-0","by":"alice","outcome":"done","version":"v1"}`
	if got := l.events[0]; got.Stream != "2026-01-31" || !got.Time.Equal(at) || got.Message != line {
		t.Errorf("event %+v\nwant %s", got, line)
	}
	if diff := cmp.Diff(append(linesOf(retries(2, nil)), linesOf(retries(2, nil))...), l.lines()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// What the service would refuse as a whole for its size, its order or its span is sent in parts and in order.
func TestOperatorLogStaysWithinTheLimitsOfARequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operations []deployed.Operation
		puts       int
	}{
		"more than the 10,000 events of a request": {retries(10_001, func(_ int, o *deployed.Operation) { o.By, o.Run, o.Version, o.Outcome, o.Action = "", "", "", "", "" }), 2},
		"large ones":                {retries(3, func(_ int, o *deployed.Operation) { o.Reason = strings.Repeat("x", 600_000) }), 3},
		"times of more than a day":  {retries(2, func(i int, o *deployed.Operation) { o.Time = noon().Add(time.Duration(i) * 25 * time.Hour) }), 2},
		"a clock that was set back": {retries(3, func(i int, o *deployed.Operation) { o.Time = noon().Add(-time.Duration(i) * time.Second) }), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := logOver(t, nil)
			missing, err := l.Write(t.Context(), test.operations)
			if missing != nil || err != nil || len(l.events) != len(test.operations) {
				t.Errorf("%d missing, error %v, %d events", len(missing), err, len(l.events))
			}
			puts := strings.Count(strings.Join(l.calls, " "), "PutLogEvents") - strings.Count(strings.Join(l.calls, " "), "CreateLogStream")
			if puts != test.puts {
				t.Errorf("%d requests, want %d: %v", puts, test.puts, l.calls)
			}
		})
	}
}

func TestOperatorLogTellsWhichLinesAreMissing(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, code string) bool {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, code)
		return true
	}
	denied := func(operation string) func(http.ResponseWriter, string) bool {
		return func(w http.ResponseWriter, op string) bool {
			return op == operation && refuse(w, "AccessDeniedException")
		}
	}
	taken := func(info string) func(http.ResponseWriter, string) bool {
		return func(w http.ResponseWriter, _ string) bool {
			_, _ = io.WriteString(w, `{"rejectedLogEventsInfo":`+info+`}`)
			return true
		}
	}
	for name, test := range map[string]struct {
		instead func(http.ResponseWriter, string) bool
		missing []int // of four
		want    string
	}{
		"no permission to write": {denied("PutLogEvents"), []int{0, 1, 2, 3},
			"write to log group " + group + ": the AWS credentials lack the permission logs:PutLogEvents (AccessDeniedException)"},
		"no permission for a stream": {denied("CreateLogStream"), []int{0, 1, 2, 3},
			"make a stream in log group " + group + ": the AWS credentials lack the permission logs:CreateLogStream (AccessDeniedException)"},
		"no such group": {func(w http.ResponseWriter, _ string) bool { return refuse(w, "ResourceNotFoundException") }, []int{0, 1, 2, 3},
			"there is no log group " + group + " in region us-east-1"},
		"too old":     {taken(`{"tooOldLogEventEndIndex":2}`), []int{0, 1}, "CloudWatch Logs takes no events of these times into " + group},
		"expired":     {taken(`{"expiredLogEventEndIndex":1}`), []int{0}, "is this machine's clock right?"},
		"too new":     {taken(`{"tooNewLogEventStartIndex":3}`), []int{3}, "is this machine's clock right?"},
		"all too new": {taken(`{"tooNewLogEventStartIndex":0}`), []int{0, 1, 2, 3}, "is this machine's clock right?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := retries(4, nil)
			missing, err := logOver(t, test.instead).Write(t.Context(), all)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			var want []string
			for _, i := range test.missing {
				want = append(want, all[i].Line())
			}
			if diff := cmp.Diff(want, linesOf(missing)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOperatorLogAndAStreamThatSomebodyElseMakes(t *testing.T) {
	t.Parallel()
	l := logOver(t, nil)
	first := true
	race := logOver(t, func(w http.ResponseWriter, operation string) bool {
		if operation != "PutLogEvents" || !first {
			return false
		}
		first = false
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"ResourceNotFoundException"}`)
		return true
	})
	if _, err := race.Client.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &race.Group, LogStreamName: new("2026-01-31")}); err != nil {
		t.Fatal(err)
	}
	if missing, err := race.Write(t.Context(), retries(1, nil)); missing != nil || err != nil || len(race.events) != 1 {
		t.Errorf("missing %v, error %v, events %v", missing, err, race.events)
	}
	if missing, err := l.Write(t.Context(), nil); missing != nil || err != nil || l.calls != nil {
		t.Errorf("nothing to write: %v, error %v, calls %v", missing, err, l.calls)
	}
}

// What failed behind a request that was taken is missing alone.
func TestOperatorLogThatFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	puts := 0
	l := logOver(t, func(w http.ResponseWriter, operation string) bool {
		if operation == "PutLogEvents" {
			puts++
		}
		if puts < 3 { // the first finds no stream
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"ThrottlingException","message":"Rate exceeded"}`)
		return true
	})
	all := retries(2, func(i int, o *deployed.Operation) { o.Reason = strings.Repeat("x", 600_000) })
	missing, err := l.Write(t.Context(), all)
	if err == nil || !strings.Contains(err.Error(), "ThrottlingException: Rate exceeded") || len(missing) != 1 || missing[0].Run != "cleanup.run/r-1" {
		t.Errorf("missing %d, error %v", len(missing), err)
	}
}

func TestOperationIsOnePrintableLineThatSaysEverythingOfAHold(t *testing.T) {
	t.Parallel()
	row := retention.Row{
		Hold: retention.Hold{Scope: "warehouse:wh-17", ID: "case-4", Prefix: "pod/<4>/", Reason: retention.ReasonLegalHold, ExpiresAt: noon()},
		Note: "a\x1b[2J\u009bb\u2028c\U000e0001", By: "légal", CreatedAt: noon(), Problem: "odd",
	}
	o := deployed.Operation{Time: noon().Add(7), Action: deployed.ActionHoldRemove, Scope: row.Scope, HoldID: row.ID, Hold: deployed.HoldRowOf(row), By: "bob",
		Outcome: deployed.OperationUnanswered, Problem: strings.Repeat("é", 501), Version: "v1"}
	line := o.Line()
	want := `{"time":"2026-01-31T11:00:00.5Z","level":"ERROR","msg":"operation","action":"hold_remove","scope":"warehouse:wh-17","hold_id":"case-4","by":"bob",` +
		`"outcome":"unanswered","problem":"` + strings.Repeat("é", 500) + `…","hold":{"scope":"warehouse:wh-17","hold_id":"case-4","prefix":"pod/<4>/",` +
		`"reason":"legal_hold","note":"a\u001b[2J\u009bb\u2028c\udb40\udc01","by":"légal","created_at":"2026-01-31T11:00:00.5Z","expires_at":"2026-01-31T11:00:00.5Z","problem":"odd"},"version":"v1"}`
	if diff := cmp.Diff(want, line); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var back struct{ Hold deployed.HoldRow }
	if err := json.Unmarshal([]byte(line), &back); err != nil || back.Hold.Note != row.Note {
		t.Errorf("read back %q, error %v", back.Hold.Note, err)
	}
	if bare := deployed.HoldRowOf(retention.Row{}); !bare.CreatedAt.IsZero() || !bare.ExpiresAt.IsZero() {
		t.Errorf("times of nothing: %+v", bare)
	}
}

func TestOperatorLogErrorsAreData(t *testing.T) {
	t.Parallel()
	l := logOver(t, nil)
	l.Group = "/custody/other/operator"
	_, err := l.Write(t.Context(), retries(1, nil))
	if missing, is := errors.AsType[*deployed.NoLogGroupError](err); !is || missing.Group != l.Group || missing.Region != "us-east-1" {
		t.Errorf("error %v", err)
	}
}
