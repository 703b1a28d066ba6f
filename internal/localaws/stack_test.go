package localaws_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"custody/internal/localaws"
	"custody/internal/localaws/lambda"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
)

// TestMain builds the functions once, with the stack's own code, and keeps them for all tests.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "built")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, name := range localaws.FunctionNames() {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w",
			"-o", filepath.Join(dir, name, "bootstrap"), "custody/functions/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	os.Setenv("BUILT_FUNCTIONS", dir)
	return m.Run()
}

// start starts a stack that ends with the test.
func start(t *testing.T, options localaws.Options) *localaws.Stack {
	t.Helper()
	if options.Functions == "" {
		options.Functions = os.Getenv("BUILT_FUNCTIONS")
	}
	stack, err := localaws.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	return stack
}

// signedRequest is a delivery of the body, signed with the stack's key.
func signedRequest(t *testing.T, s *localaws.Stack, id, body string) *http.Request {
	t.Helper()
	_, key := s.SigningKey()
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(stamp + "." + body))
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.URL(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Delivery-ID", id)
	request.Header.Set("X-Delivery-Timestamp", stamp)
	request.Header.Set("X-Delivery-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return request
}

// deliver sends a signed delivery and returns status and outcome.
func deliver(t *testing.T, s *localaws.Stack, id, body string) string {
	t.Helper()
	response, err := http.DefaultClient.Do(signedRequest(t, s, id, body))
	if err != nil {
		t.Error(err) // not Fatal: copies are sent at once, each from its own goroutine
		return ""
	}
	defer response.Body.Close()
	return fmt.Sprint(response.StatusCode, " ", response.Header.Get("Custody-Outcome"))
}

func cleanupRun(run, cutoff string) string {
	return fmt.Sprintf(`{"run_id":%q,"warehouse_id":"wh-17","expired_before":%q}`, run, cutoff)
}

// finished closes once a write to DynamoDB has put a run at done.
func finished() (chan struct{}, func(http.Handler) http.Handler) {
	done := make(chan struct{})
	tell := sync.OnceFunc(func() { close(done) })
	return done, func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			engine.ServeHTTP(w, r)
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") && bytes.Contains(body, []byte(`{"S":"done"}`)) {
				tell()
			}
		})
	}
}

func TestStackWalksADeliveryToAnEmptyBucket(t *testing.T) {
	t.Parallel()
	done, wrap := finished()
	var put atomic.Int64
	var mu sync.Mutex
	pids := map[string][]int{}
	longAgo := func() time.Time { return time.Now().Add(-48 * time.Hour) }
	stack := start(t, localaws.Options{
		WrapDynamoDB: wrap,
		WrapS3: func(engine http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut {
					put.Add(1)
				}
				engine.ServeHTTP(w, r)
			})
		},
		Now: longAgo,
		OnProcess: func(p lambda.Process) {
			mu.Lock()
			defer mu.Unlock()
			pids[p.Function] = append(pids[p.Function], p.PID)
		},
	})
	client, bucket := stack.S3(), stack.Setting("CUSTODY_BUCKET")
	before := put.Load()
	for _, key := range []string{"pod/wh-17/a", "pod/wh-17/a", "labels/wh-17/b", "pod/wh-99/c"} {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if put.Load()-before != 4 {
		t.Errorf("the wrapper of S3 saw %d puts", put.Load()-before)
	}
	body := cleanupRun("r-1", time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	for i, want := range []string{"204 accepted", "204 already_processed"} {
		if got := deliver(t, stack, "d-1", body); got != want {
			t.Errorf("copy %d: %s", i, got)
		}
	}
	select {
	case <-done:
	case <-t.Context().Done():
	}
	left, err := client.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &bucket})
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Versions) != 1 || *left.Versions[0].Key != "pod/wh-99/c" || len(left.DeleteMarkers) != 0 {
		t.Errorf("left are %v %v", left.Versions, left.DeleteMarkers)
	}
	if letters := stack.DeadLetters(); len(letters) != 0 {
		t.Errorf("dead letters %v", letters)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range localaws.FunctionNames() {
		if !slices.Equal(pids[name], stack.Function(name).Processes()) {
			t.Errorf("told of %s processes %v, there are %v", name, pids[name], stack.Function(name).Processes())
		}
	}
}

