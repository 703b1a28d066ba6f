package lambda_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"custody/internal/localaws/lambda"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// invokerFunc is a function in the process.
type invokerFunc func(ctx context.Context, event []byte) (lambda.Result, error)

func (f invokerFunc) Invoke(ctx context.Context, event []byte) (lambda.Result, error) {
	return f(ctx, event)
}

func answering(payload string) invokerFunc {
	return func(context.Context, []byte) (lambda.Result, error) {
		return lambda.Result{Payload: []byte(payload)}, nil
	}
}

// at is a time whose milliseconds and zone show in the event.
func at() time.Time {
	return time.Date(2026, 8, 30, 23, 4, 5, int(678*time.Millisecond), time.FixedZone("", 2*3600))
}

// receive sends a raw HTTP request through a real connection and decodes the event that the function got.
func receive(t *testing.T, request string) (event events.LambdaFunctionURLRequest, raw map[string]any) {
	t.Helper()
	var payload []byte
	front := lambda.NewURL(invokerFunc(func(_ context.Context, e []byte) (lambda.Result, error) {
		payload = e
		return lambda.Result{Payload: []byte(`{"statusCode":204}`)}, nil
	}), at)
	server := httptest.NewServer(front)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, request)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Fatalf("status %d", response.StatusCode)
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		t.Fatal(err)
	}
	return event, raw
}

func TestURLEvent(t *testing.T) {
	t.Parallel()
	event, raw := receive(t, "POST /a%2Fb/%C3%A9?x=1&x=2&y=a%20b+c&z HTTP/1.1\r\nHost: abc.lambda-url.local:80\r\n"+
		"X-Delivery-ID: one\r\nx-delivery-id: two\r\nCookie: a=1; b=2\r\nUser-Agent: curl/8\r\n"+
		"Content-Type: application/json; charset=utf-8\r\nContent-Length: 13\r\n\r\n{\"a\":\"<\u00e9&>\"}")
	want := events.LambdaFunctionURLRequest{
		Version: "2.0", RawPath: "/a%2Fb/%C3%A9", RawQueryString: "x=1&x=2&y=a%20b+c&z",
		Cookies:               []string{"a=1", "b=2"},
		QueryStringParameters: map[string]string{"x": "1,2", "y": "a b c", "z": ""},
		Headers: map[string]string{"host": "abc.lambda-url.local:80", "x-delivery-id": "one,two", "cookie": "a=1; b=2",
			"user-agent": "curl/8", "content-type": "application/json; charset=utf-8", "content-length": "13",
			"x-forwarded-for": "127.0.0.1", "x-forwarded-port": "80", "x-forwarded-proto": "http"},
		RequestContext: events.LambdaFunctionURLRequestContext{
			AccountID: "anonymous", APIID: "abc", DomainName: "abc.lambda-url.local:80", DomainPrefix: "abc",
			Time: "30/Aug/2026:21:04:05 +0000", TimeEpoch: at().UnixMilli(),
			HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{Method: "POST", Path: "/a%2Fb/%C3%A9",
				Protocol: "HTTP/1.1", SourceIP: "127.0.0.1", UserAgent: "curl/8"},
		},
		Body: `{"a":"<é&>"}`,
	}
	requestID, trace := event.RequestContext.RequestID, event.Headers["x-amzn-trace-id"]
	event.RequestContext.RequestID = ""
	delete(event.Headers, "x-amzn-trace-id")
	if diff := cmp.Diff(want, event); diff != "" {
		t.Error(diff)
	}
	if len(requestID) != 36 || !strings.HasPrefix(trace, "Root=1-") {
		t.Errorf("request id %q, trace %q", requestID, trace)
	}
	if raw["routeKey"] != "$default" || raw["requestContext"].(map[string]any)["stage"] != "$default" {
		t.Errorf("routeKey and stage are missing in %v", raw)
	}
}

func TestURLEventOfAnEmptyRequest(t *testing.T) {
	t.Parallel()
	event, raw := receive(t, "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n\r\n")
	for _, absent := range []string{"body", "cookies", "queryStringParameters"} {
		if _, ok := raw[absent]; ok {
			t.Errorf("%s is there: %v", absent, raw[absent])
		}
	}
	if event.IsBase64Encoded || event.RequestContext.HTTP.Method != "HEAD" || event.RawPath != "/" {
		t.Errorf("%+v", event)
	}
}

