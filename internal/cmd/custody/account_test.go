package main_test

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"custody/internal/localaws/logs"
)

// account is what an AWS account has beside DynamoDB, S3 and Lambda, as far as the tool asks for it: stacks, alarms, one metric,
// secrets and a log, in the wire forms that the SDK of go.mod speaks (the query protocol, RPC v2 CBOR, JSON 1.1). It knows nothing else.
type account struct {
	mu      sync.Mutex
	stacks  map[string]*stackOf
	alarms  map[string]string    // state, by name
	swept   map[string]time.Time // by stack; zero or absent: never
	secrets map[string]string
	denied  map[string]bool // operations that are refused
	logs    *logs.Engine    // with the operator log of withStack
	asked   []string
}

// stackOf is a stack as CloudFormation has it.
type stackOf struct {
	status              string
	outputs, parameters map[string]string
	alarms              []string // logical ids; each alarm's name is the stack's, a dash and the id
}

func newAccount(t *testing.T) (*account, tool) {
	t.Helper()
	a := &account{stacks: map[string]*stackOf{}, alarms: map[string]string{}, swept: map[string]time.Time{}, secrets: map[string]string{}, denied: map[string]bool{},
		logs: logs.New(logs.Options{Groups: []string{operatorGroup}})}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return a, tool{map[string]string{
		"AWS_ENDPOINT_URL_CLOUDFORMATION": server.URL, "AWS_ENDPOINT_URL_CLOUDWATCH": server.URL, "AWS_ENDPOINT_URL_SECRETS_MANAGER": server.URL,
		"AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": server.URL,
		"AWS_REGION":                       "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_MAX_ATTEMPTS": "1",
	}}
}

// change changes the account under its lock.
func (a *account) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	switch {
	case strings.HasPrefix(r.URL.Path, "/service/GraniteServiceVersion20100801/operation/"):
		_, operation, _ := strings.Cut(r.URL.Path, "/operation/")
		a.cloudWatch(w, operation, body)
	case strings.HasPrefix(r.Header.Get("X-Amz-Target"), "Logs_"):
		a.logs.ServeHTTP(w, r)
	case r.Header.Get("X-Amz-Target") == "secretsmanager.GetSecretValue":
		a.secretsManager(w, body)
	default:
		a.cloudFormation(w, r)
	}
}

func (a *account) refuses(operation string) bool {
	a.asked = append(a.asked, operation)
	return a.denied[operation]
}

func (a *account) cloudFormation(w http.ResponseWriter, r *http.Request) {
	operation, name := r.FormValue("Action"), r.FormValue("StackName")
	w.Header().Set("Content-Type", "text/xml")
	stack := a.stacks[name]
	switch {
	case a.refuses(operation):
		queryError(w, http.StatusForbidden, "AccessDenied", "User is not authorized to perform: cloudformation:"+operation)
	case stack == nil:
		queryError(w, http.StatusBadRequest, "ValidationError", "Stack with id "+name+" does not exist")
	case operation == "DescribeStacks":
		fmt.Fprintf(w, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>%s</StackName><StackStatus>%s</StackStatus><Outputs>%s</Outputs>`+
			`<Parameters>%s</Parameters></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
			name, stack.status, members("Output", stack.outputs), members("Parameter", stack.parameters))
	case operation == "ListStackResources":
		stack.page(w, name, r.FormValue("NextToken"))
	default:
		queryError(w, http.StatusBadRequest, "InvalidAction", operation)
	}
}