func TestStackResources(t *testing.T) {
	t.Parallel()
	stack := start(t, localaws.Options{Settings: map[string]string{"CUSTODY_TABLE": "other-inbox", "CUSTODY_BUCKET": "other-bucket"}})
	db := stack.DynamoDB()
	for table, want := range map[string]string{
		"other-inbox":          "pk HASH; open[open HASH,open_since RANGE] INCLUDE; stream NEW_AND_OLD_IMAGES; ttl ttl",
		"custody-holds":        "scope HASH,hold_id RANGE; ttl expires_at",
		"custody-reservations": "reservation_id HASH; status-expires_at[status HASH,expires_at RANGE] KEYS_ONLY",
	} {
		if got := describe(t, db, table); got != want {
			t.Errorf("%s\n got %s\nwant %s", table, got, want)
		}
	}
	for _, bucket := range []string{"other-bucket", "custody-reports"} {
		got, err := stack.S3().GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &bucket})
		if err != nil || got.Status != "Enabled" {
			t.Errorf("bucket %s: versioning %v, %v", bucket, got, err)
		}
	}
}

// describe is a table in one line.
func describe(t *testing.T, db *dynamodb.Client, name string) string {
	t.Helper()
	out, err := db.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	keys := func(schema []types.KeySchemaElement) string {
		var parts []string
		for _, k := range schema {
			parts = append(parts, *k.AttributeName+" "+string(k.KeyType))
		}
		return strings.Join(parts, ",")
	}
	parts := []string{keys(out.Table.KeySchema)}
	for _, index := range out.Table.GlobalSecondaryIndexes {
		parts = append(parts, fmt.Sprintf("%s[%s] %s", *index.IndexName, keys(index.KeySchema), index.Projection.ProjectionType))
	}
	if spec := out.Table.StreamSpecification; spec != nil && aws.ToBool(spec.StreamEnabled) {
		parts = append(parts, "stream "+string(spec.StreamViewType))
	}
	ttl, err := db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled {
		parts = append(parts, "ttl "+*ttl.TimeToLiveDescription.AttributeName)
	}
	return strings.Join(parts, "; ")
}

func TestStackSettings(t *testing.T) {
	t.Parallel()
	recorded := start(t, localaws.Options{Settings: map[string]string{"CUSTODY_RECORD_ONLY": "true", "CUSTODY_PATH": "/in",
		"CUSTODY_SIGNING_KEYS": `{"b":"second","a":"first","0":{"key":"ended","not_after":"2020-01-01T00:00:00Z"}}`}})
	if !strings.HasSuffix(recorded.URL(), "/in") {
		t.Errorf("deliveries go to %s", recorded.URL())
	}
	if id, key := recorded.SigningKey(); id != "a" || key != "first" {
		t.Errorf("key %s: %s", id, key)
	}
	if got := deliver(t, recorded, "d-1", cleanupRun("r-1", "2026-01-01T00:00:00Z")); got != "204 accepted" {
		t.Errorf("a delivery by the given key: %s", got)
	}
	table := recorded.Setting("CUSTODY_TABLE")
	item, err := recorded.DynamoDB().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table,
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "run#cleanup.run#r-1"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := &types.AttributeValueMemberS{Value: "recorded"}
	if got, ok := item.Item["state"].(*types.AttributeValueMemberS); !ok || got.Value != want.Value {
		t.Errorf("the setting did not reach the function: %v", item.Item)
	}
}

