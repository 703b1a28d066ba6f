package wirecontract_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// event is what a function URL makes of the message (payload format 2.0), to be spoilt as no client could: a broken front, or a
// caller with the right to invoke the function itself.
func (s stack) event(m message, receipt time.Time) map[string]any {
	headers, body, signature := m.signed()
	s.record.sent(signature)
	named := map[string]any{}
	for _, h := range headers {
		named[strings.ToLower(h.name)] = h.value
	}
	return map[string]any{
		"version": "2.0", "rawPath": "/", "rawQueryString": "", "headers": named, "body": string(body), "isBase64Encoded": false,
		"requestContext": map[string]any{"timeEpoch": receipt.UnixMilli(), "http": map[string]any{"method": m.method, "path": "/"}},
	}
}

// invoke hands an event to the function's process, past every front.
func (s stack) invoke(t *testing.T, id string, event any) answer {
	t.Helper()
	payload, ok := event.([]byte)
	if !ok {
		var err error
		if payload, err = json.Marshal(event); err != nil {
			t.Fatal(err)
		}
	}
	result, err := s.local.Function("webhook").Invoke(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	if result.FunctionError != "" {
		return answer{header: http.Header{"Error": {string(result.Payload)}}}
	}
	var said struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(result.Payload, &said); err != nil {
		t.Fatal(err)
	}
	a := answer{said.StatusCode, http.Header{}, said.Body}
	for name, value := range said.Headers {
		a.header.Set(name, value)
	}
	s.record.answered(id, a)
	return a
}

// eventCase is one event that is not as Lambda would make it, or not as it would make it of any honest request.
type eventCase struct {
	spoil func(event map[string]any)
	want  string // "failed" is an invocation without an answer, which the front makes a 502
}

func TestEventsThatNoClientCanCause(t *testing.T) {
	t.Parallel()
	for _, sc := range schemes() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, sc)
			for sentence, c := range sorted(merged(s.encodedEvents(), s.headedEvents(), s.misshapenEvents())) {
				m := s.delivery()
				id := m.id
				event := s.event(m, time.Now())
				c.spoil(event)
				a := s.invoke(t, id, event)
				got := a.word()
				if a.status == 0 {
					got = "failed"
				} else {
					for _, complaint := range a.complaints(false) {
						t.Errorf("%s: %s", sentence, complaint)
					}
				}
				if got != c.want {
					t.Errorf("%s: answered %s, want %s %v", sentence, got, c.want, a.header["Error"])
				}
			}
			for _, event := range []string{"", "null", "[]", `"POST"`, "1", "{}", `{"body":"{}"}`, `{"requestContext":null,"headers":null}`, `{"Records":[]}`} {
				if a := s.invoke(t, "", []byte(event)); a.status != 0 && a.word() != "405 rejected" {
					t.Errorf("the event %s: answered %s", event, a.word())
				}
			}
			s.expect(t, "and the function still works", s.delivery(), "204 accepted")
		})
	}
}

func merged(tables ...map[string]eventCase) map[string]eventCase {
	all := map[string]eventCase{}
	for _, table := range tables {
		for sentence, c := range table {
			if _, twice := all[sentence]; twice {
				panic("two cases are called " + sentence)
			}
			all[sentence] = c
		}
	}
	return all
}

