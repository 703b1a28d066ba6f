package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/producer"
	"custody/internal/signature"
)

// keyOf is a signing key that the scheme can use.
func keyOf(scheme string) string {
	if scheme == signature.SchemeStandardWebhooks {
		return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	}
	return "correct horse battery staple"
}

// schemed is a local stack of a scheme, and the tool in a sender's environment alone: nothing of AWS.
func schemed(t *testing.T, scheme string) (*whole, tool) {
	t.Helper()
	w := startWhole(t, map[string]string{
		"CUSTODY_SIGNATURE_SCHEME": scheme, "CUSTODY_SIGNING_KEYS": fmt.Sprintf(`{"k1":%q}`, keyOf(scheme)),
	})
	return w, tool{map[string]string{
		"CUSTODY_URL": w.env["CUSTODY_URL"], "CUSTODY_SIGNING_KEY": w.env["CUSTODY_SIGNING_KEY"],
		"CUSTODY_SIGNING_KEY_ID": w.env["CUSTODY_SIGNING_KEY_ID"], "CUSTODY_SIGNATURE_SCHEME": scheme,
	}}
}

// holds puts a reservation whose deadline passed an hour ago.
func (w *whole) holds(t *testing.T, id, status string) {
	t.Helper()
	_, err := w.stack.DynamoDB().PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(w.stack.Setting("CUSTODY_RESERVATIONS_TABLE")),
		Item: map[string]types.AttributeValue{
			"reservation_id": &types.AttributeValueMemberS{Value: id}, "status": &types.AttributeValueMemberS{Value: status},
			"expires_at": &types.AttributeValueMemberN{Value: fmt.Sprint(ago(time.Hour).UnixMilli())},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func TestSendInEachSchemeEachCommand(t *testing.T) {
	t.Parallel()
	for _, scheme := range signature.SchemeNames() {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			w, x := schemed(t, scheme)
			w.holds(t, "held-1", "held")
			w.holds(t, "paid-1", "paid")
			yesterday := rfc3339(ago(24 * time.Hour))
			cleanup := []string{"--type", "cleanup.run", "--run-id", "r-1", "--warehouse-id", "wh-17", "--expired-before", yesterday}
			listing := []string{"--type", "listing.expire", "--listing-id", "4821", "--generation", "1", "--expired-at", yesterday}
			reservation := func(id string) []string {
				return []string{"--type", "reservation.expire", "--reservation-id", id, "--title-id", "t-1", "--expires-at", rfc3339(ago(time.Minute))}
			}
			for _, step := range []struct {
				args   []string
				id     string
				status int
				word   string
				code   int
			}{
				{cleanup, "d-1", 204, "accepted", 0},
				{cleanup, "d-1", 204, "already_processed", 0},
				{cleanup, "d-2", 204, "already_processed", 0},
				{listing, "d-1", 409, "conflict", 4},
				{append(cleanup[:6:6], "--expired-before", rfc3339(ago(25*time.Hour))), "d-3", 409, "conflict", 4},
				{listing, "d-4", 204, "accepted", 0},
				{listing, "d-5", 204, "already_processed", 0},
				{reservation("held-1"), "d-6", 204, "expired", 0},
				{reservation("held-1"), "d-6", 204, "already_processed", 0},
				{reservation("held-1"), "d-7", 204, "no_longer_held", 0},
				{reservation("paid-1"), "d-8", 204, "no_longer_held", 0},
				{append(cleanup[:6:6], "--expired-before", rfc3339(ago(-time.Hour))), "d-9", 422, "rejected", 1},
			} {
				a := x.run(t, append([]string{"send", "--delivery-id", step.id, "--json"}, step.args...)...)
				got := objects(t, a.stdout)[0]
				want := producer.Explain(step.status, "")
				for _, known := range producer.Answers() {
					if known.Status == step.status && string(known.Outcome) == step.word {
						want = known
					}
				}
				if diff := cmp.Diff(map[string]any{
					"delivery_id": step.id, "acknowledged": step.status == 204, "status": float64(step.status), "outcome": step.word,
					"tries": 1.0, "means": want.Means, "do": want.Do,
				}, got); diff != "" || a.code != step.code {
					t.Errorf("%s %s: exit code %d, stderr %s (-want +got):\n%s", step.id, strings.Join(step.args, " "), a.code, a.stderr, diff)
				}
			}
			w.until(t, "r-1", in("done"))
			w.until(t, "listing-4821:expiry-1", in("done"))
		})
	}
}

