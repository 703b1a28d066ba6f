package check_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/lambda"
	locals3 "custody/internal/localaws/s3"
	"custody/internal/signature"
)

// warmEvents is how many events a process gets behind its first.
const warmEvents = 40

// A client that is made for each event makes a connection for each. A tenth is left to chance, such as a connection that the
// SDK's own client takes for broken.
const dropped = warmEvents / 10

// answering is the time before an answer. A server on this machine that takes none answers before the client has seen the end
// of its own request, and that client then drops the connection (see package steady); services take longer.
const answering = 5 * time.Millisecond

// service counts requests and connections of one endpoint.
type service struct {
	counts
	url         string
	connections atomic.Int64
}

func serve(t *testing.T, operation func(*http.Request) string, h http.Handler) *service {
	t.Helper()
	s := &service{}
	server := httptest.NewUnstartedServer(s.Behind(operation, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pause(r.Context(), answering) == nil {
			h.ServeHTTP(w, r)
		}
	})))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// cloud is what the functions reach.
type cloud struct {
	t               *testing.T
	db, s3, secrets *service
	store           *dynamostore.Store // past the counts
	started         atomic.Int64       // processes
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	tables, objects := localdb.New(localdb.Options{}), locals3.New(locals3.Options{})
	c := &cloud{t: t}
	past := dynamoDBOver(direct{handler: tables}, "http://local")
	must(t, (localaws.Tables{Inbox: "inbox", Holds: "holds"}).Make(t.Context(), past))
	must(t, localaws.MakeBucket(t.Context(), s3Over(direct{handler: objects}, "http://local"), bucket))
	c.store = dynamostore.New(past, "inbox")
	c.db, c.s3 = serve(t, dynamoDBOperation, tables), serve(t, s3Operation, objects)
	c.secrets = serve(t, dynamoDBOperation, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		fmt.Fprintf(w, `{"ARN":"arn:aws:secretsmanager:us-east-1:000000000000:secret:keys-AbCdEf","Name":"keys","VersionId":"v-1","SecretString":%q}`, inprocess.Keyring())
	}))
	return c
}

// function builds and starts one of the functions, as one process.
func (c *cloud) function(name string, settings map[string]string) *lambda.Function {
	c.t.Helper()
	binary := filepath.Join(c.t.TempDir(), "bootstrap")
	cmd := exec.CommandContext(c.t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binary, "custody/functions/"+name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	environment := map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": c.db.url, "AWS_ENDPOINT_URL_S3": c.s3.url, "AWS_ENDPOINT_URL_SECRETS_MANAGER": c.secrets.url,
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"CUSTODY_STACK": "bench", "CUSTODY_TABLE": "inbox",
	}
	for variable, value := range settings {
		environment[variable] = value
	}
	f, err := lambda.NewFunction(lambda.Config{
		Name: name, Binary: binary, Environment: environment, Timeout: 30 * time.Second, Memory: 256, Concurrency: 1,
		OnStart: func(lambda.Process) { c.started.Add(1) },
		Output: func(_ lambda.Process, line string) {
			if strings.Contains(line, `"startup"`) {
				c.t.Error(line)
			}
		},
	})
	must(c.t, err)
	c.t.Cleanup(f.Close)
	return f
}

// Settings are read once and clients made once: a warm process asks for no key again and opens no connection for an event.
func TestAWarmFunctionMakesNothingAnew(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		settings map[string]string
		event    func(t *testing.T, c *cloud, i int) any
	}{
		"webhook": {
			map[string]string{"CUSTODY_SIGNING_SECRET": "arn:aws:secretsmanager:us-east-1:000000000000:secret:keys-AbCdEf", "CUSTODY_BUCKET": bucket},
			func(t *testing.T, _ *cloud, i int) any {
				door, err := inprocess.NewDoor(signature.SchemeTimestamped, inprocess.Nowhere{})
				must(t, err)
				id := fmt.Sprint("r-", i)
				return door.Request(id, inprocess.Body(id), time.Now())
			},
		},
		"cleanup": {
			map[string]string{"CUSTODY_HOLDS_TABLE": "holds", "CUSTODY_BUCKET": bucket, "CUSTODY_REPORT_BUCKET": "none"},
			func(t *testing.T, c *cloud, i int) any {
				key, now := inbox.RunKey{Type: "cleanup.run", Key: fmt.Sprint("r-", i)}, time.Now()
				sel := inbox.Selection{Bucket: bucket, Prefixes: []string{"pod/wh-17/"}, Cutoff: now}
				_, err := c.store.Claim(t.Context(), inbox.Claim{
					Delivery: inbox.Delivery{ID: key.Key, BodySHA256: "b", RunKey: key.String(), ReceivedAt: now, TTL: now.Unix()},
					Run:      inbox.NewRun(key, scope, sel, "hash", key.Key, now).Start("wake"),
				})
				must(t, err)
				return json.RawMessage(wakeRecord(key, "wake"))
			},
		},
		"sweeper": {nil, func(*testing.T, *cloud, int) any { return map[string]string{} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			f := c.function(name, test.settings)
			invoke := func(i int) {
				event, err := json.Marshal(test.event(t, c, i))
				must(t, err)
				result, err := f.Invoke(t.Context(), event)
				if err != nil || result.FunctionError != "" {
					t.Fatalf("event %d: %v, %s %s", i, err, result.FunctionError, result.Payload)
				}
			}
			invoke(0)
			asked, first := sum(c.db.Take()), []int64{c.db.connections.Load(), c.s3.connections.Load()}
			for i := range warmEvents {
				invoke(1 + i)
			}
			if got := sum(c.db.Take()); asked == 0 || got < warmEvents {
				t.Fatalf("%d requests to DynamoDB for the first event and %d for %d more: the events were not worked", asked, got, warmEvents)
			}
			if n := c.started.Load(); n != 1 {
				t.Errorf("%d processes, want 1", n)
			}
			if n := sum(c.secrets.Take()); name == "webhook" && n != 1 || name != "webhook" && n != 0 {
				t.Errorf("Secrets Manager was asked %d times; the keyring is for all events of a process (internal/keyring/secret.go)", n)
			}
			for i, s := range []*service{c.db, c.s3} {
				anew := s.connections.Load() - first[i]
				t.Logf("%s: %d connections for the first event, %d more for the other %d", []string{"DynamoDB", "S3"}[i], first[i], anew, warmEvents)
				if anew > dropped {
					t.Errorf("%d new connections for %d events of a warm process, at most %d are left to chance; look at what functions/%s/main.go makes for an event",
						anew, warmEvents, dropped, name)
				}
			}
		})
	}
}
