package lambda

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
)

// urlAnswer is a function's answer as HTTP.
type urlAnswer struct {
	status  int
	headers map[string]string
	cookies []string
	body    []byte
}

// decodeURLAnswer reads a function's answer. It is false for a failed function and for an answer that Lambda
// does not understand; both are 502.
func decodeURLAnswer(r Result) (urlAnswer, bool) {
	if r.FunctionError != "" || !json.Valid(r.Payload) {
		return urlAnswer{}, false
	}
	var probe struct {
		StatusCode json.RawMessage `json:"statusCode"`
	}
	// JSON of another form than an object has no statusCode, and is not an error.
	_ = json.Unmarshal(r.Payload, &probe)
	if probe.StatusCode == nil {
		return urlAnswer{status: http.StatusOK, body: r.Payload}, true
	}
	return decodeFullAnswer(r.Payload)
}

// decodeFullAnswer reads an answer of payload format 2.0.
func decodeFullAnswer(payload []byte) (urlAnswer, bool) {
	var answer struct {
		StatusCode      int                    `json:"statusCode"`
		Headers         map[string]headerValue `json:"headers"`
		Cookies         []string               `json:"cookies"`
		Body            string                 `json:"body"`
		IsBase64Encoded bool                   `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return urlAnswer{}, false
	}
	if answer.StatusCode < 200 || answer.StatusCode > 599 { // 1xx is no final answer
		return urlAnswer{}, false
	}
	body := []byte(answer.Body)
	if answer.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(answer.Body)
		if err != nil {
			return urlAnswer{}, false
		}
		body = decoded
	}
	headers := make(map[string]string, len(answer.Headers))
	for name, value := range answer.Headers {
		headers[name] = string(value)
	}
	return urlAnswer{answer.StatusCode, headers, answer.Cookies, body}, true
}

// headerValue takes the numbers and booleans that functions write for a header as well as strings.
type headerValue string

func (v *headerValue) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		*v = headerValue(bytes.TrimSpace(b))
		return nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	*v = headerValue(s)
	return err
}

func (a urlAnswer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json") // Lambda's own where the function sets none
	for name, value := range a.headers {
		switch http.CanonicalHeaderKey(name) {
		case "Connection", "Content-Length", "Date", "Transfer-Encoding": // the front's own
		default:
			h.Set(name, value)
		}
	}
	for _, cookie := range a.cookies {
		h.Add("Set-Cookie", cookie)
	}
	if a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a client that has gone is no error of ours
}
