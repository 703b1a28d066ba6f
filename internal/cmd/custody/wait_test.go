package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"custody/internal/signature"
)

func cleanup(runID string, before time.Time) []string {
	return []string{"--type", "cleanup.run", "--run-id", runID, "--warehouse-id", "wh-17", "--expired-before", rfc3339(before)}
}

func TestSendWaitsForTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	w := startWhole(t, nil)
	for _, key := range []string{"pod/wh-17/a", "pod/wh-17/b"} {
		w.put(t, key)
	}
	yesterday := ago(24 * time.Hour)
	send := func(run string, more ...string) []string {
		return append(append([]string{"send", "--wait", "--every", "200ms", "--delivery-id", "d-" + run}, cleanup(run, yesterday)...), more...)
	}
	text := w.does(t, send("r-1", "--wait-within", "1h")...)
	if !strings.HasSuffix(text, "cleanup.run/r-1 is done: 2 versions deleted, 0 already gone, 0 kept, 0 refused, in 1 slice\n") ||
		!regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\S+Z (pending|running|done), `).MatchString(text) || strings.Contains(text, "\x1b") {
		t.Errorf("says\n%s", text)
	}
	// A copy waits for the same run. Of one that is done, nobody wants to know what its last scan was going to meet.
	if text := w.does(t, send("r-1")...); !regexp.MustCompile(`(?m)Z done, 2 deleted, scan \d+$`).MatchString(text) {
		t.Errorf("of a run that is done says\n%s", text)
	}
	both := objects(t, w.does(t, send("r-1", "--json")...))
	if len(both) != 2 || both[0]["outcome"] != "already_processed" || both[1]["run"] != "cleanup.run/r-1" || both[1]["state"] != "done" {
		t.Errorf("as JSON: %v", both)
	}

	w.denied.Store(true)
	a := w.run(t, send("r-2")...)
	if a.code != 1 || !strings.Contains(a.stdout, "cleanup.run/r-2 is failed: ") ||
		!regexp.MustCompile(`custody: cleanup\.run/r-2 is failed, access_denied: .*; read docs/operations\.md#access_denied\n`).MatchString(a.stderr) {
		t.Errorf("of a run that fails: exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
	w.denied.Store(false)

	// Under the brake there is no end, until the user has waited enough.
	w.put(t, "pod/wh-17/c") // without anything to delete, the brake holds nothing up
	w.does(t, "stop", "--reason", "x")
	b := w.begin(t, send("r-3")...)
	b.stdout.until(t, "pending, stopped: ")
	if got := b.interrupt(t); got != 1 || !regexp.MustCompile("custody: interrupted; the run is (pending|running) and goes on, and `custody show cleanup.run/r-3 --watch` follows it again").MatchString(b.stderr.text()) {
		t.Errorf("exit code %d, stderr %s", got, b.stderr.text())
	}
	waited := regexp.MustCompile("^custody: waited 700ms; the run is (pending|running) and goes on, and `custody show cleanup.run/r-3 --watch` follows it again\n$")
	for _, more := range [][]string{nil, {"--json"}} {
		a = w.run(t, send("r-3", append(more, "--wait-within", "700ms")...)...)
		if a.code != 1 || !waited.MatchString(a.stderr) ||
			!strings.Contains(a.stdout, "already_processed") {
			t.Errorf("%v, of a wait that has a limit: exit code %d\n%s\n%s", more, a.code, a.stdout, a.stderr)
		}
	}
	w.does(t, "dismiss", "r-3", "--reason", "not wanted", "--by", "alice")
	a = w.run(t, send("r-3")...)
	if a.code != 1 || !strings.Contains(a.stderr, "cleanup.run/r-3 is dismissed, by alice: not wanted") {
		t.Errorf("of a run that was dismissed: exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}

	// What cannot be waited for is not sent.
	w.with("CUSTODY_TABLE", "").refuses(t, 2, "which table?", send("r-4")...)
	w.refuses(t, 2, "it must be from 200ms to 1h0m0s", append(send("r-4"), "--every", "1ms")...)
	w.refuses(t, 2, "--wait-within is -1s, it must not be negative", append(send("r-4"), "--wait-within", "-1s")...)
	w.refuses(t, 2, "--wait-within says how long --wait waits: give both", append(append([]string{"send"}, cleanup("r-4", yesterday)...), "--wait-within", "1s")...)
	w.refuses(t, 2, "--expect is -1", append(send("r-4"), "--expect", "-1")...)
	w.refuses(t, 3, "no run or delivery", "show", "r-4")
	// Another stack's table.
	a = w.run(t, append(send("r-4"), "--table", w.env["CUSTODY_HOLDS_TABLE"])...)
	if a.code != 1 || !strings.Contains(a.stdout, "204 accepted") {
		t.Errorf("of another table: exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
}

func TestSendWaitsForNothingInTheRecordOnlyStage(t *testing.T) {
	t.Parallel()
	w := startWhole(t, map[string]string{"CUSTODY_RECORD_ONLY": "true"})
	a := w.run(t, append([]string{"send", "--wait", "--every", "200ms"}, cleanup("r-1", ago(24*time.Hour))...)...)
	if a.code != 1 || !strings.Contains(a.stderr, "cleanup.run/r-1 is recorded: the stack is in the record-only stage; `custody release cleanup.run/r-1` starts it") {
		t.Errorf("exit code %d\n%s\n%s", a.code, a.stdout, a.stderr)
	}
}

// A delivery that starts no run is shown as what it is.
func TestADeliveryThatStartedNoRun(t *testing.T) {
	t.Parallel()
	w, x := schemed(t, signature.SchemeTimestamped)
	w.holds(t, "held-1", "held")
	w.holds(t, "paid-1", "paid")
	reservation := func(id, delivery string, more ...string) []string {
		return append([]string{"send", "--type", "reservation.expire", "--reservation-id", id, "--title-id", "t-1", "--expires-at",
			rfc3339(ago(time.Minute)), "--delivery-id", delivery}, more...)
	}
	for _, name := range []string{"CUSTODY_TABLE", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		x = x.with(name, w.env[name])
	}
	text := x.does(t, reservation("held-1", "d-1", "--wait")...)
	for _, want := range []string{"Answer      204 expired", "\n\nDelivery    d-1, received ", "Command     reservation.expire", "Body        sha256 ", "Reservation held-1",
		"Outcome     expired: the reservation was held past its deadline", "Run         none: ", "Next        nothing; the delivery's item expires ",
		"You can     nothing: it has ended"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if shown := x.does(t, "show", "d-1"); !strings.HasSuffix(text, "\n\n"+shown) {
		t.Errorf("show says\n%s\nand send --wait\n%s", shown, text)
	}
	for _, columns := range []string{"60", "80", "120"} {
		fits(t, x.with("COLUMNS", columns).does(t, "show", "d-1"), map[string]int{"60": 60, "80": 80, "120": 120}[columns])
	}
	x.does(t, reservation("paid-1", "d-2")...)
	o := objects(t, x.does(t, "show", "d-2", "--json"))[0]
	if o["outcome"] != "no_longer_held" || o["reservation_id"] != "paid-1" || o["run"] != nil || o["delivery_id"] != "d-2" || len(o["body_sha256"].(string)) != 64 {
		t.Errorf("as JSON: %v", o)
	}
	x.refuses(t, 3, "delivery d-1 started no run: it is a reservation.expire of reservation held-1", "retry", "d-1")
}