func TestURLEventOfARequestByTheWholeURL(t *testing.T) {
	t.Parallel()
	event, _ := receive(t, "POST http://x/a%2Fb?c=%20 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	if event.RawPath != "/a%2Fb" || event.RawQueryString != "c=%20" {
		t.Errorf("path %q, query %q", event.RawPath, event.RawQueryString)
	}
}

func TestURLEventBody(t *testing.T) {
	t.Parallel()
	const base64 = true
	for sentence, test := range map[string]struct {
		contentType, body, want string
		isBase64                bool
	}{
		"json is text":                             {"application/json", "{}\r\n", "{}\r\n", false},
		"json in capitals is text":                 {"Application/JSON;charset=UTF-8", "{}", "{}", false},
		"a broken parameter keeps the type":        {"application/json; charset", "{}", "{}", false},
		"xml is text":                              {"application/xml", "<a/>", "<a/>", false},
		"javascript is text":                       {"application/javascript", "a", "a", false},
		"text of any kind is text":                 {"text/csv", "a,b", "a,b", false},
		"an emoji stays one":                       {"text/plain", "😀", "😀", false},
		"invalid UTF-8 in text is lost":            {"text/plain", "a\xff\xfeb", "a\ufffd\ufffdb", false},
		"octets are base64":                        {"application/octet-stream", "\xff\x00", "/wA=", base64},
		"a form is base64":                         {"application/x-www-form-urlencoded", "a=b", "YT1i", base64},
		"a missing type is base64":                 {"", "{}", "e30=", base64},
		"a structured suffix is not on the list":   {"application/problem+json", "{}", "e30=", base64},
		"a type that only begins like text is not": {"textual/plain", "a", "YQ==", base64},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			header := ""
			if test.contentType != "" {
				header = "Content-Type: " + test.contentType + "\r\n"
			}
			event, _ := receive(t, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", header, len(test.body), test.body))
			if event.Body != test.want || event.IsBase64Encoded != test.isBase64 {
				t.Errorf("body %q, base64 %t", event.Body, event.IsBase64Encoded)
			}
		})
	}
}

func TestURLEventOfAChunkedBody(t *testing.T) {
	t.Parallel()
	event, _ := receive(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	if event.Body != "abc" || event.Headers["content-length"] != "3" {
		t.Errorf("%+v", event)
	}
}

// httpAnswer is what of a response the tests compare.
type httpAnswer struct {
	Status int
	Header http.Header
	Body   string
}

func ask(t *testing.T, function lambda.Invoker, method string, body io.Reader) httpAnswer {
	t.Helper()
	server := httptest.NewServer(lambda.NewURL(function, nil))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	payload, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Header.Get("X-Amzn-Requestid")) != 36 {
		t.Errorf("no request id in %v", response.Header)
	}
	response.Header.Del("X-Amzn-Requestid")
	response.Header.Del("Date")
	response.Header.Del("Content-Length")
	return httpAnswer{response.StatusCode, response.Header, string(payload)}
}

func header(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
	}
	return h
}

