package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
	"custody/internal/localaws/logs"
)

const operatorGroup = "/custody/custody/operator"

// logbook is the CloudWatch Logs of a test: what came, and whether it refuses.
type logbook struct {
	mu      sync.Mutex
	lines   []map[string]any
	puts    int
	refuses string // the error code; empty takes
}

// withLog is the tables of a stack with a log that the environment names.
func withLog(t *testing.T) (*tables, *logbook) {
	t.Helper()
	x, l := newTables(t), &logbook{}
	server := httptest.NewServer(l.over(logs.New(logs.Options{Groups: []string{operatorGroup}, Output: l.take})))
	t.Cleanup(server.Close)
	x.tool = x.with("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", server.URL, "CUSTODY_OPERATOR_LOG", operatorGroup, "AWS_MAX_ATTEMPTS", "1")
	return x, l
}

func (l *logbook) over(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		refuses := l.refuses
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutLogEvents") {
			l.puts++
		}
		l.mu.Unlock()
		if refuses == "" {
			engine.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, refuses)
	})
}

func (l *logbook) take(e logs.Event) {
	var line map[string]any
	if err := json.Unmarshal([]byte(e.Message), &line); err != nil {
		line = map[string]any{"no JSON": e.Message}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *logbook) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// taken are the lines since the last call, without what differs from run to run.
func (l *logbook) taken(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	got := l.lines
	l.lines = nil
	for _, line := range got {
		withoutTime(t, line)
	}
	return got
}

func withoutTime(t *testing.T, line map[string]any) {
	t.Helper()
	if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(line["time"])); err != nil || at.Location() != time.UTC || time.Since(at).Abs() > time.Hour {
		t.Errorf("time %v of %v", line["time"], line)
	}
	if line["version"] == "" || line["msg"] != "operation" {
		t.Errorf("version or msg of %v", line)
	}
	for _, name := range []string{"time", "version", "msg"} {
		delete(line, name)
	}
	if hold, is := line["hold"].(map[string]any); is {
		delete(hold, "created_at")
	}
}

// holdOf is the whole row of a hold of alice's, with what it has more.
func holdOf(id, reason string, more map[string]any) map[string]any {
	row := map[string]any{"scope": "warehouse:wh-17", "hold_id": id, "reason": reason, "by": "alice"}
	maps.Copy(row, more)
	return row
}

// line is one with what every line of these tests has.
func line(action, outcome string, more map[string]any) map[string]any {
	l := map[string]any{"level": "INFO", "action": action, "outcome": outcome, "scope": "warehouse:wh-17", "by": "bob"}
	maps.Copy(l, more)
	return l
}

