package logs_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/localaws/logs"
	"custody/internal/localaws/steady"
)

const group = "/custody/local/operator"

// world is an engine behind HTTP, and what it handed on.
type world struct {
	url    string
	client *cloudwatchlogs.Client
	mu     sync.Mutex
	events []logs.Event
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	server := httptest.NewServer(logs.New(logs.Options{Groups: []string{group}, Output: w.take}))
	t.Cleanup(server.Close)
	w.url = server.URL
	w.client = cloudwatchlogs.New(cloudwatchlogs.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: steady.Client{}, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	return w
}

func (w *world) take(e logs.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *world) make(t *testing.T, group, stream string) error {
	t.Helper()
	_, err := w.client.CreateLogStream(t.Context(), &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &stream})
	return err
}

func (w *world) put(t *testing.T, group, stream string, events ...types.InputLogEvent) error {
	t.Helper()
	_, err := w.client.PutLogEvents(t.Context(), &cloudwatchlogs.PutLogEventsInput{LogGroupName: &group, LogStreamName: &stream, LogEvents: events})
	return err
}

func event(at int64, message string) types.InputLogEvent {
	return types.InputLogEvent{Timestamp: aws.Int64(at), Message: &message}
}

func TestEventsAreHandedOnAsTheyCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.make(t, group, "day"); err != nil {
		t.Fatal(err)
	}
	if err := w.put(t, group, "day", event(1, "<one>"), event(1, "two"), event(3, "three")); err != nil {
		t.Fatal(err)
	}
	want := []logs.Event{{group, "day", time.UnixMilli(1), "<one>"}, {group, "day", time.UnixMilli(1), "two"}, {group, "day", time.UnixMilli(3), "three"}}
	if diff := cmp.Diff(want, w.events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What AWS would refuse is refused here, by the same code; and then nothing is handed on.
func TestRefusals(t *testing.T) {
	t.Parallel()
	many := make([]types.InputLogEvent, 10_001)
	for i := range many {
		many[i] = event(0, "x")
	}
	const day = 24 * 3600 * 1000
	for name, test := range map[string]struct {
		do   func(t *testing.T, w *world) error
		want string
	}{
		"a stream of a group that there is not": {func(t *testing.T, w *world) error { return w.make(t, "other", "day") }, "ResourceNotFoundException"},
		"a stream that there is":                {func(t *testing.T, w *world) error { return w.make(t, group, "day") }, "ResourceAlreadyExistsException"},
		"a stream's name with a star":           {func(t *testing.T, w *world) error { return w.make(t, group, "da*") }, "InvalidParameterException"},
		"events of a group that there is not":   {func(t *testing.T, w *world) error { return w.put(t, "other", "day", event(0, "x")) }, "ResourceNotFoundException"},
		"events of a stream that there is not":  {func(t *testing.T, w *world) error { return w.put(t, group, "night", event(0, "x")) }, "ResourceNotFoundException"},
		"too many events":                       {func(t *testing.T, w *world) error { return w.put(t, group, "day", many...) }, "logEvents has 10001 members"},
		"an empty event":                        {func(t *testing.T, w *world) error { return w.put(t, group, "day", event(0, "x"), event(0, "")) }, "message is empty"},
		"events out of order":                   {func(t *testing.T, w *world) error { return w.put(t, group, "day", event(2, "x"), event(1, "x")) }, "chronological order"},
		"events of more than a day":             {func(t *testing.T, w *world) error { return w.put(t, group, "day", event(0, "x"), event(day+1, "x")) }, "24 hours"},
		"more bytes than a request may have": {func(t *testing.T, w *world) error {
			return w.put(t, group, "day", event(0, "x"), event(0, strings.Repeat("x", 1<<20-26-27+1)))
		}, "1048577 bytes exceeds limit of 1048576"},
		"another operation": {func(t *testing.T, w *world) error {
			_, err := w.client.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String("other")})
			return err
		}, `UnknownOperationException: operation "CreateLogGroup" is not implemented`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := w.make(t, group, "day"); err != nil {
				t.Fatal(err)
			}
			if err := test.do(t, w); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if w.events != nil {
				t.Errorf("handed on: %v", w.events)
			}
		})
	}
}

func TestARequestAsLargeAsItMayBeIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.make(t, group, "day"); err != nil {
		t.Fatal(err)
	}
	many := make([]types.InputLogEvent, 10_000)
	for i := range many {
		many[i] = event(24*3600*1000*int64(min(i, 1)), strings.Repeat("\x01", 78)) // six bytes each in JSON
	}
	if err := w.put(t, group, "day", many...); err != nil || len(w.events) != len(many) {
		t.Errorf("error %v, %d events", err, len(w.events))
	}
}

func TestRequestsThatNoSDKSends(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		method, path, target, key, body string
		status                          int
		want                            string
	}{
		"a path":      {http.MethodPost, "/x", "Logs_20140328.PutLogEvents", "k", "{}", 404, `{"__type":"UnknownOperationException","message":"POST /x: operations are POST /"}`},
		"a GET":       {http.MethodGet, "/", "", "k", "", 404, "UnknownOperationException"},
		"no target":   {http.MethodPost, "/", "", "k", "{}", 400, "UnknownOperationException"},
		"unsigned":    {http.MethodPost, "/", "Logs_20140328.PutLogEvents", "", "{}", 400, "MissingAuthenticationTokenException"},
		"no events":   {http.MethodPost, "/", "Logs_20140328.PutLogEvents", "k", "{}", 400, "logEvents has 0 members, must be 1 to 10000"},
		"no JSON":     {http.MethodPost, "/", "Logs_20140328.PutLogEvents", "k", "{", 400, "SerializationException"},
		"a huge body": {http.MethodPost, "/", "Logs_20140328.PutLogEvents", "k", strings.Repeat(" ", 8<<20+1), 413, "request body is larger than 8388608 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request, err := http.NewRequestWithContext(t.Context(), test.method, w.url+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("X-Amz-Target", test.target)
			if test.key != "" {
				request.Header.Set("Authorization", test.key)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var answer strings.Builder
			if err := response.Write(&answer); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != test.status || !strings.Contains(answer.String(), test.want) {
				t.Errorf("answer %s, want %s with %s", answer.String(), strconv.Itoa(test.status), test.want)
			}
		})
	}
}
