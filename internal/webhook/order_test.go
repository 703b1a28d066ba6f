package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"custody/internal/signature"
	"custody/internal/webhook"
)

type request = events.LambdaFunctionURLRequest

// fault makes a good request wrong in one way. Faults stand in the order of the checks.
type fault struct {
	sentence string
	spoil    func(*request)
	want     int
}

func setHeader(name, value string) func(*request) {
	return func(r *request) {
		r.Headers = maps.Clone(r.Headers)
		r.Headers[name] = value
	}
}

func dropHeader(name string) func(*request) {
	return func(r *request) {
		r.Headers = maps.Clone(r.Headers)
		delete(r.Headers, name)
	}
}

// staleBy signs the request's own body again, for a time outside the window.
func staleBy(offset time.Duration) func(*request) {
	return func(r *request) {
		id, named := r.Headers["x-delivery-id"]
		body := r.Body
		*r = resign(*r, id, body, receipt().Add(offset))
		if !named {
			delete(r.Headers, "x-delivery-id")
		}
	}
}

func inOrder() []fault {
	return []fault{
		{"the method is GET", func(r *request) { r.RequestContext.HTTP.Method = "GET" }, 405},
		{"the path is another", func(r *request) { r.RawPath = "/other" }, 404},
		{"the body is compressed", setHeader("content-encoding", "gzip"), 415},
		{"the body is over the cap", func(r *request) { r.Body = strings.Repeat(" ", 262145) }, 413},
		{"the delivery id is missing", dropHeader("x-delivery-id"), 400},
		{"the signature is not ours", setHeader("x-delivery-signature", strings.Repeat("0a", 32)), 401},
		{"the timestamp is old", staleBy(-time.Hour), 401},
		{"the payload is no command", func(r *request) { *r = resign(*r, r.Headers["x-delivery-id"], `{"run_id":1}`, receipt()) }, 422},
	}
}

// A request that is wrong in two ways is answered for the earlier check. Spoiling goes backwards, since what comes later
// signs again.
func TestOrderOfTheChecks(t *testing.T) {
	t.Parallel()
	faults := inOrder()
	for i, first := range faults {
		for _, second := range append([]fault{{"nothing else", func(*request) {}, 0}}, faults[i+1:]...) {
			t.Run(first.sentence+" and "+second.sentence, func(t *testing.T) {
				t.Parallel()
				f := open(t)
				req := sample(t, "delivery.json")
				second.spoil(&req)
				first.spoil(&req)
				got, _, sum := f.send(t, req)
				if got != rejected(first.want) {
					t.Errorf("answer %v, want %d: %s", got, first.want, sum.Problem)
				}
				if cheap := first.want != 401 && first.want != 422; cheap && len(f.Keys.asked) > 0 {
					t.Error("the keys were asked for before the cheap checks had passed")
				}
				if f.Inbox.calls > 0 {
					t.Error("the store was called")
				}
			})
		}
	}
}

// The two that share a status are told apart by the summary's word.
func TestSignatureIsCheckedBeforeTheWindow(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		spoil func(*request)
		want  signature.Reason
	}{
		"old and not ours": {func(r *request) { staleBy(-time.Hour)(r); r.Body += " " }, signature.ReasonInvalid},
		"old and ours":     {staleBy(-301 * time.Second), signature.ReasonStale},
		"early and ours":   {staleBy(301 * time.Second), signature.ReasonStale},
		"old, and signed with a key that is not there": {
			func(r *request) { staleBy(-time.Hour)(r); setHeader("x-delivery-key-id", "k9")(r) }, signature.ReasonUnknownKey},
	} {
		f := open(t)
		req := sample(t, "delivery.json")
		c.spoil(&req)
		got, _, sum := f.send(t, req)
		if got != rejected(401) || sum.Signature != string(c.want) || f.Inbox.calls > 0 {
			t.Errorf("%s: answer %v, signature %s, want 401 %s", sentence, got, sum.Signature, c.want)
		}
	}
}

func TestWindowEdgesThroughTheFrontDoor(t *testing.T) {
	t.Parallel()
	for offset, want := range map[int]answer{-301: rejected(401), -300: accepted, 300: accepted, 301: rejected(401)} {
		for _, ms := range []int64{0, 1, 999} {
			req := sample(t, "delivery.json")
			staleBy(time.Duration(offset) * time.Second)(&req)
			req.RequestContext.TimeEpoch = receipt().UnixMilli() + ms
			if got, _, _ := open(t).send(t, req); got != want {
				t.Errorf("%d s from a receipt at .%03d: answer %v, want %v", offset, ms, got, want)
			}
		}
	}
}