func TestSendSaysInWordsWhatTheAnswerMeans(t *testing.T) {
	t.Parallel()
	_, x := schemed(t, signature.SchemeTimestamped)
	body := filepath.Join(t.TempDir(), "body.json")
	write(t, body, fmt.Sprintf(`{"run_id":"r-1","warehouse_id":"wh-17","expired_before":%q}`, rfc3339(ago(24*time.Hour))))
	send := []string{"send", "--body", body, "--delivery-id", "d-1"}

	want := `
Delivery    d-1
Answer      204 accepted, at try 1
Means       first valid delivery: the command is written down durably
Do          done
`
	if diff := cmp.Diff(want, "\n"+x.does(t, send...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for sentence, c := range map[string]struct {
		tool        tool
		args        []string
		code        int
		out, stderr string
	}{
		"another key": {x.with("CUSTODY_SIGNING_KEY", "another"), send, 1,
			"Do          check scheme, key, clock and body bytes", "delivery d-1 is not acknowledged: 401 rejected"},
		"another scheme": {x.with("CUSTODY_SIGNATURE_SCHEME", "body"), send, 1,
			"Answer      400 rejected, at try 1", "delivery d-1 is not acknowledged: 400 rejected"},
		"another path": {x.with("CUSTODY_URL", x.env["CUSTODY_URL"]+"deliveries"), send, 1,
			"Do          mend the URL", "delivery d-1 is not acknowledged: 404 rejected"},
		"a body that is no UTF-8": {x, append(send[:1:1], "--body", invalidUTF8(t), "--delivery-id", "d-2"), 1,
			"stop and tell a person", "delivery d-2 is not acknowledged: 422 rejected"}, // 401, had it not arrived as it was signed
		"nobody there": {x.with("CUSTODY_URL", "http://127.0.0.1:1/"), append(send, "--tries", "1"), 1,
			"Answer      no answer: ", "it was sent once, and whether it was written down is not known: send it again with --delivery-id d-1"},
	} {
		a := c.tool.run(t, c.args...)
		if a.code != c.code || !strings.Contains(a.stdout, c.out) || !strings.Contains(a.stderr, c.stderr) {
			t.Errorf("%s: exit code %d\n%s\n%s", sentence, a.code, a.stdout, a.stderr)
		}
	}
	early := x.run(t, "send", "--type", "cleanup.run", "--run-id", "r-2", "--warehouse-id", "wh-17",
		"--expired-before", rfc3339(ago(-4*time.Minute)), "--delivery-id", "d-3")
	if early.code != 1 || !strings.Contains(early.stdout, "503 not_due") || !strings.Contains(early.stderr, "send it again with --delivery-id d-3 when it is due") {
		t.Errorf("too early: exit code %d\n%s\n%s", early.code, early.stdout, early.stderr)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func invalidUTF8(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "body.bin")
	write(t, path, "{\"run_id\":\"\xff\"}")
	return path
}

// The stack is out of order for the first two tries.
func TestSendRepeatsUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	_, x := schemed(t, signature.SchemeTimestamped)
	f := newFront(t, x.env["CUSTODY_URL"], outOfOrder)
	a := x.with("CUSTODY_URL", f.url).run(t, "send", "--type", "cleanup.run", "--run-id", "r-1", "--warehouse-id", "wh-17",
		"--expired-before", rfc3339(ago(24*time.Hour)), "--json")
	notices := lines(a.stderr)
	if a.code != 0 || len(notices) != 2 || !strings.Contains(notices[0], "custody: try 1: 503 without Custody-Outcome; again in 1s") ||
		!strings.Contains(notices[1], "custody: try 2: no answer: ") {
		t.Errorf("exit code %d, stderr:\n%s", a.code, a.stderr)
	}
	if got := objects(t, a.stdout)[0]; got["outcome"] != "accepted" || got["tries"] != 3.0 {
		t.Errorf("%v", got)
	}
	f.sawOneDelivery(t, signature.Timestamped{}, keyOf(signature.SchemeTimestamped), 3)
}

func TestAClockThatIsOffIsNamed(t *testing.T) {
	t.Parallel()
	for words, off := range map[string]time.Duration{"behind": time.Hour, "ahead of": -time.Hour, "": 0} {
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
			w.Header().Set("Custody-Outcome", "rejected")
			w.WriteHeader(http.StatusUnauthorized)
		}))
		t.Cleanup(front.Close)
		x := tool{map[string]string{"CUSTODY_URL": front.URL, "CUSTODY_SIGNING_KEY": "key"}}
		a := x.run(t, "send", "--body", invalidUTF8(t), "--json")
		got, _ := objects(t, a.stdout)[0]["clock"].(string)
		if a.code != 1 || (words == "") != (got == "") || !strings.Contains(got, words) {
			t.Errorf("%s: exit code %d, clock %q", off, a.code, got)
		}
	}
}

func TestWhatASenderIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	x := tool{map[string]string{"CUSTODY_URL": "http://127.0.0.1:1/", "CUSTODY_SIGNING_KEY": "SECRET key"}}
	folder := t.TempDir()
	empty, good := filepath.Join(folder, "empty"), filepath.Join(folder, "good")
	write(t, empty, "")
	write(t, good, "{}")
	cleanup := []string{"--type", "cleanup.run", "--run-id", "r-1", "--warehouse-id", "wh-17", "--expired-before", "2026-08-30T00:00:00Z"}
	for _, name := range []string{"sign", "send"} {
		call := func(more ...string) []string { return append([]string{name}, more...) }
		for _, c := range []struct {
			tool tool
			code int
			want string
			args []string
		}{
			{x.with("CUSTODY_SIGNING_KEY", ""), 2, "which signing key? Set CUSTODY_SIGNING_KEY, or give --key-file", call(cleanup...)},
			{x.with("CUSTODY_SIGNING_KEY", "\t"), 2, "scheme timestamped: the signing key must not be blank (CUSTODY_SIGNING_KEY)", call(cleanup...)},
			{x, 2, "scheme standard-webhooks: the signing key must be whsec_", call(append(cleanup, "--scheme", "standard-webhooks")...)},
			{x.with("CUSTODY_SIGNATURE_SCHEME", "none"), 2, `signature scheme "none": must be one of timestamped, standard-webhooks, body; give --scheme, or set CUSTODY_SIGNATURE_SCHEME`, call(cleanup...)},
			{x.with("CUSTODY_SIGNING_KEY_ID", "k 1"), 2, "the key's id must be 1 to 128 characters", call(cleanup...)},
			{x, 2, "the signing key is empty: " + empty, call(append(cleanup, "--key-file", empty)...)},
			{x, 1, "read the signing key: open nowhere", call(append(cleanup, "--key-file", "nowhere")...)},
			{x, 2, "which command? Give --type with its fields, or --body FILE (- for stdin)", call()},
			{x, 2, "which command? Give --type", call("--run-id", "r-1")},
			{x, 2, "are both given", call("--body", good, "--run-id", "r-1")},
			{x, 2, "are both given", call(append(cleanup, "--body", good)...)},
			{x, 2, "the body is empty: " + empty, call("--body", empty)},
			{x, 2, "the body is empty: stdin", call("--body", "-")},
			{x, 1, "read the body: open nowhere", call("--body", "nowhere")},
			{x, 2, "--type must be one of cleanup.run, listing.expire, reservation.expire", call("--type", "cleanup.walk")},
			{x, 2, "--expired-before must be an RFC 3339 time with an offset", call("--type", "cleanup.run", "--run-id", "r", "--warehouse-id", "w")},
			{x, 2, "--run-id must be a string of 1 to 128 characters", call("--type", "cleanup.run", "--run-id", "r/1", "--warehouse-id", "w", "--expired-before", "2026-08-30T00:00:00Z")},
			{x, 2, "--generation must be a whole number from 1", call("--type", "listing.expire", "--listing-id", "r", "--generation", "0", "--expired-at", "2026-08-30T00:00:00Z")},
			{x, 2, "--title-id must be left out of cleanup.run", call(append(cleanup, "--title-id", "t")...)},
			{x, 2, "X-Delivery-ID must be 1 to 128 characters", call(append(cleanup, "--delivery-id", "d/1")...)},
			{x, 2, "takes no argument", call(append(cleanup, "now")...)},
		} {
			a := c.tool.run(t, c.args...)
			if a.code != c.code || !strings.Contains(a.stderr, c.want) || a.stdout != "" || strings.Contains(a.stderr, "SECRET") {
				t.Errorf("custody %s: exit code %d, stdout %q, stderr %s\nwant code %d and %q", strings.Join(c.args, " "), a.code, a.stdout, a.stderr, c.code, c.want)
			}
		}
	}
	send := append([]string{"send"}, cleanup...)
	x.with("CUSTODY_URL", "").refuses(t, 2, "where to? Give --url, or set CUSTODY_URL", send...)
	for _, url := range []string{"custody.example", "ftp://custody.example/", "https:///", "http://[", "/"} {
		x.refuses(t, 2, "is no URL to post to: --url or CUSTODY_URL must be like https://", append(send, "--url", url)...)
	}
	for _, flag := range [][]string{{"--tries", "0"}, {"--within", "-1s"}, {"--timeout", "0s"}} {
		x.refuses(t, 2, "--tries must be 1 or more, --within 0s or more, --timeout above 0s", append(send, flag...)...)
	}
	for _, at := range []string{"now", "17900000000", "179", "-1790000000", "2026-08-30"} {
		a := x.run(t, append([]string{"sign", "--timestamp", at}, cleanup...)...)
		if a.code != 2 || !strings.Contains(a.stderr, "10 digits") {
			t.Errorf("--timestamp %s: exit code %d, %s", at, a.code, a.stderr)
		}
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	x := tool{map[string]string{"CUSTODY_SIGNING_KEY": "correct horse battery staple", "CUSTODY_SIGNING_KEY_ID": "k1"}}
	folder := t.TempDir()
	body := filepath.Join(folder, "body.json")
	write(t, body, `{"run_id":"r-2026-09-20","warehouse_id":"wh-17","expired_before":"2026-08-30T00:00:00Z"}`)
	args := []string{"sign", "--body", body, "--delivery-id", "d-1", "--timestamp", "1790000000"}
	want := `
-H 'Content-Type: application/json'
-H 'X-Delivery-ID: d-1'
-H 'X-Delivery-Key-ID: k1'
-H 'X-Delivery-Signature: sha256=21578d13987c110bb8a16e1db802c7bc1688d085fb452bc43be067ce7632365f'
-H 'X-Delivery-Timestamp: 1790000000'
`
	if diff := cmp.Diff(want, "\n"+x.does(t, args...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A key from a file: its last line break is the editor's, and the id of the variable is not its own.
	for name, ending := range map[string]string{"unix": "\n", "dos": "\r\n", "none": ""} {
		file := filepath.Join(folder, name)
		write(t, file, "correct horse battery staple"+ending)
		got := x.with("CUSTODY_SIGNING_KEY", "another").does(t, append(args, "--key-file", file)...)
		if diff := cmp.Diff(strings.Replace(want, "-H 'X-Delivery-Key-ID: k1'\n", "", 1), "\n"+got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for key, warned := range map[string]bool{"key": false, "key\n": true, " key": true} {
		a := x.with("CUSTODY_SIGNING_KEY", key).run(t, args...)
		if a.code != 0 || warned != strings.Contains(a.stderr, "warning: the signing key (CUSTODY_SIGNING_KEY) begins or ends with whitespace, which is part of it") {
			t.Errorf("key %q: exit code %d, stderr %q", key, a.code, a.stderr)
		}
	}
	for _, at := range []string{"2026-09-21T14:13:20Z", "2026-09-21T16:13:20+02:00"} {
		if got := x.does(t, append(args[:5:5], "--timestamp", at)...); "\n"+got != want {
			t.Errorf("--timestamp %s: %s", at, got)
		}
	}
}

func TestSignAsJSON(t *testing.T) {
	t.Parallel()
	built := []string{"sign", "--type", "cleanup.run", "--run-id", "r-1", "--warehouse-id", "wh-17", "--expired-before", "2026-08-30T00:00:00Z"}
	body := []byte(`{"type":"cleanup.run","run_id":"r-1","warehouse_id":"wh-17","expired_before":"2026-08-30T00:00:00Z"}`)
	for _, name := range signature.SchemeNames() {
		x := tool{map[string]string{"CUSTODY_SIGNING_KEY": keyOf(name), "CUSTODY_SIGNING_KEY_ID": "k1", "CUSTODY_SIGNATURE_SCHEME": "timestamped"}}
		got := objects(t, x.does(t, append(built, "--scheme", name, "--delivery-id", "d-1", "--timestamp", "1790000000", "--json")...))
		scheme, err := signature.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		headers := map[string]any{"Content-Type": "application/json"}
		for header, value := range scheme.Sign(signature.NewKey("k1", keyOf(name), time.Time{}), "d-1", time.Unix(1_790_000_000, 0), body) {
			headers[header] = value
		}
		want := []map[string]any{{"delivery_id": "d-1", "scheme": name, "key_id": "k1", "headers": headers, "body": string(body)}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What sign prints is for a shell: it is taken apart by one.
func TestWhatSignPrintsAreArguments(t *testing.T) {
	t.Parallel()
	x := tool{map[string]string{"CUSTODY_SIGNING_KEY": "key"}}
	out := x.does(t, "sign", "--type", "cleanup.run", "--run-id", "r-1", "--warehouse-id", "wh-17", "--expired-before", "2026-08-30T00:00:00Z")
	shell := exec.CommandContext(t.Context(), "sh", "-c", `eval "set -- $(cat | tr '\n' ' ')"; printf '%s\n' "$@"`)
	shell.Stdin = strings.NewReader(out)
	words, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := lines(string(words))
	var payload map[string]string
	if n := len(got); n != 10 || got[n-2] != "--data-binary" || json.Unmarshal([]byte(got[n-1]), &payload) != nil || payload["run_id"] != "r-1" {
		t.Errorf("words %q", got)
	}
	if again := x.does(t, "sign", "--body", invalidUTF8(t)); strings.Contains(again, "--data-binary") || !strings.Contains(again, "application/octet-stream") {
		t.Errorf("of a file: %s", again)
	}
}
