package runbook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"custody/internal/dynamostore"
	"custody/internal/localaws"
	localdynamodb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/process"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/localaws/steady"
)

// The names that a block finds in its variables.
const (
	inboxTable        = "custody-inbox"
	holdsTable        = "custody-holds"
	reservationsTable = "custody-reservations"
	objectBucket      = "custody-objects"
	reportBucket      = "custody-reports"
)

// sandbox is a folder, engines of its own, and a shell that reaches them and nothing else.
type sandbox struct {
	dir     string
	env     []string
	program string   // the shell
	answers *os.File // its standard input, nil for none
	db      *dynamodb.Client
	objects *s3.Client
	inbox   *dynamostore.Store
	holds   *dynamostore.Holds

	mu      sync.Mutex
	updates []request // what UpdateItem was asked
}

// newSandbox makes one whose shell finds the programs of the folders before all others.
func newSandbox(t *testing.T, folders ...string) *sandbox {
	t.Helper()
	s := &sandbox{dir: t.TempDir(), program: "sh"}
	key := credentials.NewStaticCredentialsProvider("local", "local", "")
	db, objects := s.serve(t, localdynamodb.New(localdynamodb.Options{})), s.serve(t, locals3.New(locals3.Options{}))
	s.db = dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: key, HTTPClient: steady.Client{}, BaseEndpoint: &db})
	s.objects = s3.New(s3.Options{Region: "us-east-1", Credentials: key, HTTPClient: steady.Client{}, BaseEndpoint: &objects, UsePathStyle: true})
	if err := (localaws.Tables{Inbox: inboxTable, Holds: holdsTable, Reservations: reservationsTable}).Make(t.Context(), s.db); err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{objectBucket, reportBucket} {
		if err := localaws.MakeBucket(t.Context(), s.objects, bucket); err != nil {
			t.Fatal(err)
		}
	}
	s.inbox = dynamostore.New(s.db, inboxTable)
	s.holds = dynamostore.NewHolds(s.db, holdsTable, slog.New(slog.DiscardHandler))
	s.env = append(shellEnv(s.dir, folders...),
		"CUSTODY_TABLE="+inboxTable, "CUSTODY_HOLDS_TABLE="+holdsTable, "CUSTODY_RESERVATIONS_TABLE="+reservationsTable,
		"CUSTODY_BUCKET="+objectBucket, "CUSTODY_REPORT_BUCKET="+reportBucket,
		"AWS_ENDPOINT_URL_DYNAMODB="+db, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+db, "AWS_ENDPOINT_URL_S3="+objects,
		"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	return s
}

// shellEnv is an environment without anything of the developer's AWS configuration. Version 2 of the AWS CLI would show its
// answers in a pager.
func shellEnv(home string, folders ...string) []string {
	path := strings.Join(append(folders, os.Getenv("PATH")), string(os.PathListSeparator))
	return []string{"PATH=" + path, "HOME=" + home, "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=", "AWS_MAX_ATTEMPTS=2"}
}

// asked gives what UpdateItem was asked since the last call.
func (s *sandbox) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.updates
	s.updates = nil
	return asked
}

// serve starts an engine and keeps what UpdateItem is asked.
func (s *sandbox) serve(t *testing.T, engine http.Handler) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var asked request
			if err := json.Unmarshal(body, &asked); err == nil {
				s.mu.Lock()
				s.updates = append(s.updates, asked)
				s.mu.Unlock()
			}
		}
		engine.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// outputs stands for what CloudFormation answers; the function that asks it is a block of its own, which needs a stack.
const outputs = `output() {
  case $1 in
    Table) echo "$CUSTODY_TABLE" ;;
    HoldsTable) echo "$CUSTODY_HOLDS_TABLE" ;;
    ReservationsTable) echo "$CUSTODY_RESERVATIONS_TABLE" ;;
    DeadLetterQueue) echo queue-url ;;
    *) echo "no output $1" >&2; return 1 ;;
  esac
}
`

// result is how a script ended.
type result struct {
	code           int
	stdout, stderr string
}

// shell runs a script in the sandbox's folder. The exit status is that of the last command.
func (s *sandbox) shell(t *testing.T, script string) result {
	t.Helper()
	path := filepath.Join(s.dir, ".script")
	if err := os.WriteFile(path, []byte(outputs+script), 0o600); err != nil {
		t.Fatal(err)
	}
	return runShell(t, s.dir, s.env, s.program, path, s.answers)
}

// anotherShell is one that people use besides what is sh here, or sh.
func anotherShell() string {
	for _, program := range []string{"zsh", "bash", "ksh"} {
		if _, err := exec.LookPath(program); err == nil {
			return program
		}
	}
	return "sh"
}

// shellTime bounds a block on a machine that is busy: one that waits for something that does not come would hang the tests.
const shellTime = 2 * time.Minute

func runShell(t *testing.T, dir string, env []string, program, path string, answers *os.File) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), shellTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, path)
	process.OwnGroup(cmd)
	cmd.Cancel = func() error { process.KillGroup(cmd); return nil }
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	if answers != nil {
		cmd.Stdin = answers
	}
	err := cmd.Run()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if ctx.Err() != nil || err != nil && !failed {
		t.Fatalf("the shell did not end by itself: %v\n%s%s", err, stdout.String(), stderr.String())
	}
	r := result{stdout: stdout.String(), stderr: stderr.String()}
	if failed {
		r.code = exit.ExitCode()
	}
	return r
}
