package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/signature"
	"custody/internal/webhook"
)

// The fuzz targets ask the whole front door, with each scheme and every command. What they hold it to is computed here, apart
// from the packages under test: whether the key signed these bytes within the window.

// guarded is a front door that remembers what was decoded.
type guarded struct {
	front
	scheme signature.Scheme
	name   string
	read   *decodings
}

// decodings passes payloads on and remembers them.
type decodings struct {
	webhook.Commands
	bodies []string
}

func (d *decodings) Decode(body []byte) (command.Command, error) {
	d.bodies = append(d.bodies, string(body))
	return d.Commands.Decode(body)
}

// lapsedSeat is the one reservation that is held; every other is missing.
const lapsedSeat = "res-7"

// seatsBeside are the reservations beside an inbox in memory, under the promises of the store.
type seatsBeside struct {
	*memory
	moved bool
}

func (s *seatsBeside) Expire(_ context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	return s.settle(d, e, true)
}

func (s *seatsBeside) Decline(_ context.Context, d inbox.Delivery, e inbox.Expiry) (*inbox.ExpiryRefused, error) {
	return s.settle(d, e, false)
}

func (s *seatsBeside) settle(d inbox.Delivery, e inbox.Expiry, move bool) (*inbox.ExpiryRefused, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r inbox.Reservation
	if e.ReservationID == lapsedSeat && !s.moved {
		r = inbox.Reservation{Status: inbox.ReservationHeld, ExpiresAt: time.Date(2026, 8, 30, 12, 0, 0, 0, time.UTC)}
	}
	refused := inbox.ExpiryRefused{Reservation: e.Lapsed(r) != move}
	if there, exists := s.deliveries[d.ID]; exists {
		refused.Delivery = &there
	}
	if refused.Reservation || refused.Delivery != nil {
		return &refused, nil
	}
	s.put(d)
	s.moved = s.moved || move
	return nil, nil
}