func TestEventWithoutAReceiptIsRefused(t *testing.T) {
	t.Parallel()
	req := sample(t, "delivery.json")
	req.RequestContext.TimeEpoch = 0
	if got, _, sum := open(t).send(t, req); got != rejected(401) || sum.AckLatency != 0 {
		t.Errorf("answer %v, latency %s", got, sum.AckLatency)
	}
}

func TestMethodsPathsAndEncodings(t *testing.T) {
	t.Parallel()
	method := func(m string) func(*request) { return func(r *request) { r.RequestContext.HTTP.Method = m } }
	path := func(p string) func(*request) { return func(r *request) { r.RawPath = p } }
	for sentence, c := range map[string]struct {
		path  string // configured
		spoil func(*request)
		want  answer
	}{
		"GET":                           {"/", method("GET"), rejected(405)},
		"PUT":                           {"/", method("PUT"), rejected(405)},
		"HEAD":                          {"/", method("HEAD"), rejected(405)},
		"OPTIONS":                       {"/", method("OPTIONS"), rejected(405)},
		"DELETE":                        {"/", method("DELETE"), rejected(405)},
		"post in lower case":            {"/", method("post"), rejected(405)},
		"no method":                     {"/", method(""), rejected(405)},
		"a deeper path":                 {"/", path("/x"), rejected(404)},
		"two slashes":                   {"/", path("//"), rejected(404)},
		"no path":                       {"/", path(""), rejected(404)},
		"an encoded slash":              {"/", path("/%2F"), rejected(404)},
		"the configured path":           {"/hooks/custody", path("/hooks/custody"), accepted},
		"a trailing slash":              {"/hooks/custody", path("/hooks/custody/"), rejected(404)},
		"another case":                  {"/hooks/custody", path("/hooks/Custody"), rejected(404)},
		"an encoded letter":             {"/hooks/custody", path("/hooks/%63ustody"), rejected(404)},
		"the root":                      {"/hooks/custody", path("/"), rejected(404)},
		"a query":                       {"/", func(r *request) { r.RawQueryString = "verify=false&scheme=none" }, accepted},
		"identity":                      {"/", setHeader("content-encoding", "identity"), accepted},
		"Identity":                      {"/", setHeader("Content-Encoding", "Identity"), accepted},
		"gzip":                          {"/", setHeader("Content-Encoding", "gzip"), rejected(415)},
		"identity and gzip":             {"/", setHeader("content-encoding", "identity, gzip"), rejected(415)},
		"an empty encoding":             {"/", setHeader("content-encoding", ""), rejected(415)},
		"an encoding of 8 KiB":          {"/", setHeader("content-encoding", strings.Repeat("gzip,", 1638)), rejected(415)},
		"identity and, in capitals, br": {"/", func(r *request) { setHeader("content-encoding", "identity")(r); setHeader("CONTENT-ENCODING", "br")(r) }, rejected(415)},
		"a header that switches off":    {"/", setHeader("x-skip-verification", "true"), accepted},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := open(t, func(h *webhook.Handler) { h.Settings.Path = c.path })
			req := sample(t, "delivery.json")
			req.RawPath = c.path
			c.spoil(&req)
			got, resp, _ := f.send(t, req)
			if got != c.want || c.want != accepted && f.Inbox.calls+len(f.Keys.asked) > 0 {
				t.Errorf("answer %v, want %v; %d store and %d key calls", got, c.want, f.Inbox.calls, len(f.Keys.asked))
			}
			if allow := resp.Headers["Allow"]; (allow == "POST") != (c.want.Status == 405) {
				t.Errorf("Allow %q with %d", allow, got.Status)
			}
		})
	}
}

// padded is a valid payload of exactly n bytes.
func padded(n int) string {
	p := payload("r-1", "wh-1")
	return p + strings.Repeat(" ", n-len(p))
}

