package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/signature"
)

// needed are the programs of others that the sample senders take. make test runs without any of them.
func needed() []string { return []string{"openssl", "curl", "python3", "node"} }

// interop says which programs are left out. A program that is missing without having been left out fails the test: it would
// otherwise be green on a machine that can prove nothing.
func interop(t *testing.T) (without []string) {
	t.Helper()
	if os.Getenv("CUSTODY_TEST_INTEROP") == "" {
		t.Skipf("needs %s, and so it runs in make test-interop alone", strings.Join(needed(), ", "))
	}
	without = strings.Fields(os.Getenv("CUSTODY_TEST_INTEROP_WITHOUT"))
	for _, name := range without {
		if !slices.Contains(needed(), name) {
			t.Fatalf("%q cannot be left out, only %s can", name, strings.Join(needed(), ", "))
		}
	}
	var missing []string
	for _, name := range needed() {
		if _, err := exec.LookPath(name); err != nil && !slices.Contains(without, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		t.Fatalf("not installed: %s; make test-interop WITHOUT='%s' leaves out what needs them", strings.Join(missing, " "),
			strings.Join(slices.Concat(without, missing), " "))
	}
	return without
}

// sender is one program that sends, as its users call it.
type sender struct {
	name     string
	needs    []string
	conflict int // its exit code for a 409, all others of which are 1
	args     func(deliveryID, file string) []string
}

func senders(t *testing.T) []sender {
	t.Helper()
	folder, err := filepath.Abs("../../../docs/senders")
	if err != nil {
		t.Fatal(err)
	}
	sample := func(name, interpreter string, needs ...string) sender {
		return sender{name, needs, 1, func(deliveryID, file string) []string {
			return []string{interpreter, filepath.Join(folder, name), deliveryID, file}
		}}
	}
	return []sender{
		{"custody send", nil, 4, func(deliveryID, file string) []string {
			return []string{os.Getenv("BUILT_TOOL"), "send", "--delivery-id", deliveryID, "--body", file, "--json"}
		}},
		sample("send.sh", "sh", "openssl", "curl"),
		sample("send.py", "python3", "python3"),
		sample("send.mjs", "node", "node"),
	}
}

// senderEnv is the environment of a sender: what it needs to be found and started, and what it is told.
func senderEnv(told map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		env = append(env, name+"="+told[name])
	}
	return env
}

// sends gives status, outcome and exit code of one call.
func (s sender) sends(t *testing.T, told map[string]string, deliveryID, body string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "body.json")
	write(t, file, body)
	args := s.args(deliveryID, file)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = senderEnv(told)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	exit := code(t, err)
	var answer struct {
		Status  int
		Outcome string
	}
	said := strings.TrimSpace(string(out))
	last := strings.TrimSpace(said[strings.LastIndex(said, "\n")+1:])
	if json.Unmarshal(out, &answer) == nil {
		last = strings.TrimSpace(fmt.Sprint(answer.Status, " ", answer.Outcome))
	}
	if strings.Contains(string(out)+stderr.String(), told["CUSTODY_SIGNING_KEY"]) {
		t.Errorf("it printed the key:\n%s\n%s", out, stderr.String())
	}
	if last == "" {
		last = stderr.String()
	}
	return fmt.Sprintf("%s, exit code %d", last, exit)
}

// eachSender runs a test for each sender that is not left out, and says why the others are.
func eachSender(t *testing.T, without []string, test func(t *testing.T, s sender)) {
	t.Helper()
	for _, s := range senders(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range s.needs {
				if slices.Contains(without, name) {
					t.Skipf("SKIPPED: it needs %s, which was left out", name)
				}
			}
			test(t, s)
		})
	}
}