func TestStackLocalDefaults(t *testing.T) {
	t.Parallel()
	a, b := start(t, localaws.Options{}), start(t, localaws.Options{})
	for name, want := range map[string]string{"CUSTODY_MIN_OBJECT_AGE": "0s", "CUSTODY_DELETE_SCOPES": "*", "CUSTODY_WAKE_AFTER": "2s",
		"CUSTODY_COMMANDS": "cleanup.run,listing.expire,reservation.expire", "CUSTODY_STACK": "local", "CUSTODY_RETENTION_DAYS": ""} {
		if got := a.Setting(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	_, first := a.SigningKey()
	_, second := b.SigningKey()
	if first == second || len(first) != 64 {
		t.Errorf("keys %s and %s: each start makes its own", first, second)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		options localaws.Options
		want    []string
	}{
		"every unknown or wrong setting at once": {localaws.Options{Settings: map[string]string{"CUSTODY_COLOUR": "red", "CUSTODY_PATH": "x", "CUSTODY_TABLE": ""}},
			[]string{"CUSTODY_COLOUR is no setting", "there are: CUSTODY_ACK_TIMEOUT, ", "CUSTODY_PATH", "CUSTODY_TABLE is empty"}},
		"the secret's name, for there is no Secrets Manager": {localaws.Options{Settings: map[string]string{"CUSTODY_SIGNING_SECRET": ""}},
			[]string{"CUSTODY_SIGNING_SECRET is no setting of the local functions"}},
		"a keyring without a key": {localaws.Options{Settings: map[string]string{"CUSTODY_SIGNING_KEYS": `{"a":" "}`}},
			[]string{"CUSTODY_SIGNING_KEYS has no key"}},
		"a port that leaves no room": {localaws.Options{Port: 65532}, []string{"port is 65532, must be 1 to 65531"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			_, err := localaws.Start(t.Context(), test.options)
			if _, ok := errors.AsType[*localaws.InvalidOptionsError](err); !ok {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

func TestStartNamesMissingFunctions(t *testing.T) {
	t.Parallel()
	_, err := localaws.Start(t.Context(), localaws.Options{Functions: t.TempDir()})
	for _, name := range localaws.FunctionNames() {
		if err == nil || !strings.Contains(err.Error(), "built function "+name) {
			t.Errorf("%s is not in: %v", name, err)
		}
	}
}

func TestStartFailsWithWhatTheFunctionSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range localaws.FunctionNames() {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\necho " + name + " is not well\nexit 3\n"
		if err := os.WriteFile(filepath.Join(dir, name, "bootstrap"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := localaws.Start(t.Context(), localaws.Options{Functions: dir})
	for _, want := range []string{"start function webhook: Runtime exited with error: exit status 3", "sweeper is not well"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestStackPorts(t *testing.T) {
	t.Parallel()
	stack, port := startOnFreePorts(t)
	for i, url := range []string{strings.TrimSuffix(stack.URL(), "/"), stack.DynamoDBURL(), stack.S3URL(), stack.LambdaURL()} {
		if want := fmt.Sprintf("http://127.0.0.1:%d", port+i); url != want {
			t.Errorf("%s, want %s", url, want)
		}
	}
	_, err := localaws.Start(t.Context(), localaws.Options{Port: port - 1, Functions: os.Getenv("BUILT_FUNCTIONS")})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "is in use by another program") {
		t.Errorf("a stack on taken ports: %v", err)
	}
}

// startOnFreePorts finds four free ports in a row; another program may take one meanwhile, and then it looks again.
func startOnFreePorts(t *testing.T) (*localaws.Stack, int) {
	t.Helper()
	for range 20 {
		probe, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := probe.Addr().(*net.TCPAddr).Port
		probe.Close()
		stack, err := localaws.Start(t.Context(), localaws.Options{Port: port, Functions: os.Getenv("BUILT_FUNCTIONS")})
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stack.Close() })
		return stack, port
	}
	t.Fatal("no four free ports in a row")
	return nil, 0
}

func TestStackListensOnAllAddresses(t *testing.T) {
	t.Parallel()
	stack := start(t, localaws.Options{Listen: "0.0.0.0"})
	if !strings.HasPrefix(stack.URL(), "http://127.0.0.1:") {
		t.Errorf("%s is no address to connect to", stack.URL())
	}
	if got := deliver(t, stack, "d-1", "{}"); got != "422 rejected" {
		t.Error(got)
	}
}

func TestStackCloseLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := localaws.Start(cancelled(t), localaws.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that was called off: %v", err)
	}
	stack, err := localaws.Start(t.Context(), localaws.Options{}) // builds
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, name := range localaws.FunctionNames() {
		pids = append(pids, stack.Function(name).Processes()...)
	}
	if len(pids) != 3 {
		t.Errorf("processes %v", pids)
	}
	for range 2 { // a second Close does nothing
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		if exec.Command("kill", "-0", strconv.Itoa(pid)).Run() == nil {
			t.Errorf("process %d lives", pid)
		}
	}
	for _, url := range []string{stack.URL(), stack.DynamoDBURL(), stack.S3URL(), stack.LambdaURL()} {
		if conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")); err == nil {
			conn.Close()
			t.Errorf("%s is still there", url)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "custody*"))
	if err != nil || len(left) != 0 {
		t.Errorf("files are left: %v (%v)", left, err)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestStackEnv(t *testing.T) {
	t.Parallel()
	stack := start(t, localaws.Options{})
	id, key := stack.SigningKey()
	want := []string{
		"CUSTODY_URL=" + stack.URL(), "CUSTODY_TABLE=custody-inbox", "CUSTODY_HOLDS_TABLE=custody-holds",
		"CUSTODY_RESERVATIONS_TABLE=custody-reservations", "CUSTODY_BUCKET=custody-objects", "CUSTODY_REPORT_BUCKET=custody-reports",
		"CUSTODY_OPERATOR_LOG=/custody/local/operator", "CUSTODY_SIGNING_KEY=" + key, "CUSTODY_SIGNING_KEY_ID=" + id, "CUSTODY_SIGNATURE_SCHEME=timestamped",
		"AWS_ENDPOINT_URL_DYNAMODB=" + stack.DynamoDBURL(), "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + stack.DynamoDBURL(),
		"AWS_ENDPOINT_URL_S3=" + stack.S3URL(), "AWS_ENDPOINT_URL_LAMBDA=" + stack.LambdaURL(),
		"AWS_ENDPOINT_URL_CLOUDWATCH_LOGS=" + stack.LogsURL(),
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}
	if diff := cmp.Diff(want, stack.Env()); diff != "" {
		t.Error(diff)
	}
}