func TestSizeIsThatOfTheDecodedBody(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{262144, 262143, 262142, webhook.MaxBodyCap} {
		for size, want := range map[int]answer{limit - 1: accepted, limit: accepted, limit + 1: rejected(413), limit + 2: rejected(413)} {
			for _, flagged := range []bool{false, true} {
				f := open(t, func(h *webhook.Handler) { h.Settings.MaxBodyBytes = limit })
				req := signed(t, "d-1", padded(size))
				if flagged {
					req.Body, req.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(req.Body)), true
				}
				setHeader("content-length", "12")(&req)
				if got, _, _ := f.send(t, req); got != want {
					t.Errorf("cap %d, %d bytes, base64 %t: answer %v, want %v", limit, size, flagged, got, want)
				}
			}
		}
	}
}

func TestBodiesThatAreNoBase64(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString([]byte(samplePayload)) // ends in one =
	for sentence, c := range map[string]struct {
		body    string
		flagged bool
	}{
		"an empty body":              {"", false},
		"an empty base64 body":       {"", true},
		"plain text":                 {samplePayload, true},
		"no padding":                 {strings.TrimRight(good, "="), true},
		"too much padding":           {good + "=", true},
		"padding in the middle":      {good + good, true},
		"only padding":               {"====", true},
		"a line break":               {good[:76] + "\r\n" + good[76:], true},
		"a newline at the end":       {good + "\n", true},
		"a space":                    {good[:4] + " " + good[4:], true},
		"the URL alphabet":           {strings.NewReplacer("+", "-", "/", "_").Replace("e30+/w==") + good, true},
		"bits behind a padded end":   {"e31=", true},
		"one character":              {"e", true},
		"a NUL":                      {good[:8] + "\x00" + good[9:], true},
		"huge, and no base64 at all": {strings.Repeat("!", 300000), true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			req := signed(t, "d-1", samplePayload)
			req.Body, req.IsBase64Encoded = c.body, c.flagged
			got, _, sum := f.send(t, req)
			if got != rejected(400) || f.Inbox.calls+len(f.Keys.asked) > 0 {
				t.Errorf("answer %v, want 400: %s", got, sum.Problem)
			}
		})
	}
}

func TestKeysThatAreMissing(t *testing.T) {
	t.Parallel()
	noKey := func(f front) { f.Keys.keys = nil }
	for sentence, c := range map[string]struct {
		prepare  func(front)
		spoil    func(*request)
		want     answer
		word     signature.Reason
		mentions string
	}{
		"no active key": {noKey, func(*request) {}, retryable, signature.ReasonNoKey, "active"},
		"no active key, and a signature not ours":  {noKey, setHeader("x-delivery-signature", "sha256="), retryable, signature.ReasonNoKey, ""},
		"no active key, and a missing header":      {noKey, dropHeader("x-delivery-id"), rejected(400), signature.ReasonMissing, "X-Delivery-ID"},
		"only a blank key":                         {func(f front) { f.Keys.keys = signature.Keys{signature.NewKey("k1", " ", time.Time{})} }, func(*request) {}, retryable, signature.ReasonNoKey, ""},
		"the keys cannot be had":                   {func(f front) { noKey(f); f.Keys.err = errors.New("secret store down") }, func(*request) {}, retryable, signature.ReasonNoKey, "secret store down"},
		"old keys, while their store is down":      {func(f front) { f.Keys.err = errors.New("secret store down") }, func(*request) {}, accepted, "valid", "secret store down"},
		"old keys, and a key id that is not there": {func(f front) { f.Keys.err = errors.New("secret store down") }, setHeader("x-delivery-key-id", "k9"), rejected(401), signature.ReasonUnknownKey, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			c.prepare(f)
			req := sample(t, "delivery.json")
			c.spoil(&req)
			got, resp, sum := f.send(t, req)
			if got != c.want || sum.Signature != string(c.word) || !strings.Contains(sum.Problem, c.mentions) {
				t.Errorf("answer %v, want %v; signature %s, want %s; problem %q", got, c.want, sum.Signature, c.word, sum.Problem)
			}
			if (resp.Headers["Retry-After"] != "") != (got.Status == 503) {
				t.Errorf("Retry-After %q with %d", resp.Headers["Retry-After"], got.Status)
			}
		})
	}
}

func TestKeySourceIsAskedForTheNamedKey(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.send(t, sample(t, "delivery.json"))
	f.send(t, signed(t, "d-2", payload("r-2", "wh-1")))
	unnamed := signed(t, "d-3", payload("r-3", "wh-1"))
	dropHeader("x-delivery-key-id")(&unnamed)
	_, _, sum := f.send(t, unnamed)
	if diff := cmp.Diff([]string{"k1", "k1", ""}, f.Keys.asked); diff != "" || sum.KeyID != "k1" {
		t.Errorf("verified by %q; asked for (-want +got):\n%s", sum.KeyID, diff)
	}
}