// told is what the env file of a running `custody local` tells a sender, read by a shell as its users do.
func (l *local) told(t *testing.T, scheme string) map[string]string {
	t.Helper()
	told := map[string]string{"CUSTODY_SIGNATURE_SCHEME": scheme}
	for _, name := range []string{"CUSTODY_URL", "CUSTODY_SIGNING_KEY", "CUSTODY_SIGNING_KEY_ID"} {
		source := exec.CommandContext(t.Context(), "sh", "-c", `. ./local.env && printf %s "$`+name+`"`)
		source.Dir = l.dir
		value, err := source.Output()
		if err != nil {
			t.Fatal(err)
		}
		told[name] = string(value)
	}
	return told
}

func with(told map[string]string, name, value string) map[string]string {
	other := maps.Clone(told)
	other[name] = value
	return other
}

func TestInteropSendersAgainstTheLocalStack(t *testing.T) {
	t.Parallel()
	without := interop(t)
	for _, name := range signature.SchemeNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLocal(t, "--env-file", "local.env", "--set", "CUSTODY_SIGNATURE_SCHEME="+name,
				"--set", fmt.Sprintf(`CUSTODY_SIGNING_KEYS={"k1":%q}`, keyOf(name)))
			t.Cleanup(func() { l.end(t, os.Interrupt) })
			told := l.told(t, name)
			scheme, err := signature.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			eachSender(t, without, func(t *testing.T, s sender) { s.talksTo(t, told, scheme) })
			if name == signature.SchemeTimestamped {
				t.Run("custody sign with curl", func(t *testing.T) { signForCurl(t, without, told) })
			}
		})
	}
}

// talksTo is everything that a sender and a stack have to say to one another.
func (s sender) talksTo(t *testing.T, told map[string]string, scheme signature.Scheme) {
	run := strings.NewReplacer(" ", "-", ".", "-").Replace(s.name)
	yesterday := rfc3339(ago(24 * time.Hour))
	body := fmt.Sprintf(`{"run_id":%q,"warehouse_id":"wh-17","expired_before":%q}`, run, yesterday)
	id := func(n int) string { return fmt.Sprintf("%s-%d", run, n) }
	changed := newFront(t, told["CUSTODY_URL"], oneByteChanged)
	broken := newFront(t, told["CUSTODY_URL"], outOfOrder)
	key := told["CUSTODY_SIGNING_KEY"]
	another := strings.Replace(key, "r", "s", 1) // as good a key, in each scheme
	for _, step := range []struct {
		sentence string
		told     map[string]string
		id, body string
		want     string
	}{
		{"the first", told, id(1), body, "204 accepted, exit code 0"},
		{"the same again", told, id(1), body, "204 already_processed, exit code 0"},
		{"the same command under another id", told, id(2), body, "204 already_processed, exit code 0"},
		{"another body under the same id", told, id(1), body + "\n", fmt.Sprintf("409 conflict, exit code %d", s.conflict)},
		{"a byte that was changed on the way", with(told, "CUSTODY_URL", changed.url), id(3), body, "401 rejected, exit code 1"},
		{"another key", with(told, "CUSTODY_SIGNING_KEY", another), id(3), body, "401 rejected, exit code 1"},
		{"no command", told, id(3), "{}", "422 rejected, exit code 1"},
		{"a listing", told, id(4), fmt.Sprintf(`{"type":"listing.expire","listing_id":%q,"generation":1,"expired_at":%q}`, run, yesterday), "204 accepted, exit code 0"},
		{"a reservation", told, id(5), fmt.Sprintf(`{"type":"reservation.expire","reservationId":%q,"titleId":"t-1","expiresAt":%q}`, run, yesterday),
			"204 no_longer_held, exit code 0"},
		{"a stack that is out of order at first", with(told, "CUSTODY_URL", broken.url), id(6), body, "204 already_processed, exit code 0"},
	} {
		if got := s.sends(t, step.told, step.id, step.body); got != step.want {
			t.Errorf("%s: %s, want %s", step.sentence, got, step.want)
		}
	}
	broken.sawOneDelivery(t, scheme, key, 3)
}