func guard(t testing.TB, which uint8) guarded {
	t.Helper()
	g := guarded{name: signature.SchemeNames()[int(which)%len(signature.SchemeNames())]}
	var err error
	if g.scheme, err = signature.Named(g.name); err != nil {
		t.Fatal(err)
	}
	decoder, err := command.NewDecoder(command.Settings{
		Accepted: command.Types(), Bucket: "pods", MinObjectAge: 24 * time.Hour,
		WarehousePrefixes: []string{"pod/{warehouse_id}/"}, ListingPrefixes: []string{"search/{listing_id}/", "reservations/{listing_id}/"},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.read = &decodings{Commands: decoder}
	g.front = open(t, func(h *webhook.Handler) {
		h.Scheme, h.Commands = g.scheme, g.read
		h.Keys = &ring{keys: signature.Keys{g.key()}}
		h.Reservations = &seatsBeside{memory: h.Store.(*memory)}
	})
	return g
}

// key is the sample key in the scheme's own form.
func (g guarded) key() signature.Key {
	text := sampleKey
	if g.name == signature.SchemeStandardWebhooks {
		text = signature.SecretPrefix + base64.StdEncoding.EncodeToString([]byte(sampleKey))
	}
	return signature.NewKey("k1", text, time.Time{})
}

// claims are what a request's headers say, by the names of the scheme; ok is false where one is missing or in two casings.
type claims struct {
	id, timestamp, signature, keyID string
	named, ok                       bool
}

func (g guarded) claims(headers map[string]string) claims {
	names := map[string][3]string{
		signature.SchemeTimestamped:      {"x-delivery-id", "x-delivery-timestamp", "x-delivery-signature"},
		signature.SchemeStandardWebhooks: {"webhook-id", "webhook-timestamp", "webhook-signature"},
		signature.SchemeBody:             {"x-delivery-id", "x-delivery-id", "x-app-signature"},
	}[g.name]
	lower := map[string]string{}
	for name, value := range headers {
		lower[strings.ToLower(name)] = value
	}
	c := claims{id: lower[names[0]], timestamp: lower[names[1]], signature: lower[names[2]], ok: len(lower) == len(headers)}
	for _, name := range names {
		_, there := lower[name]
		c.ok = c.ok && there
	}
	if g.name != signature.SchemeStandardWebhooks {
		c.keyID, c.named = lower["x-delivery-key-id"]
	}
	return c
}

// mac is the right MAC for a request that claims this, as text.
func (g guarded) mac(c claims, body []byte) string {
	h := hmac.New(sha256.New, []byte(sampleKey))
	switch g.name {
	case signature.SchemeTimestamped:
		h.Write([]byte(c.timestamp + "."))
	case signature.SchemeStandardWebhooks:
		h.Write([]byte(c.id + "." + c.timestamp + "."))
	}
	h.Write(body)
	if g.name == signature.SchemeStandardWebhooks {
		return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// authentic decides again whether the key signed the request, within the window.
func (g guarded) authentic(req events.LambdaFunctionURLRequest, body []byte) bool {
	c := g.claims(req.Headers)
	if !c.ok || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`).MatchString(c.id) || c.named && c.keyID != "k1" {
		return false
	}
	mac := g.mac(c, body)
	switch g.name {
	case signature.SchemeBody: // has no time
		return strings.EqualFold(c.signature, mac)
	case signature.SchemeTimestamped:
		if !strings.EqualFold(strings.TrimPrefix(c.signature, "sha256="), mac) {
			return false
		}
	default:
		if strings.Contains(c.id, ".") || !slices.Contains(strings.Split(c.signature, " "), mac) {
			return false
		}
	}
	return regexp.MustCompile(`^[0-9]{10}$`).MatchString(c.timestamp) && inWindow(c.timestamp, req.RequestContext.TimeEpoch)
}

// listed is a request with a list of signatures: the right one may stand behind five others, or beside a broken one.
func (g guarded) listed(req events.LambdaFunctionURLRequest) bool {
	return g.name == signature.SchemeStandardWebhooks && strings.Contains(g.claims(req.Headers).signature, " ")
}

// inWindow takes the receipt down to its second, and both edges in.
func inWindow(timestamp string, epoch int64) bool {
	at, err := strconv.ParseInt(timestamp, 10, 64)
	received := epoch / 1000
	if epoch%1000 < 0 {
		received--
	}
	return err == nil && at-300 <= received && received <= at+300
}

// ask sends the request and checks what holds for every one of them, however it is made.
func (g guarded) ask(t *testing.T, req events.LambdaFunctionURLRequest) int {
	t.Helper()
	resp, sum := g.Handler.Handle(t.Context(), req)
	checkAnswer(t, resp, sum)
	body, wellFormed := bodyOf(req)
	authentic := wellFormed && len(body) <= 262144 && len(req.Body) > 0 && req.RequestContext.HTTP.Method == "POST" && req.RawPath == "/" &&
		!encoded(req.Headers) && g.authentic(req, body)
	switch {
	case !authentic && len(g.read.bodies) > 0:
		t.Fatalf("decoded what nobody signed: %+v", req)
	case authentic && !g.listed(req) && (len(g.read.bodies) != 1 || g.read.bodies[0] != string(body)):
		t.Fatalf("status %d, %q decoded, sent was %q: %s", resp.StatusCode, g.read.bodies, body, sum.Problem)
	case !wellFormed && !slices.Contains([]int{400, 404, 405, 413, 415}, resp.StatusCode):
		t.Fatalf("status %d for a body that has no bytes", resp.StatusCode)
	case len(g.read.bodies) == 0 && slices.Contains([]int{204, 409, 422}, resp.StatusCode):
		t.Fatalf("status %d without a look at the payload", resp.StatusCode)
	}
	committed := inbox.Outcome(resp.Headers[webhook.HeaderOutcome]).Committed()
	if written := g.Inbox.written() != [2]int{}; written != committed || committed != (resp.StatusCode == 204) {
		t.Fatalf("status %d, outcome %s, written %v", resp.StatusCode, sum.Outcome, g.Inbox.written())
	}
	if committed {
		g.askAgain(t, req, body)
	}
	return resp.StatusCode
}

// askAgain repeats an accepted request: it is known, and says so.
func (g guarded) askAgain(t *testing.T, req events.LambdaFunctionURLRequest, body []byte) {
	t.Helper()
	before := g.Inbox.written()
	sum := sha256.Sum256(body)
	if got := g.Inbox.deliveries[g.claims(req.Headers).id].BodySHA256; got != hex.EncodeToString(sum[:]) {
		t.Fatalf("stored is the hash %s of another body", got)
	}
	if got, _, _ := g.send(t, req); got != already || g.Inbox.written() != before {
		t.Fatalf("the same request again: %v, written %v, before %v", got, g.Inbox.written(), before)
	}
}

func checkAnswer(t *testing.T, resp events.LambdaFunctionURLResponse, sum inbox.DeliverySummary) {
	t.Helper()
	known := []int{204, 400, 401, 404, 405, 409, 413, 415, 422, 503}
	if !slices.Contains(known, resp.StatusCode) || resp.Headers[webhook.HeaderOutcome] != string(sum.Outcome) || sum.Panicked {
		t.Fatalf("status %d, outcome %q: %s", resp.StatusCode, resp.Headers[webhook.HeaderOutcome], sum.Problem)
	}
	if (resp.Body == "") != (resp.StatusCode == 204) || (resp.Headers["Retry-After"] != "") != (resp.StatusCode == 503) {
		t.Fatalf("status %d with headers %v and body %q", resp.StatusCode, resp.Headers, resp.Body)
	}
}

func encoded(headers map[string]string) bool {
	for name, value := range headers {
		if strings.EqualFold(name, "content-encoding") && !strings.EqualFold(strings.TrimSpace(value), "identity") {
			return true
		}
	}
	return false
}

// bodyOf are the bytes that the event carries; false where it carries none in the one form that is right.
func bodyOf(req events.LambdaFunctionURLRequest) ([]byte, bool) {
	if !req.IsBase64Encoded {
		return []byte(req.Body), true
	}
	body, err := base64.StdEncoding.DecodeString(req.Body)
	return body, err == nil && base64.StdEncoding.EncodeToString(body) == req.Body
}

// FuzzHandle feeds whole events, as Lambda's runtime decodes them. Whatever comes, there is a known status with an outcome, no
// panic, and nothing is decoded or written unless the key signed the bytes.
func FuzzHandle(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		f.Fatalf("no sample events: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, event []byte, scheme uint8) {
		var req events.LambdaFunctionURLRequest
		if json.Unmarshal(event, &req) == nil {
			guard(t, scheme).ask(t, req)
		}
	})
}

// FuzzRequest builds a request from its parts, and signs it where it is told to, so that the payload is reached as well.
func FuzzRequest(f *testing.F) {
	for scheme := range uint8(3) {
		f.Add(scheme, "POST", "/", "d-1", []byte(samplePayload), false, true, int64(0))
	}
	f.Fuzz(func(t *testing.T, scheme uint8, method, path, id string, body []byte, flagged, sign bool, off int64) {
		g := guard(t, scheme)
		req := events.LambdaFunctionURLRequest{RawPath: path, Body: string(body), IsBase64Encoded: flagged}
		req.RequestContext.HTTP.Method, req.RequestContext.TimeEpoch = method, receipt().UnixMilli()
		signer := signature.NewKey("k1", "another key", time.Time{})
		if sign {
			signer = g.key()
		}
		off %= 1_000_000_000
		req.Headers = g.scheme.Sign(signer, id, receipt().Add(time.Duration(off)*time.Second), body)
		if flagged {
			req.Body = base64.StdEncoding.EncodeToString(body)
		}
		if status := g.ask(t, req); !sign && (status == 204 || status == 422) {
			t.Fatalf("status %d for what another key signed", status)
		}
	})
}

// FuzzHeaders fills the headers, one a line, of a good payload. {mac} stands for the right MAC by what the headers claim: the
// fuzzer cannot make one.
func FuzzHeaders(f *testing.F) {
	f.Add(uint8(0), "x-delivery-id: d-1\nx-delivery-timestamp: 1790000000\nx-delivery-signature: sha256={mac}\nx-delivery-key-id: k1")
	f.Add(uint8(1), "webhook-id: msg_1\nwebhook-timestamp: 1790000000\nwebhook-signature: {mac}")
	f.Add(uint8(2), "x-delivery-id: d-1\nx-app-signature: {mac}")
	f.Fuzz(func(t *testing.T, scheme uint8, lines string) {
		g := guard(t, scheme)
		req := events.LambdaFunctionURLRequest{RawPath: "/", Body: samplePayload, Headers: map[string]string{}}
		req.RequestContext.HTTP.Method, req.RequestContext.TimeEpoch = "POST", receipt().UnixMilli()
		for line := range strings.SplitSeq(lines, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			if first, twice := req.Headers[name]; twice { // as Lambda joins them
				value = first + "," + value
			}
			req.Headers[name] = value
		}
		mac := g.mac(g.claims(req.Headers), []byte(req.Body))
		for name, value := range req.Headers {
			req.Headers[name] = strings.ReplaceAll(value, "{mac}", mac)
		}
		g.ask(t, req)
	})
}