func TestEachActionIsALineInTheOperatorLog(t *testing.T) {
	t.Parallel()
	x, l := withLog(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	x.has(t, "r-2", inbox.StateRecorded, nil)
	const r1, r2 = "cleanup.run/r-1", "cleanup.run/r-2"
	key, brake := map[string]any{"key": "pod/wh-17/a", "note": "see INC-7"}, map[string]any{"note": "incident 7"}
	ofCase4 := map[string]any{"hold_id": "case-4", "hold": holdOf("case-4", "legal_hold", key)}
	ofBrake := map[string]any{"hold_id": "custody-stop", "hold": holdOf("custody-stop", "stop", brake)}
	with := func(m map[string]any, pairs ...any) map[string]any {
		m = maps.Clone(m)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	scope := []string{"--scope", "warehouse:wh-17"}
	for _, step := range []struct {
		args []string
		code int
		want []map[string]any
	}{
		{[]string{"retry", "r-1", "--by", "bob", "--reason", "mended"}, 0, []map[string]any{line("retry", "done", map[string]any{"run": r1, "state": "pending", "reason": "mended"})}},
		{[]string{"retry", "r-1", "--by", "bob"}, 4, []map[string]any{line("retry", "refused", map[string]any{"run": r1, "state": "pending",
			"problem": "retry refused: cleanup.run/r-1 is pending, after the retry by bob at T; only a failed run can be retried"})}},
		{[]string{"release", "r-2", "--by", "bob"}, 0, []map[string]any{line("release", "done", map[string]any{"run": r2, "state": "pending"})}},
		{[]string{"dismiss", "r-1", "r-2", "--yes", "--by", "bob", "--reason", "twice"}, 0, []map[string]any{
			line("dismiss", "done", map[string]any{"run": r1, "state": "dismissed", "reason": "twice"}),
			line("dismiss", "done", map[string]any{"run": r2, "state": "dismissed", "reason": "twice"})}},
		{[]string{"retry", "r-3", "--by", "bob"}, 3, nil}, // nothing was tried
		{[]string{"dismiss", "r-1", "--by", "bob"}, 2, nil},
		{hold("case-4", "--key", "pod/wh-17/a", "--note", "see INC-7"), 0, []map[string]any{line("hold_add", "done", with(ofCase4, "by", "alice"))}},
		{hold("case-4", "--key", "pod/wh-17/a", "--note", "see INC-7"), 0, []map[string]any{line("hold_add", "done", with(ofCase4, "by", "alice", "already", true))}},
		{hold("case-4", "--key", "pod/wh-17/b"), 4, []map[string]any{line("hold_add", "refused", map[string]any{"by": "alice", "hold_id": "case-4",
			"hold": holdOf("case-4", "legal_hold", map[string]any{"key": "pod/wh-17/b"}), "problem": `hold case-4 of warehouse:wh-17 exists already (key "pod/wh-17/a", legal_hold); remove it first, or choose another id`})}},
		{hold("case-5"), 2, nil},
		{append([]string{"hold", "remove", "case-4", "--yes", "--by", "bob"}, scope...), 0, []map[string]any{line("hold_remove", "done", ofCase4)}},
		{append([]string{"hold", "remove", "case-4", "--yes", "--by", "bob"}, scope...), 3, nil},
		{append([]string{"stop", "--by", "alice", "--reason", "incident 7"}, scope...), 0, []map[string]any{line("stop", "done", with(ofBrake, "by", "alice", "reason", "incident 7"))}},
		{append([]string{"stop", "--by", "bob", "--reason", "me too"}, scope...), 0, []map[string]any{line("stop", "done", with(ofBrake, "reason", "me too", "already", true))}},
		{append([]string{"resume", "--yes", "--by", "bob"}, scope...), 0, []map[string]any{line("resume", "done", ofBrake)}},
		{append([]string{"resume", "--yes", "--by", "bob"}, scope...), 3, nil},
	} {
		if a := x.run(t, step.args...); a.code != step.code || a.code == 0 && strings.Contains(a.stderr, "operator log") {
			t.Errorf("%v: exit code %d, %s", step.args, a.code, a.stderr)
		}
		got := l.taken(t)
		for _, one := range got {
			if problem, has := one["problem"].(string); has {
				one["problem"] = timeless.ReplaceAllString(problem, "T")
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", step.args, diff)
		}
	}
}

func TestALogThatFailsLeavesActionAndExitCodeAlone(t *testing.T) {
	t.Parallel()
	const missing = "custody: the record of this is missing in the operator log, which changes nothing of what was done ("
	for name, test := range map[string]struct {
		change func(x *tables, l *logbook)
		why    string
	}{
		"no permission": {func(_ *tables, l *logbook) { l.refuses = "AccessDeniedException" },
			"write to log group " + operatorGroup + ": the AWS credentials lack the permission logs:PutLogEvents (AccessDeniedException)"},
		"no such group": {func(x *tables, _ *logbook) { x.env["CUSTODY_OPERATOR_LOG"] = "elsewhere" }, "there is no log group elsewhere in region us-east-1"},
		"nobody there":  {func(x *tables, _ *logbook) { x.env["AWS_ENDPOINT_URL_CLOUDWATCH_LOGS"] = "http://127.0.0.1:1" }, "write to log group " + operatorGroup + ": no answer: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, l := withLog(t)
			test.change(x, l)
			x.has(t, "r-1", inbox.StateFailed, nil)
			for _, step := range []struct {
				args           []string
				code           int
				stdout, action string
			}{
				{[]string{"retry", "r-1", "--by", "bob"}, 0, "cleanup.run/r-1 is pending, by bob: it starts again from the first key\n", "retry"},
				{[]string{"retry", "r-1", "--by", "bob"}, 4, "", "retry"},
				{hold("case-4", "--key", "k"), 0, "hold case-4 of warehouse:wh-17 added: key \"k\", legal_hold, until it is removed\n", "hold_add"},
				{[]string{"hold", "remove", "case-4", "--scope", "warehouse:wh-17", "--yes"}, 0, "hold case-4 of warehouse:wh-17 removed: it covered key \"k\", legal_hold\n", "hold_remove"},
			} {
				a := x.run(t, step.args...)
				if a.code != step.code || a.stdout != step.stdout {
					t.Errorf("%v: exit code %d, stdout %q", step.args, a.code, a.stdout)
				}
				sentence, record, _ := strings.Cut(a.stderr, "\n")
				if !strings.HasPrefix(sentence, missing+test.why) || !strings.HasSuffix(sentence, "); the line would have been") {
					t.Errorf("%v says %q", step.args, sentence)
				}
				record, _, _ = strings.Cut(record, "\n")
				if shown := objects(t, record)[0]; shown["action"] != step.action {
					t.Errorf("%v shows %v", step.args, shown)
				}
			}
			if l.lines != nil {
				t.Errorf("written: %v", l.lines)
			}
		})
	}
}

func TestWhereTheOperatorLogIsNamed(t *testing.T) {
	t.Parallel()
	x, a := withStack(t)
	y, l := withLog(t)
	x.env["AWS_ENDPOINT_URL_CLOUDWATCH_LOGS"] = y.env["AWS_ENDPOINT_URL_CLOUDWATCH_LOGS"]
	a.change(func() { a.stacks["custody"].outputs["OperatorLog"] = operatorGroup })
	const lacking = "stack old, of Custody 0.0.9, has no output OperatorLog"
	for _, step := range []struct {
		name   string
		tool   tool
		args   []string
		logged int
		stderr string
	}{
		{"the stack's output", x.tool, []string{"--stack", "custody"}, 1, ""},
		{"the stack that the environment names", x.with("CUSTODY_STACK_NAME", "custody"), nil, 1, ""},
		{"a variable that is left over from another stack", x.with("CUSTODY_OPERATOR_LOG", "nowhere"), []string{"--stack", "custody"}, 1, ""},
		{"the variable before the environment's stack", x.with("CUSTODY_STACK_NAME", "custody", "CUSTODY_OPERATOR_LOG", "nowhere"), nil, 0, "there is no log group nowhere"},
		{"the flag before all", x.with("CUSTODY_OPERATOR_LOG", "nowhere"), []string{"--stack", "custody", "--operator-log", operatorGroup}, 1, ""},
		{"none", x.with("CUSTODY_HOLDS_TABLE", "holds"), nil, 0, ""},
		{"a stack of an earlier version", x.tool, []string{"--stack", "old"}, 0, lacking},
		{"the flag, with a stack of an earlier version", x.tool, []string{"--stack", "old", "--operator-log", operatorGroup}, 1, ""},
	} {
		a.change(func() {
			a.stacks["old"] = &stackOf{status: "UPDATE_COMPLETE", outputs: map[string]string{"Table": "inbox", "HoldsTable": "holds", "Version": "0.0.9"}}
		})
		got := step.tool.run(t, append([]string{"stop", "--reason", "x"}, step.args...)...)
		if got.code != 0 || (step.stderr == "") != (got.stderr == "") || !strings.Contains(got.stderr, step.stderr) {
			t.Errorf("%s: exit code %d, stderr %q", step.name, got.code, got.stderr)
		}
		if lines := l.taken(t); len(lines) != step.logged {
			t.Errorf("%s: logged %v", step.name, lines)
		}
	}
	got := x.with("CUSTODY_OPERATOR_LOG", "a:b", "CUSTODY_HOLDS_TABLE", "holds").run(t, "stop", "--reason", "x", "--scope", "warehouse:wh-9")
	if got.code != 0 || !strings.Contains(got.stdout, "scope warehouse:wh-9 stopped") || len(l.taken(t)) != 0 ||
		!strings.Contains(got.stderr, `(CUSTODY_OPERATOR_LOG is "a:b", it must be the name of a log group: 1 to`) || !strings.Contains(got.stderr, `"action":"stop"`) {
		t.Errorf("of an environment with a wrong name: exit code %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
	x.refuses(t, 2, `--operator-log is "a:b", it must be the name of a log group`, "stop", "--reason", "x", "--stack", "custody", "--operator-log", "a:b")
}

// Many moves are few calls; one of them that fails is made up for at the end.
func TestManyMovesAreLoggedInFewCalls(t *testing.T) {
	t.Parallel()
	x, l := withLog(t)
	const n = 250
	want := make([]string, n)
	for i := range want {
		want[i] = "cleanup.run/" + x.has(t, fmt.Sprintf("r-%03d", i), inbox.StateFailed, nil).Key
	}
	x.does(t, "stop", "--reason", "makes the stream")
	l.change(func() { l.lines, l.puts = nil, 0 })
	if a := x.run(t, "retry", "--all", "--yes"); a.code != 0 || a.stderr != "custody: retry: 250 of 250 moved, 0 refused\n" {
		t.Errorf("exit code %d, %s", a.code, a.stderr)
	}
	if l.puts != 3 {
		t.Errorf("%d calls of PutLogEvents", l.puts)
	}
	var got []string
	for _, line := range l.lines {
		got = append(got, fmt.Sprint(line["run"]))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
}

// What reads the answers may go away: what was done is logged all the same.
func TestMovesWhoseReaderGoesAwayAreLogged(t *testing.T) {
	t.Parallel()
	x, l := withLog(t)
	for i := range 20 {
		x.has(t, fmt.Sprintf("r-%02d", i), inbox.StateFailed, nil)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	cmd := exec.CommandContext(t.Context(), os.Getenv("BUILT_TOOL"), "retry", "--all", "--yes")
	cmd.Dir, cmd.Stdout = t.TempDir(), writer
	for name, value := range x.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	err = cmd.Run()
	writer.Close()
	moved := 0
	for i := range 20 {
		run, lost := x.store.Run(t.Context(), inbox.RunKey{Type: "cleanup.run", Key: fmt.Sprintf("r-%02d", i)})
		if lost != nil {
			t.Fatal(lost)
		}
		if run.State == inbox.StatePending {
			moved++
		}
	}
	if moved == 0 || len(l.lines) != moved || code(t, err) != 1 {
		t.Errorf("%d moved, %d logged, error %v", moved, len(l.lines), err)
	}
}

func TestAnActionWithoutAnAnswerIsLoggedAsSuch(t *testing.T) {
	t.Parallel()
	x, l := withLog(t)
	x.has(t, "r-1", inbox.StateFailed, nil)
	engine, err := url.Parse(x.env["AWS_ENDPOINT_URL_DYNAMODB"])
	if err != nil {
		t.Fatal(err)
	}
	reads := httputil.NewSingleHostReverseProxy(engine)
	deaf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			panic(http.ErrAbortHandler)
		}
		reads.ServeHTTP(w, r)
	}))
	t.Cleanup(deaf.Close)
	y := x.with("AWS_ENDPOINT_URL_DYNAMODB", deaf.URL)
	for _, args := range [][]string{{"stop", "--reason", "x"}, hold("case-4", "--key", "k"), {"retry", "r-1"}, {"retry", "cleanup.run/r-1", "d-r-1", "--yes"}} {
		if a := y.run(t, args...); a.code != 1 || !strings.Contains(a.stderr, "whether it was done is not known") {
			t.Errorf("%v: exit code %d, %s", args, a.code, a.stderr)
		}
		got := l.taken(t)
		if len(got) != 1 || got[0]["outcome"] != "unanswered" || got[0]["level"] != "ERROR" || got[0]["problem"] == nil || got[0]["hold"] == nil && got[0]["run"] != "cleanup.run/r-1" {
			t.Errorf("%v: logged %v", args, got)
		}
	}
}

func TestALocalStackShowsWhatIsLogged(t *testing.T) {
	t.Parallel()
	l := startLocal(t, "--env-file", "local.env")
	stop := exec.CommandContext(t.Context(), "sh", "-c", `. ./local.env && exec "$0" stop --by alice --reason 'incident 7'`, os.Getenv("BUILT_TOOL"))
	stop.Dir = l.dir
	if out, err := stop.CombinedOutput(); err != nil || strings.Contains(string(out), "operator log") {
		t.Errorf("stop: %v\n%s", err, out)
	}
	if got := l.end(t, os.Interrupt); got != 0 {
		t.Errorf("exit code %d", got)
	}
	if got := l.stderr.String(); !strings.Contains(got, "operator | {\"time\":") || !strings.Contains(got, `"action":"stop","scope":"*","hold_id":"custody-stop","by":"alice","reason":"incident 7"`) {
		t.Errorf("the local stack shows:\n%s", got)
	}
}
