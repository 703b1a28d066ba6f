package localaws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"custody/internal/localaws"
	"custody/internal/localaws/dynamodb"
	"custody/internal/localaws/lambda"
	"custody/internal/localaws/s3"

	"github.com/google/go-cmp/cmp"
)

// Engines and functions of others: here they are a second stack's, behind the same protocols.
func TestStackOverOtherEnginesAndAnInvokeEndpoint(t *testing.T) {
	t.Parallel()
	db := httptest.NewServer(dynamodb.New(dynamodb.Options{}))
	t.Cleanup(db.Close)
	objects := httptest.NewServer(s3.New(s3.Options{Account: lambda.Account}))
	t.Cleanup(objects.Close)
	processes := start(t, localaws.Options{DynamoDB: db.URL, S3: objects.URL + "/"})
	var called calledNames
	invoke := httptest.NewServer(invokeEndpoint(processes, &called))
	t.Cleanup(invoke.Close)

	samEnv := filepath.Join(t.TempDir(), "sam.json")
	waited := 0
	id, key := processes.SigningKey()
	keys, err := json.Marshal(map[string]string{id: key})
	if err != nil {
		t.Fatal(err)
	}
	stack := start(t, localaws.Options{
		DynamoDB: db.URL, S3: objects.URL, Lambda: invoke.URL, SAMEnv: samEnv, OnWait: func() { waited++ },
		Settings: map[string]string{"CUSTODY_SIGNING_KEYS": string(keys)},
	})
	if stack.DynamoDBURL() != db.URL || stack.S3URL() != objects.URL {
		t.Errorf("engines are %s and %s", stack.DynamoDBURL(), stack.S3URL())
	}
	if waited != 1 {
		t.Errorf("told %d times that it waits", waited)
	}
	got := deliver(t, stack, "d-elsewhere", `{"run_id":"r-1","warehouse_id":"wh-1","expired_before":"2026-01-01T00:00:00Z"}`)
	if got != "204 accepted" {
		t.Fatalf("a delivery through the endpoint: %s", got)
	}
	reaches(t, stack, "r-1", done)
	// The other stack hears of the same records, so the run alone proves nothing about the way through the endpoint.
	for _, name := range []string{"WebhookFunction", "CleanupFunction", "SweeperFunction"} {
		called.wait(t, name)
	}

	env := readSAMEnv(t, samEnv)
	for function, want := range map[string]map[string]string{
		"WebhookFunction": {"CUSTODY_SIGNING_KEYS": string(keys), "CUSTODY_SIGNING_SECRET": "", "CUSTODY_TABLE": "custody-inbox", "AWS_ENDPOINT_URL_DYNAMODB": inContainer(t, db.URL)},
		"CleanupFunction": {"CUSTODY_BUCKET": "custody-objects", "AWS_ENDPOINT_URL_S3": inContainer(t, objects.URL), "CUSTODY_SIGNING_KEYS": ""},
		"SweeperFunction": {"CUSTODY_WAKE_AFTER": "2s", "AWS_ENDPOINT_URL_DYNAMODB": inContainer(t, db.URL)},
	} {
		for name, value := range want {
			if env[function][name] != value {
				t.Errorf("%s of %s is %q, want %q", name, function, env[function][name], value)
			}
		}
	}
	if err := stack.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(samEnv); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// calledNames remembers which functions were invoked.
type calledNames struct{ names sync.Map }

func (c *calledNames) signal(name string) chan struct{} {
	s, _ := c.names.LoadOrStore(name, make(chan struct{}, 1))
	return s.(chan struct{})
}

func (c *calledNames) add(name string) {
	select {
	case c.signal(name) <- struct{}{}:
	default:
	}
}

func (c *calledNames) wait(t *testing.T, name string) {
	t.Helper()
	select {
	case <-c.signal(name):
	case <-t.Context().Done():
		t.Errorf("%s was never invoked", name)
	}
}

// told is a function whose invocations are remembered.
type told struct {
	lambda.Invoker
	name   string
	called *calledNames
}

func (f told) Invoke(ctx context.Context, event []byte) (lambda.Result, error) {
	f.called.add(f.name)
	return f.Invoker.Invoke(ctx, event)
}

// invokeEndpoint is Lambda's Invoke API over the functions of a stack, by their logical ids.
func invokeEndpoint(stack *localaws.Stack, called *calledNames) http.Handler {
	e := lambda.Endpoint{}
	for _, spec := range localaws.Functions() {
		e[spec.LogicalID] = told{stack.Function(spec.Name), spec.LogicalID, called}
	}
	return e
}

func readSAMEnv(t *testing.T, path string) map[string]map[string]string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var env map[string]map[string]string
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&env); err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	return env
}

func inContainer(t *testing.T, endpoint string) string {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return "http://host.docker.internal:" + u.Port()
}

func TestStartRefusesEndpointsThatAreNone(t *testing.T) {
	t.Parallel()
	_, err := localaws.Start(t.Context(), localaws.Options{DynamoDB: "127.0.0.1:8000", S3: "http://", Lambda: "http://127.0.0.1:3001/path"})
	if _, ok := errors.AsType[*localaws.InvalidOptionsError](err); !ok {
		t.Fatalf("got %v", err)
	}
	var missing []string
	for _, want := range []string{`DynamoDB is "127.0.0.1:8000"`, `S3 is "http://"`, `Lambda is "http://127.0.0.1:3001/path"`, "such as http://127.0.0.1:8000"} {
		if !strings.Contains(err.Error(), want) {
			missing = append(missing, want)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
