package lambda

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// urlEvent is events.LambdaFunctionURLRequest with the fields that Lambda sends and that type leaves out.
type urlEvent struct {
	events.LambdaFunctionURLRequest
	RouteKey       string          `json:"routeKey"`
	RequestContext urlEventContext `json:"requestContext"`
}

type urlEventContext struct {
	events.LambdaFunctionURLRequestContext
	RouteKey string `json:"routeKey"`
	Stage    string `json:"stage"`
}

// newURLEvent is the event of one request.
func newURLEvent(r *http.Request, body []byte, requestID string, now time.Time) []byte {
	path, query, _ := strings.Cut(originForm(r), "?")
	text, isBase64 := encodeBody(r.Header.Get("Content-Type"), body)
	event := urlEvent{
		LambdaFunctionURLRequest: events.LambdaFunctionURLRequest{
			Version:               "2.0",
			RawPath:               path,
			RawQueryString:        query,
			Cookies:               cookies(r),
			Headers:               eventHeaders(r, len(body), now),
			QueryStringParameters: joinedQuery(query),
			Body:                  text,
			IsBase64Encoded:       isBase64,
		},
		RouteKey:       "$default",
		RequestContext: urlEventContext{eventContext(r, path, requestID, now), "$default", "$default"},
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // Lambda does not, and the escapes would count against the size
	if err := encoder.Encode(event); err != nil {
		panic(err) // strings, numbers and maps of strings always encode
	}
	return bytes.TrimSpace(out.Bytes())
}

// originForm is path and query as they were sent, percent signs included. A client may also send the whole URL (RFC 9112, 3.2.2),
// as one behind a proxy does; the function is told its path all the same.
func originForm(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

func eventContext(r *http.Request, path, requestID string, now time.Time) events.LambdaFunctionURLRequestContext {
	prefix, _, _ := strings.Cut(r.Host, ".")
	return events.LambdaFunctionURLRequestContext{
		AccountID:    "anonymous", // of a caller that is not an IAM principal
		RequestID:    requestID,
		APIID:        prefix,
		DomainName:   r.Host,
		DomainPrefix: prefix,
		Time:         now.UTC().Format("02/Jan/2006:15:04:05 -0700"),
		TimeEpoch:    now.UnixMilli(),
		HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{
			Method:    r.Method,
			Path:      path,
			Protocol:  r.Proto,
			SourceIP:  sourceIP(r),
			UserAgent: r.UserAgent(),
		},
	}
}

// eventHeaders are the request's headers under lower-case names, several values of one name joined by a comma,
// and those that Lambda adds.
func eventHeaders(r *http.Request, bodyLength int, now time.Time) map[string]string {
	headers := make(map[string]string, len(r.Header)+6)
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	_, port, _ := net.SplitHostPort(r.Host)
	headers["host"] = r.Host // net/http keeps it apart
	headers["x-forwarded-for"] = sourceIP(r)
	headers["x-forwarded-port"] = port
	headers["x-forwarded-proto"] = "http"
	headers["x-amzn-trace-id"] = newTraceID(now)
	if bodyLength > 0 {
		headers["content-length"] = strconv.Itoa(bodyLength) // a chunked body has none of its own
	}
	return headers
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// cookies splits the Cookie header as the event has it beside the header.
func cookies(r *http.Request) []string {
	var list []string
	for _, header := range r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(header, ";") {
			list = append(list, strings.TrimSpace(cookie))
		}
	}
	return list
}

// joinedQuery decodes the parameters; several values of one name are joined by a comma. A pair that cannot be
// decoded is left out here and stays in rawQueryString.
func joinedQuery(raw string) map[string]string {
	values, _ := url.ParseQuery(raw)
	if len(values) == 0 {
		return nil
	}
	joined := make(map[string]string, len(values))
	for name, list := range values {
		joined[name] = strings.Join(list, ",")
	}
	return joined
}

// encodeBody writes a body of a text type as it is and any other as base64. Bytes of a text body that are not
// UTF-8 become U+FFFD, as in any JSON: only a binary content type carries them.
func encodeBody(contentType string, body []byte) (text string, isBase64 bool) {
	if len(body) == 0 {
		return "", false // the event has no body then, whatever the type
	}
	if isText(contentType) {
		return string([]rune(string(body))), false // one U+FFFD for each byte that is not UTF-8
	}
	return base64.StdEncoding.EncodeToString(body), true
}

// isText says which content types Lambda hands on as text. AWS documents that binary bodies become base64 and
// not which types are binary. Measured against AWS (payload format 2.0,
// https://github.com/ministackorg/ministack/pull/766), text is text/*, application/json, application/xml and
// application/javascript, and everything else is base64: also a missing type and
// application/x-www-form-urlencoded. Types such as application/problem+json are not on that list.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && media == "" {
		// A parameter that cannot be parsed does not change the type in front of it.
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	switch media {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(media, "text/")
}