func TestURLAnswer(t *testing.T) {
	t.Parallel()
	problem := http.Header{"Content-Type": {"application/problem+json"}, "Allow": {"POST"}}
	bad := httpAnswer{502, header(), "Internal Server Error"}
	for sentence, test := range map[string]struct {
		payload string
		want    httpAnswer
	}{
		"status, headers and body": {`{"statusCode":405,"headers":{"content-type":"application/problem+json","Allow":"POST"},"body":"{}"}`,
			httpAnswer{405, problem, "{}"}},
		"no content":                  {`{"statusCode":204,"headers":{"Custody-Outcome":"accepted"},"body":""}`, httpAnswer{204, header("Custody-Outcome", "accepted"), ""}},
		"base64 is decoded":           {`{"statusCode":200,"body":"/wA=","isBase64Encoded":true}`, httpAnswer{200, header(), "\xff\x00"}},
		"cookies are several headers": {`{"statusCode":200,"cookies":["a=1","b=2"]}`, httpAnswer{200, header("Set-Cookie", "a=1", "Set-Cookie", "b=2"), ""}},
		"a header may be a number":    {`{"statusCode":503,"headers":{"Retry-After":5}}`, httpAnswer{503, header("Retry-After", "5"), ""}},
		"the front's own headers are not the function's": {`{"statusCode":200,"headers":{"Content-Length":"99","transfer-encoding":"x","Connection":"x"},"body":"a"}`,
			httpAnswer{200, header(), "a"}},
		"an object without a status is the body":  {`{"message":"hi"}`, httpAnswer{200, header(), `{"message":"hi"}`}},
		"a string is the body":                    {`"hi"`, httpAnswer{200, header(), `"hi"`}},
		"null is the body":                        {`null`, httpAnswer{200, header(), `null`}},
		"a status that is none is a bad gateway":  {`{"statusCode":99}`, bad},
		"a status of text is a bad gateway":       {`{"statusCode":"200"}`, bad},
		"a body that is no text is a bad gateway": {`{"statusCode":200,"body":{"a":1}}`, bad},
		"bad base64 is a bad gateway":             {`{"statusCode":200,"body":"%","isBase64Encoded":true}`, bad},
		"an answer that is no JSON":               {`hello`, bad},
		"no answer at all":                        {``, bad},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, ask(t, answering(test.payload), "POST", nil), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestURLAnswersInsteadOfTheFunction(t *testing.T) {
	t.Parallel()
	failing := invokerFunc(func(context.Context, []byte) (lambda.Result, error) {
		return lambda.Result{FunctionError: lambda.Unhandled, Payload: []byte(`{"statusCode":200,"body":"secret"}`)}, nil
	})
	erring := func(err error) invokerFunc {
		return func(context.Context, []byte) (lambda.Result, error) { return lambda.Result{}, fmt.Errorf("x: %w", err) }
	}
	for sentence, test := range map[string]struct {
		function lambda.Invoker
		want     int
	}{
		"a failed function is a bad gateway, and says nothing of itself": {failing, 502},
		"above the concurrency":   {erring(lambda.ErrThrottled), 429},
		"a closed function":       {erring(lambda.ErrClosed), 502},
		"an event above the size": {erring(lambda.ErrTooLarge), 413},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got := ask(t, test.function, "POST", nil)
			if got.Status != test.want || strings.Contains(got.Body, "secret") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestURLSizeBoundary(t *testing.T) {
	t.Parallel()
	f := puppet(t, nil)
	// As base64, 4.5 MiB are 6 MiB, and the rest of the event takes more than the 100 bytes above it.
	if got := ask(t, f, "POST", strings.NewReader(strings.Repeat("x", 4<<20))); got.Status != 200 {
		t.Errorf("4 MiB: status %d", got.Status)
	}
	if got := ask(t, f, "POST", strings.NewReader(strings.Repeat("x", 9<<19))); got.Status != 413 {
		t.Errorf("4.5 MiB: status %d", got.Status)
	}
	if got := ask(t, f, "POST", strings.NewReader(strings.Repeat("x", 8<<20))); got.Status != 413 {
		t.Errorf("8 MiB: status %d", got.Status)
	}
}

func TestURLEventIsNoLargerThanItsBody(t *testing.T) {
	t.Parallel()
	got := 0
	sized := invokerFunc(func(_ context.Context, event []byte) (lambda.Result, error) {
		got = len(event)
		return lambda.Result{Payload: []byte(`{"statusCode":204}`)}, nil
	})
	server := httptest.NewServer(lambda.NewURL(sized, nil))
	defer server.Close()
	response, err := http.Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("<&>", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got < 300_000 || got > 310_000 {
		t.Errorf("a body of 300000 bytes is an event of %d", got)
	}
}

func TestURLHeadHasNoBody(t *testing.T) {
	t.Parallel()
	got := ask(t, answering(`{"statusCode":405,"body":"no"}`), "HEAD", nil)
	if diff := cmp.Diff(httpAnswer{405, header(), ""}, got); diff != "" {
		t.Error(diff)
	}
}