// encodedEvents have bodies in base64, good and bad (cases 1 and 16).
func (s stack) encodedEvents() map[string]eventCase {
	flagged := func(spell func(text, raw string) string) func(map[string]any) {
		return func(e map[string]any) {
			raw := e["body"].(string)
			e["isBase64Encoded"], e["body"] = true, spell(base64.StdEncoding.EncodeToString([]byte(raw)), raw)
		}
	}
	ending := func(size int) func(map[string]any) { // the padding depends on the length of the body
		return func(e map[string]any) {
			raw := e["body"].(string) + strings.Repeat(" ", (size-len(e["body"].(string))%3+3)%3)
			s.resign(e, raw)
			e["isBase64Encoded"], e["body"] = true, base64.StdEncoding.EncodeToString([]byte(raw))
		}
	}
	return map[string]eventCase{
		"base64 without padding":              {ending(0), "204 accepted"},
		"base64 with two signs of padding":    {ending(1), "204 accepted"},
		"base64 with one sign of padding":     {ending(2), "204 accepted"},
		"the flag without base64":             {flagged(func(_, raw string) string { return raw }), "400 rejected"},
		"base64 without the flag":             {func(e map[string]any) { e["body"] = base64.StdEncoding.EncodeToString([]byte(e["body"].(string))) }, "401 rejected"},
		"base64 in base64":                    {flagged(func(b, _ string) string { return base64.StdEncoding.EncodeToString([]byte(b)) }), "401 rejected"},
		"base64 with a line break":            {flagged(func(b, _ string) string { return b[:76] + "\r\n" + b[76:] }), "400 rejected"},
		"base64 with a line break of one":     {flagged(func(b, _ string) string { return b[:76] + "\n" + b[76:] }), "400 rejected"},
		"base64 with a line break at its end": {flagged(func(b, _ string) string { return b + "\n" }), "400 rejected"},
		"base64 with a space":                 {flagged(func(b, _ string) string { return b[:8] + " " + b[8:] }), "400 rejected"},
		"base64 with a NUL":                   {flagged(func(b, _ string) string { return b[:8] + "\x00" + b[9:] }), "400 rejected"},
		"base64 that lacks a character":       {flagged(func(b, _ string) string { return b[1:] }), "400 rejected"},
		"base64 that lacks its padding":       {flagged(func(string, string) string { return "e30" }), "400 rejected"},
		"base64 with padding too much":        {flagged(func(string, string) string { return "e30==" }), "400 rejected"},
		"base64 with bits behind its end":     {flagged(func(string, string) string { return "e31=" }), "400 rejected"},
		"base64 with padding in its middle":   {flagged(func(string, string) string { return "e30=e30=" }), "400 rejected"},
		"base64 that is all padding":          {flagged(func(string, string) string { return "====" }), "400 rejected"},
		"base64 for URLs":                     {flagged(func(string, string) string { return "_-8=" }), "400 rejected"},
		"base64 of nothing":                   {flagged(func(string, string) string { return "" }), "400 rejected"},
		"base64 of the cap":                   {s.paddedTo(cap256KiB), "204 accepted"},
		"base64 of the cap and one":           {s.paddedTo(cap256KiB + 1), "413 rejected"},
		"no base64, and over the cap":         {flagged(func(string, string) string { return strings.Repeat("!", 400000) }), "413 rejected"},
	}
}

// resign signs another body for the event, as the sender would have.
func (s stack) resign(e map[string]any, body string) {
	headers := e["headers"].(map[string]any)
	id, _ := headers[strings.ToLower(s.scheme.id)].(string)
	timestamp, _ := headers[strings.ToLower(s.scheme.timestamp)].(string)
	signature := s.scheme.sign(s.key, id, timestamp, []byte(body))
	s.record.sent(signature)
	headers[strings.ToLower(s.scheme.signature)] = signature
}

func (s stack) paddedTo(size int) func(map[string]any) {
	return func(e map[string]any) {
		raw := e["body"].(string)
		raw += strings.Repeat(" ", size-len(raw))
		s.resign(e, raw)
		e["isBase64Encoded"], e["body"] = true, base64.StdEncoding.EncodeToString([]byte(raw))
	}
}

