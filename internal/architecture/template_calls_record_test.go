package architecture_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// record stands in front of the engines and notes what each function asked of them. Whatever else asks (the test, the stream
// mapping, the making of the tables) is no function and passes.
type record struct {
	mu       sync.Mutex
	touched  map[string]map[touch]bool // by function
	asked    map[string]map[ask]string // by function; with a request as an example
	problems []string
	before   func(function string, r *http.Request) *httptest.ResponseRecorder // an answer in the place of the engine's, or nil
}

func newRecord() *record {
	return &record{touched: map[string]map[touch]bool{}, asked: map[string]map[ask]string{}}
}

// requester finds the function's name in the User-Agent, where the local stack has the SDK put it.
var requester = regexp.MustCompile(` app/([a-z]+)`)

func (c *record) wrap(engine http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found := requester.FindStringSubmatch(r.Header.Get("User-Agent"))
		if found == nil {
			engine.ServeHTTP(w, r)
			return
		}
		function := found[1]
		body, err := io.ReadAll(r.Body)
		if err != nil { // the process was ended in the middle of its request
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		read, err := readRequest(r, body)
		c.note(function, r, read, err)

		answer := c.instead(function, r)
		if answer == nil {
			answer = httptest.NewRecorder()
			engine.ServeHTTP(answer, r)
		}
		c.note(function, r, request{asks: answered(r, answer.Code, answer.Body.Bytes())}, nil)
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // a caller that has gone is no error of ours
	})
}

func (c *record) note(function string, r *http.Request, read request, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.problems = append(c.problems, fmt.Sprintf("the %s sends a request: %v", function, err))
		return
	}
	if c.asked[function] == nil {
		c.touched[function], c.asked[function] = map[touch]bool{}, map[ask]string{}
	}
	for _, t := range read.touches {
		c.touched[function][t] = true
	}
	for _, a := range read.asks {
		c.asked[function][a] = strings.TrimSpace(r.Method + " " + r.URL.Path + " " + r.Header.Get("X-Amz-Target"))
	}
}

// setBefore puts something in front of the engines for the requests to come; nil takes it away.
func (c *record) setBefore(do func(function string, r *http.Request) *httptest.ResponseRecorder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = do
}

func (c *record) instead(function string, r *http.Request) *httptest.ResponseRecorder {
	c.mu.Lock()
	do := c.before
	c.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(function, r)
}

// allowed is one action on one resource that a role allows, and where the template says so.
type allowed struct{ Action, Resource, Statement string }

func (g allowed) covers(a ask) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(g.Resource), `\*`, `.*`)
	return g.Action == a.Action && regexp.MustCompile(`(?s)\A`+pattern+`\z`).MatchString(a.Resource)
}

// rights are what the role allows in the rendered stack.
func (r rendered) rights(role string) []allowed {
	r.t.Helper()
	var all []allowed
	add := func(policy string, document any) {
		for _, statement := range list(at(r.value(document), "Statement")) {
			for _, action := range list(at(statement, "Action")) {
				for _, resource := range list(at(statement, "Resource")) {
					all = append(all, allowed{text(action), text(resource), policy + " " + text(at(statement, "Sid"))})
				}
			}
		}
	}
	for _, policy := range list(r.value(r.tpl.properties(role)["Policies"])) { // without those whose condition does not hold
		add(role, at(policy, "PolicyDocument"))
	}
	for _, id := range r.tpl.of("AWS::IAM::RolePolicy") {
		if p := r.tpl.properties(id); r.present(id) && r.text(p["RoleName"]) == r.attribute(role, "") {
			add(id, p["PolicyDocument"])
		}
	}
	return all
}

// notByCode are the grants that Lambda itself uses in the function's name: its logs and traces, the stream that it polls, and the
// queue that it sends to.
func notByCode(g allowed) bool {
	return strings.HasPrefix(g.Action, "logs:") || strings.HasPrefix(g.Action, "xray:") || strings.HasSuffix(g.Statement, " Stream") && strings.HasPrefix(g.Action, "dynamodb:") ||
		g.Action == "sqs:SendMessage"
}

// refused names what a function asked and its role does not allow.
func refused(function string, rights []allowed, asked map[ask]string) []string {
	var found []string
	for a, example := range asked {
		if !slices.ContainsFunc(rights, func(g allowed) bool { return g.covers(a) }) {
			found = append(found, fmt.Sprintf("the %s asks for %s on %s (%s), which its role does not allow", function, a.Action, a.Resource, example))
		}
	}
	slices.Sort(found)
	return found
}

// unused names what a role allows and its function never asked.
func unused(function string, rights []allowed, asked map[ask]string) []string {
	var found []string
	for _, g := range rights {
		used := false
		for a := range asked {
			used = used || g.covers(a)
		}
		if !used && !notByCode(g) {
			found = append(found, fmt.Sprintf("the %s never asks for %s on %s, which %s allows", function, g.Action, g.Resource, g.Statement))
		}
	}
	slices.Sort(found)
	return found
}