// A key that is none would sign all the same, as the empty one, and a scheme that is none in nobody's way.
func TestInteropWhatCannotBeSignedIsNotSent(t *testing.T) {
	t.Parallel()
	without := interop(t)
	eachSender(t, without, func(t *testing.T, s sender) {
		for _, told := range []map[string]string{
			{"CUSTODY_SIGNATURE_SCHEME": signature.SchemeStandardWebhooks, "CUSTODY_SIGNING_KEY": "whsec_===="},
			{"CUSTODY_SIGNATURE_SCHEME": signature.SchemeStandardWebhooks, "CUSTODY_SIGNING_KEY": "whsec_#not-base64#"},
			{"CUSTODY_SIGNATURE_SCHEME": "sha1", "CUSTODY_SIGNING_KEY": "the key"},
		} {
			f := newFront(t, "", acknowledges)
			got := s.sends(t, with(told, "CUSTODY_URL", f.url), "d-1", "{}")
			if !strings.HasSuffix(got, ", exit code 2") || len(f.got) > 0 {
				t.Errorf("%v: %d requests, %s, want none and exit code 2", told, len(f.got), got)
			}
		}
	})
}

func signForCurl(t *testing.T, without []string, told map[string]string) {
	if slices.Contains(without, "curl") {
		t.Skip("SKIPPED: it needs curl, which was left out")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `"$BUILT_TOOL" sign --type cleanup.run --run-id curl-1 --warehouse-id wh-17 `+
		`--expired-before 2026-08-30T00:00:00Z | xargs curl -sS -o /dev/null -w '%{http_code}' "$CUSTODY_URL"`)
	cmd.Env = senderEnv(with(told, "BUILT_TOOL", os.Getenv("BUILT_TOOL")))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err != nil || string(out) != "204" {
		t.Errorf("%v: %s%s", err, out, stderr.String())
	}
}

// awkwardKeys are keys that a sender may decode, trim, cut or quote by mistake.
func awkwardKeys(scheme string) []string {
	if scheme == signature.SchemeStandardWebhooks {
		return []string{keyOf(scheme), "whsec_eA==", "whsec_//++" + strings.Repeat("AAEC/fz7", 20)}
	}
	return []string{
		"x", "6b6579", "YSBrZXk=", " a key\twith spaces ", "a key with a line break\n", `<>&"'$(id)\n%s`, "ключ🗝",
		strings.Repeat("of 64 by", 8), strings.Repeat("of more than 64 bytes ", 4),
	}
}

// awkwardBodies are bodies that a sender may read as text by mistake.
func awkwardBodies() []string {
	return []string{"{}", "{\"a\":\"ü🙂\"}\r\n", " \n{}\n\n", "@{}", "%41\\x41\\101", "a\x00b", "\xff\xfe", strings.Repeat("0123456789abcdef", 1<<14)}
}

func TestInteropSignaturesOfAwkwardKeysAndBodies(t *testing.T) {
	t.Parallel()
	without := interop(t)
	eachSender(t, without, func(t *testing.T, s sender) {
		for _, name := range signature.SchemeNames() {
			scheme, err := signature.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			try := func(key, body string) {
				f := newFront(t, "", acknowledges)
				told := map[string]string{"CUSTODY_URL": f.url, "CUSTODY_SIGNING_KEY": key, "CUSTODY_SIGNATURE_SCHEME": name}
				if got := s.sends(t, told, "d-1", body); got != "204 accepted, exit code 0" {
					t.Fatalf("%s with key %q: %s", name, key, got)
				}
				f.sawOneDelivery(t, scheme, key, 1)
				if got := f.got[0].body; string(got) != body {
					t.Errorf("%s: of %q arrived %q", name, body, got)
				}
			}
			for _, key := range awkwardKeys(name) {
				try(key, "{}")
			}
			for _, body := range awkwardBodies() {
				try(keyOf(name), body)
			}
		}
	})
}