// page lists two resources at a time, so that every listing has pages; not all of them are alarms.
func (s *stackOf) page(w io.Writer, stack, token string) {
	all := append([]string{"AWS::S3::Bucket Bucket"}, s.alarms...)
	at := 0
	_, _ = fmt.Sscan(token, &at) // no token is the start
	end, next := min(at+2, len(all)), ""
	if end < len(all) {
		next = fmt.Sprintf("<NextToken>%d</NextToken>", end)
	}
	fmt.Fprint(w, `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries>`)
	for _, one := range all[at:end] {
		kind, id, typed := strings.Cut(one, " ")
		if !typed {
			kind, id = "AWS::CloudWatch::Alarm", one
		}
		fmt.Fprintf(w, `<member><LogicalResourceId>%s</LogicalResourceId><PhysicalResourceId>%s-%s</PhysicalResourceId><ResourceType>%s</ResourceType></member>`,
			id, stack, id, kind)
	}
	fmt.Fprintf(w, `</StackResourceSummaries>%s</ListStackResourcesResult></ListStackResourcesResponse>`, next)
}

func members(kind string, of map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(&b, "<member><%[1]sKey>%[2]s</%[1]sKey><%[1]sValue>", kind, key)
		_ = xml.EscapeText(&b, []byte(of[key])) // a builder takes everything
		fmt.Fprintf(&b, "</%sValue></member>", kind)
	}
	return b.String()
}

func queryError(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>`, code, message)
}

func (a *account) cloudWatch(w http.ResponseWriter, operation string, body []byte) {
	w.Header().Set("Content-Type", "application/cbor")
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	asked, err := cbor.Decode(body)
	if err != nil {
		panic(err)
	}
	in := asked.(cbor.Map)
	if a.refuses(operation) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(cbor.Encode(cbor.Map{"__type": cbor.String("com.amazonaws.cloudwatch#AccessDeniedException"), "message": cbor.String("no")}))
		return
	}
	var out cbor.Map
	switch operation {
	case "DescribeAlarms":
		out = a.describeAlarms(in["AlarmNames"].(cbor.List))
	case "GetMetricStatistics":
		out = a.statistics(in)
	default:
		panic("no operation " + operation)
	}
	_, _ = w.Write(cbor.Encode(out))
}

func (a *account) describeAlarms(names cbor.List) cbor.Map {
	if len(names) > 100 {
		panic("more than 100 names")
	}
	found := cbor.List{}
	for _, name := range names {
		if state, there := a.alarms[string(name.(cbor.String))]; there {
			found = append(found, cbor.Map{"AlarmName": name, "StateValue": cbor.String(state), "StateReason": cbor.String("Threshold Crossed")})
		}
	}
	return cbor.Map{"MetricAlarms": found}
}

// statistics knows the one metric of each stack.
func (a *account) statistics(in cbor.Map) cbor.Map {
	of := in["Dimensions"].(cbor.List)[0].(cbor.Map)
	if in["Namespace"] != cbor.String("Custody") || in["MetricName"] != cbor.String("OldestOpenRunAge") || of["Name"] != cbor.String("Stack") {
		return cbor.Map{"Datapoints": cbor.List{}}
	}
	points := cbor.List{}
	start, err := cbor.AsTime(in["StartTime"])
	if err != nil {
		panic(err)
	}
	if at := a.swept[string(of["Value"].(cbor.String))]; !at.Before(start) && !at.IsZero() {
		for _, back := range []time.Duration{2 * time.Minute, 0, time.Minute} { // CloudWatch does not sort
			points = append(points, cbor.Map{"Timestamp": &cbor.Tag{ID: 1, Value: cbor.Float64(at.Add(-back).Unix())}, "Maximum": cbor.Float64(90)})
		}
	}
	return cbor.Map{"Datapoints": points}
}

func (a *account) secretsManager(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	var in struct{ SecretId string }
	if err := json.Unmarshal(body, &in); err != nil {
		panic(err)
	}
	value, there := a.secrets[in.SecretId]
	if a.refuses("GetSecretValue") || !there {
		w.WriteHeader(http.StatusBadRequest)
		code := "ResourceNotFoundException"
		if there {
			code = "AccessDeniedException"
		}
		fmt.Fprintf(w, `{"__type":%q,"message":"no"}`, code)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"Name": in.SecretId, "SecretString": cmp.Or(value, "{}")})
}
