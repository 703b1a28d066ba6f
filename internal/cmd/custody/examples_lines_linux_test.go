package main_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/report"
)

// examples are all lines of the help, without their comments, and what each needs.
func examples(t *testing.T) map[string]example {
	t.Helper()
	x := newExampleWorld(t)
	all := map[string]example{
		"custody version":                             {says: "custody "},
		"custody help hold add":                       {says: "custody hold add ID"},
		"source <(custody completion bash)":           {then: "complete -p custody", says: "__start_custody custody"},
		"custody completion zsh > _custody":           {then: "cat _custody", says: "#compdef custody"},
		"custody completion fish > custody.fish":      {then: "cat custody.fish", says: "complete -c custody"},
		"custody completion powershell > custody.ps1": {then: "cat custody.ps1", says: "Register-ArgumentCompleter"},
	}
	for _, part := range []map[string]example{x.ofRuns(), x.ofMoves(), x.ofHolds(), x.ofReports(), x.ofProducers(), ofStacks(t), ofLocal()} {
		maps.Copy(all, part)
	}
	return all
}

// exampleWorld is a local stack under the names that this package's other tests use. Its S3 takes what is put for older than the
// cutoff that the lines have.
type exampleWorld struct{ *buckets }

func newExampleWorld(t *testing.T) exampleWorld {
	t.Helper()
	w := startWholeWith(t, map[string]string{
		"CUSTODY_TABLE": "inbox", "CUSTODY_HOLDS_TABLE": "holds", "CUSTODY_BUCKET": "objects", "CUSTODY_REPORT_BUCKET": "reports",
	}, func() time.Time { return day.Add(-48 * time.Hour) })
	db := w.stack.DynamoDB()
	return exampleWorld{&buckets{s3: w.stack.S3(), tables: &tables{tool: w.tool, db: db, store: dynamostore.New(db, "inbox")}}}
}

// without is a world in which there is nothing of these runs, which the lines name.
func (x exampleWorld) without(keys ...string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		for _, key := range keys {
			x.forgets(t, key)
		}
	}
}

// standing is a world with the runs in that state, for more than a day.
func (x exampleWorld) standing(state inbox.State, keys ...string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		x.without(keys...)(t)
		for _, key := range keys {
			x.has(t, key, state, func(r *inbox.Run) {
				switch state {
				case inbox.StateFailed:
					r.LastError = &inbox.LastError{Category: inbox.CategoryAccessDenied, Message: "list: AccessDenied", At: ago(time.Hour)}
				case inbox.StateRunning: // somebody else's, which no sweep takes
					r.LeaseToken, r.LeaseExpiresAt = "T", time.Now().Add(time.Hour)
				case inbox.StateDone:
					r.Mode = inbox.ModeDryRun
				case inbox.StateRecorded:
					r.OpenSince = ago(25 * time.Hour)
				case inbox.StatePending, inbox.StateDismissed: // as they are
				}
			})
		}
	}
}

// settles waits for the runs that other lines have started: they would delete what is put now.
func (x exampleWorld) settles(t *testing.T) {
	t.Helper()
	tick, end := time.NewTicker(100*time.Millisecond), time.After(atMost)
	defer tick.Stop()
	for text := ""; !strings.Contains("\n"+text, "\n0 open, "); {
		text = x.does(t, "runs")
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("runs are open still:\n%s", text)
		}
	}
}

func (x exampleWorld) ofRuns() map[string]example {
	failed := x.standing(inbox.StateFailed, "r-1")
	line := func(says string) example { return example{tool: x.tool, world: failed, says: says} }
	watched := line("1 failed")
	watched.until, watched.keys = "Ctrl-C ends it", ctrlC
	beside := example{beside: true, then: `echo "the webhook is at $CUSTODY_URL"`, says: "the webhook is at http://127.0.0.1:"}
	return map[string]example{
		"custody runs": line("cleanup.run/r-1"),
		"custody runs --state failed --scope warehouse:wh-17 --category access_denied": line("1 failed"),
		"custody runs --older-than 2h --watch":                                         watched,
		"custody runs --json | jq -r 'select(.state == \"failed\") | .run'":            line("cleanup.run/r-1"),
		"custody show r-1":                                     line("Last error  access_denied"),
		"custody show r-1 --watch":                             line("State       failed"),
		"custody show cleanup.run/r-1 --json | jq .last_error": line(`"category": "access_denied"`),
		". ./local.env":                                        beside,
		". ./local.env && custody runs":                        {beside: true, says: "0 open, 0 failed, 0 recorded"},
	}
}