// Every answer but 204 is problem+json with nothing in it but the status's own words.
func TestAnswersSayNothingButTheirStatus(t *testing.T) {
	t.Parallel()
	titles := map[int]string{
		400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 413: "Content Too Large",
		415: "Unsupported Media Type", 422: "Unprocessable Content",
	}
	for _, c := range inOrder() {
		req := sample(t, "delivery.json")
		c.spoil(&req)
		_, resp, _ := open(t).send(t, req)
		var body map[string]any
		if err := json.Unmarshal([]byte(resp.Body), &body); err != nil {
			t.Errorf("%s: body %q: %v", c.sentence, resp.Body, err)
		}
		want := map[string]any{"type": "about:blank", "title": titles[c.want], "status": float64(c.want)}
		if diff := cmp.Diff(want, body); diff != "" || resp.Headers["Content-Type"] != "application/problem+json" {
			t.Errorf("%s: content type %q; body (-want +got):\n%s", c.sentence, resp.Headers["Content-Type"], diff)
		}
	}
}

// Nothing that a log or an answer gets holds a body, a signature or a key.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	spoil := append(inOrder(), fault{"nothing", func(*request) {}, 0}, fault{"the run is another's", func(r *request) {
		*r = resign(*r, "d-9", strings.Replace(samplePayload, "wh-17", "wh-66", 1), receipt())
	}, 0}, fault{"the key id is garbage", setHeader("x-delivery-key-id", "garbage, of a sender"), 0},
		fault{"the delivery id is garbage", setHeader("x-delivery-id", "garbage, of a sender"), 0})
	f := open(t)
	for _, c := range spoil {
		req := sample(t, "delivery.json")
		c.spoil(&req)
		_, resp, sum := f.send(t, req)
		shown := fmt.Sprintf("%+v %+v", resp, sum)
		for _, secret := range []string{sampleKey, strings.TrimPrefix(req.Headers["x-delivery-signature"], "sha256="), "expired_before\":", "garbage"} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s: %q is in %s", c.sentence, secret, shown)
			}
		}
	}
}

// A sender that puts the key in the place of its id is told so by a 401, and its key does not stand in the log from then on.
func TestKeyIDThatMayBeTheKeyIsNotShown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0a", 32)
	for sentence, c := range map[string]struct {
		id, known string
		want      string
	}{
		"as long as a key of 24 bytes in base64": {long[:32], "k1", "(not shown)"},
		"as long as a key in hex":                {long, "k1", "(not shown)"},
		"shorter, of a key that is not there":    {long[:31], "k1", long[:31]},
		"as long, of a key that is there":        {long, long, long},
	} {
		f := open(t)
		f.Keys.keys = signature.Keys{signature.NewKey(c.known, "another key", time.Time{})}
		req := sample(t, "delivery.json")
		setHeader("x-delivery-key-id", c.id)(&req)
		if got, _, sum := f.send(t, req); got != rejected(401) || sum.KeyID != c.want {
			t.Errorf("%s: answer %v, key id %q, want %q", sentence, got, sum.KeyID, c.want)
		}
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	good := webhook.Handler{
		Settings: settings(), Scheme: signature.Timestamped{}, Keys: &ring{}, Commands: commands(t), Store: &memory{},
	}
	if _, err := webhook.New(good); err != nil {
		t.Fatal(err)
	}
	for word, change := range map[string]func(*webhook.Handler){
		"path":          func(h *webhook.Handler) { h.Settings.Path = "hooks" },
		"max body":      func(h *webhook.Handler) { h.Settings.MaxBodyBytes = webhook.MaxBodyCap + 1 },
		"replay window": func(h *webhook.Handler) { h.Settings.ReplayWindow = 0 },
		"ack timeout":   func(h *webhook.Handler) { h.Settings.AckTimeout = -1 },
		"retention":     func(h *webhook.Handler) { h.Settings.Retention = 0 },
		"required":      func(h *webhook.Handler) { h.Keys = nil },
	} {
		h := good
		change(&h)
		if _, err := webhook.New(h); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: error %v", word, err)
		}
	}
	h := good
	h.Settings = webhook.Settings{}
	if _, err := webhook.New(h); err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("five problems, named at once: %v", err)
	}
}