// verifiers ask another language what the signature of a body is. The sample senders' own functions are asked where they can
// be imported; openssl is asked for the MAC itself.
func verifiers(t *testing.T, folder string) map[string][]string {
	t.Helper()
	return map[string][]string{
		"python3": {"python3", "-B", "-c", `
import json, os, sys
sys.path.insert(0, sys.argv[1])
from send import sign
e = os.environ
print(json.dumps(sign(e["SCHEME"], e["KEY"], "k1", "d-1", 1790000000, open(e["BODY"], "rb").read())))`, folder},
		"node": {"node", "--input-type=module", "-e", `
import { readFileSync } from 'node:fs';
const { sign } = await import(process.argv[1] + '/send.mjs');
const e = process.env;
console.log(JSON.stringify(sign(e.SCHEME, e.KEY, 'k1', 'd-1', 1790000000, readFileSync(e.BODY))));`, folder},
		"openssl": {"sh", "-c", `
case $SCHEME in
  timestamped) name=X-Delivery-Signature prefix=1790000000. ;;
  standard-webhooks) name=webhook-signature prefix=d-1.1790000000. ;;
  body) name=X-App-Signature prefix= ;;
esac
mac() { { printf %s "$prefix"; cat "$BODY"; } | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$HEXKEY" "$@"; }
case $SCHEME in
  timestamped) mac="sha256=$(mac -r | cut -c 1-64)" ;;
  standard-webhooks) mac="v1,$(mac -binary | openssl base64 -A)" ;;
  body) mac=$(mac -r | cut -c 1-64) ;;
esac
printf '{"%s":"%s"}' "$name" "$mac"`},
	}
}

func TestInteropOthersVerifyWhatCustodySigns(t *testing.T) {
	t.Parallel()
	without := interop(t)
	folder, err := filepath.Abs("../../../docs/senders")
	if err != nil {
		t.Fatal(err)
	}
	for program, call := range verifiers(t, folder) {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(without, program) {
				t.Skipf("SKIPPED: %s was left out", program)
			}
			file := filepath.Join(t.TempDir(), "body")
			for _, scheme := range signature.SchemeNames() {
				for i, key := range awkwardKeys(scheme) {
					write(t, file, awkwardBodies()[i%len(awkwardBodies())])
					x := tool{map[string]string{"CUSTODY_SIGNING_KEY": key, "CUSTODY_SIGNING_KEY_ID": "k1"}}
					signed := x.run(t, "sign", "--scheme", scheme, "--delivery-id", "d-1", "--timestamp", "1790000000", "--body", file, "--json")
					want, _ := objects(t, signed.stdout)[0]["headers"].(map[string]any)
					delete(want, "Content-Type")
					got := theirs(t, call, map[string]string{"SCHEME": scheme, "KEY": key, "HEXKEY": hexKey(t, scheme, key), "BODY": file})
					if program == "openssl" { // it has made one header of them
						maps.DeleteFunc(want, func(name string, _ any) bool { return !strings.HasSuffix(strings.ToLower(name), "-signature") })
					}
					if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
						t.Errorf("%s with key %q (-custody +%s):\n%s", scheme, key, program, diff)
					}
				}
			}
		})
	}
}

// hexKey is the key's bytes as the wire contract says.
func hexKey(t *testing.T, scheme, key string) string {
	t.Helper()
	text, marked := strings.CutPrefix(key, signature.SecretPrefix)
	if scheme != signature.SchemeStandardWebhooks {
		return hex.EncodeToString([]byte(key))
	}
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !marked {
		t.Fatal(err)
	}
	return hex.EncodeToString(secret)
}

func theirs(t *testing.T, call []string, told map[string]string) map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), call[0], call[1:]...)
	cmd.Env = senderEnv(told)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var headers map[string]any
	if err != nil || json.Unmarshal(out, &headers) != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	return headers
}