// headedEvents have headers that HTTP would have mended or refused (cases 3, 4 and 5).
func (s stack) headedEvents() map[string]eventCase {
	on := func(name string, change func(headers map[string]any, name, value string)) func(map[string]any) {
		return func(e map[string]any) {
			headers := e["headers"].(map[string]any)
			value, _ := headers[strings.ToLower(name)].(string)
			change(headers, strings.ToLower(name), value)
		}
	}
	around := func(h map[string]any, name, value string) { h[name] = " " + value + " " }
	twice := func(h map[string]any, name, value string) { h[strings.ToUpper(name)] = value }
	otherCase := func(h map[string]any, name, value string) { delete(h, name); h[strings.ToUpper(name)] = value }
	lineBreak := func(h map[string]any, name, value string) { h[name] = value + "\n" }
	all := map[string]eventCase{
		"a header that nobody reads, in two cases": {on("X-Other", func(h map[string]any, name, _ string) { h[name], h["X-Other"] = "a", "a" }), "400 rejected"},
		"no headers at all":                        {func(e map[string]any) { delete(e, "headers") }, "400 rejected"},
		"an encoding of gzip in capitals":          {on("CONTENT-ENCODING", func(h map[string]any, _, _ string) { h["CONTENT-ENCODING"] = "gzip" }), "415 rejected"},
		"identity, and in capitals gzip": {func(e map[string]any) {
			h := e["headers"].(map[string]any)
			h["content-encoding"], h["CONTENT-ENCODING"] = "identity", "gzip"
		}, "415 rejected"},
		"identity in two cases": {func(e map[string]any) {
			h := e["headers"].(map[string]any)
			h["content-encoding"], h["CONTENT-ENCODING"] = "identity", "identity"
		}, "400 rejected"},
	}
	// A malformed signature is a 401, id and timestamp are a 400.
	malformed := map[string]string{s.scheme.id: "400 rejected", s.scheme.timestamp: "400 rejected", s.scheme.signature: "401 rejected",
		s.scheme.keyID: "401 rejected"}
	for name, want := range malformed {
		if name == "" {
			continue
		}
		all[name+" with spaces around"] = eventCase{on(name, around), want}
		all[name+" with a line break"] = eventCase{on(name, lineBreak), want}
		all[name+" in two cases"] = eventCase{on(name, twice), "400 rejected"}
		all[name+" in capitals"] = eventCase{on(name, otherCase), "204 accepted"}
	}
	return all
}

// misshapenEvents lack something or have it in another form.
func (s stack) misshapenEvents() map[string]eventCase {
	context := func(name string, value any) func(map[string]any) {
		return func(e map[string]any) { e["requestContext"].(map[string]any)[name] = value }
	}
	put := func(name string, value any) func(map[string]any) { return func(e map[string]any) { e[name] = value } }
	noReceipt := "401 rejected" // 1970 is far from any timestamp
	if s.scheme.timestamp == "" {
		noReceipt = "422 rejected" // the command is not due in 1970
	}
	return map[string]eventCase{
		"no body":                            {func(e map[string]any) { delete(e, "body") }, "400 rejected"},
		"a body that is null":                {put("body", nil), "400 rejected"},
		"a body that is an object":           {put("body", map[string]any{"run_id": "r-1"}), "failed"},
		"a flag that is a text":              {put("isBase64Encoded", "true"), "failed"},
		"no receipt":                         {context("timeEpoch", 0), noReceipt},
		"a receipt before 1970":              {context("timeEpoch", -1), noReceipt},
		"a receipt in the far future":        {context("timeEpoch", int64(1)<<53), s.ifSigned("401 rejected", "204 accepted")},
		"a receipt that is a text":           {context("timeEpoch", fmt.Sprint(time.Now().UnixMilli())), "failed"},
		"no context":                         {func(e map[string]any) { delete(e, "requestContext") }, "405 rejected"},
		"a method in lower case":             {context("http", map[string]any{"method": "post"}), "405 rejected"},
		"no method":                          {context("http", map[string]any{}), "405 rejected"},
		"no path":                            {put("rawPath", ""), "404 rejected"},
		"a path that only the context has":   {func(e map[string]any) { delete(e, "rawPath") }, "404 rejected"},
		"headers that are a list":            {put("headers", []string{"a"}), "failed"},
		"a header that is a list":            {put("headers", map[string]any{"x-delivery-id": []string{"a"}}), "failed"},
		"a principal who says he may":        {context("authorizer", map[string]any{"iam": map[string]any{"userId": "root"}}), "204 accepted"},
		"fields that nobody knows":           {put("skipVerification", true), "204 accepted"},
		"an answer in the place of a header": {put("Custody-Outcome", "accepted"), "204 accepted"},
	}
}

// ifSigned chooses between what a scheme with a signed timestamp answers and one without.
func (s stack) ifSigned(with, without string) string {
	if s.scheme.timestamp != "" {
		return with
	}
	return without
}