func (x exampleWorld) ofMoves() map[string]example {
	line := func(state inbox.State, says string, runs ...string) example {
		return example{tool: x.tool, world: x.standing(state, runs...), says: says}
	}
	return map[string]example{
		"custody retry r-1 --reason 'bucket policy mended'":                                                                line(inbox.StateFailed, "cleanup.run/r-1 is pending", "r-1"),
		"custody retry --all --scope warehouse:wh-17 --category access_denied --reason 'role mended'":                      line(inbox.StateFailed, "retry: 2 of 2 moved", "r-1", "r-2").asked("retry 2 runs"),
		"custody release cleanup.run/r-1":                                                                                  line(inbox.StateDone, "cleanup.run/r-1 is pending", "r-1"),
		"custody release --all --older-than 24h --yes":                                                                     line(inbox.StateRecorded, "release: 2 of 2 moved", "r-1", "r-2"),
		"custody dismiss r-1 --reason 'wrong cutoff, see INC-7'":                                                           line(inbox.StateFailed, "cleanup.run/r-1 is dismissed", "r-1"),
		"custody dismiss r-1 r-2 --reason 'sent twice'":                                                                    line(inbox.StateFailed, "dismiss: 2 of 2 moved", "r-1", "r-2").asked("dismiss 2 runs"),
		"custody dismiss --all --state pending --state running --scope warehouse:wh-17 --reason 'wrong cutoff, see INC-7'": line(inbox.StateRunning, "dismiss: 2 of 2 moved", "r-1", "r-2").asked("dismiss 2 runs"),
	}
}

func (x exampleWorld) ofHolds() map[string]example {
	line := func(says string, before ...string) example {
		return example{tool: x.tool, says: says, world: func(t *testing.T) {
			t.Helper()
			for _, undo := range [][]string{{"resume", "--yes", "--scope", "warehouse:wh-17"}, {"hold", "remove", "dispute-991", "--scope", "warehouse:wh-17", "--yes"}} {
				if a := x.run(t, undo...); a.code != 0 && a.code != 3 {
					t.Fatalf("%v: exit code %d, %s", undo, a.code, a.stderr)
				}
			}
			if len(before) > 0 {
				x.does(t, before...)
			}
		}}
	}
	held := hold("dispute-991", "--prefix", "pod/wh-17/dispute-991/")
	stopped := []string{"stop", "--scope", "warehouse:wh-17", "--reason", "x"}
	removed, resumed := line("hold dispute-991 of warehouse:wh-17 removed", held...), line("is lifted", stopped...)
	return map[string]example{
		"custody hold add dispute-991 --scope warehouse:wh-17 --prefix pod/wh-17/dispute-991/ " +
			"--reason dispute_evidence --note 'case 991' --expires 2099-01-31T00:00:00Z": line("hold dispute-991 of warehouse:wh-17 added"),
		"custody hold list --scope warehouse:wh-17":                               line(`prefix "pod/wh-17/dispute-991/"`, held...),
		"custody hold remove dispute-991 --scope warehouse:wh-17":                 removed.asked("Remove it"),
		"custody hold remove dispute-991 --scope warehouse:wh-17 --yes":           removed,
		"custody stop --scope warehouse:wh-17 --reason 'wrong cutoff, see INC-7'": line("scope warehouse:wh-17 stopped"),
		"custody resume --scope warehouse:wh-17":                                  resumed.asked("Lift it"),
		"custody resume --scope warehouse:wh-17 --yes":                            resumed,
	}
}

func (x exampleWorld) ofReports() map[string]example {
	var once sync.Once
	line := func(says string) example {
		return example{tool: x.tool, says: says, world: func(t *testing.T) {
			t.Helper()
			x.standing(inbox.StateDone, "r-1")(t)
			once.Do(func() { // what a report says is never written again
				h := headerOf("r-1", report.ModeDelete, 1)
				x.selected(t, h, of("pod/wh-17/a.txt", ""), of("pod/wh-17/lost", ""))
				x.answered(t, h, became("pod/wh-17/a.txt", report.FateDeleted, ""))
			})
		}}
	}
	planned := func(says string) example {
		return example{tool: x.tool, says: says, world: func(t *testing.T) {
			t.Helper()
			x.settles(t)
			for _, key := range []string{"pod/wh-17/planned", "search/4821/planned"} {
				x.put(t, key, "")
			}
		}}
	}
	html := line("How to read this page")
	html.then = "cat r-1.html"
	return map[string]example{
		"custody report r-1": line(`unknown: key "pod/wh-17/lost"`),
		"custody report cleanup.run/r-1 --html > r-1.html":                                           html,
		"custody report r-1 --key pod/wh-17/a.txt":                                                   line("pod/wh-17/a.txt"),
		`custody report r-1 --json | jq -r 'select(.state == "unknown") | .key'`:                     line("pod/wh-17/lost"),
		"custody plan --type cleanup.run --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z": planned("would go  dry_run"),
		"custody plan --type listing.expire --listing-id 4821 --expired-at 2026-08-30T00:00:00Z":     planned("would go  dry_run"),
		"custody plan --type cleanup.run --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z --json " +
			`| jq -r 'select(.decision == "delete") | .key'`: planned("pod/wh-17/planned"),
	}
}

func (x exampleWorld) ofProducers() map[string]example {
	line := func(says string) example {
		return example{tool: x.tool, world: x.without("r-1", "r-2"), says: says}
	}
	return map[string]example{
		"custody check": line("canary       ok"),
		`custody sign --body delivery.json | xargs curl -i "$CUSTODY_URL" --data-binary @delivery.json`:                  line("HTTP/1.1 204 No Content"),
		"custody sign --body - --delivery-id d-1 --timestamp 1790000000 --json < delivery.json":                          line(`"delivery_id":"d-1"`),
		"custody sign --type cleanup.run --run-id r-1 --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z":        line("-H 'X-Delivery-Signature: "),
		"custody send --type cleanup.run --run-id r-1 --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z":        line("204 accepted"),
		"custody send --type listing.expire --listing-id 4821 --generation 1 --expired-at 2026-08-30T00:00:00Z":          line("204 accepted"),
		"custody send --type cleanup.run --run-id r-2 --warehouse-id wh-17 --expired-before 2026-08-30T00:00:00Z --wait": line("cleanup.run/r-2 is done"),
		"custody send --body delivery.json --delivery-id d-1 --tries 1":                                                  line("Answer      204 "),
	}
}

// ofStacks are those of a deployed stack: a local one that a stand-in for CloudFormation knows.
func ofStacks(t *testing.T) map[string]example {
	t.Helper()
	_, _, inAccount := inAccount(t)
	return map[string]example{
		"custody check --stack custody --json": {tool: inAccount, says: `"stage":"stack","verdict":"ok"`},
		"custody runs --stack custody":         {tool: inAccount, says: " failed, 0 recorded"},
	}
}

// ofLocal are those that start a stack.
func ofLocal() map[string]example {
	line := func(says string, world func(t *testing.T)) example {
		return example{until: "ready;", keys: ctrlC, says: says, world: world}
	}
	return map[string]example{
		"custody local --env-file local.env": line("ready; `. ./local.env` in another shell", nil),
		"custody local --port 8080 --set CUSTODY_RECORD_ONLY=true --set CUSTODY_REPLAY_WINDOW=1h": line("http://127.0.0.1:8080/",
			func(t *testing.T) { free(t, 8080, 8081, 8082, 8083, 8084) }),
		"custody local --dynamodb http://127.0.0.1:8000": line("DynamoDB       http://127.0.0.1:8000", func(t *testing.T) {
			free(t, 8000)
			l, err := net.Listen("tcp", "127.0.0.1:8000")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: localdb.New(localdb.Options{}), ReadHeaderTimeout: atMost}
			go func() { _ = server.Serve(l) }()
			t.Cleanup(func() { _ = server.Close() })
		}),
		"custody local --listen 0.0.0.0 --sam-env sam.json --lambda http://127.0.0.1:3001": line("Lambda         http://127.0.0.1:3001", func(t *testing.T) {
			free(t, 2998, 2999, 3000, 3001, 3002)
			l := startLocal(t, "--port", "2998") // whose Lambda is at 3001
			t.Cleanup(func() { l.end(t, os.Interrupt) })
		}),
	}
}

// free skips the test where something else on this machine has one of the ports that the line names.
func free(t *testing.T, ports ...int) {
	t.Helper()
	for _, port := range ports {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Skipf("something else has the port: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
