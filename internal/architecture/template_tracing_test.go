package architecture_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tracing is off unless it is asked for, and then each function may write traces and nothing more. The statement stands in
// the role itself: a policy beside it may come after the function, which Lambda refuses while its role cannot write traces.
func TestTemplateTracesOnlyWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	if got := text(at(tpl.Parameters, "Tracing", "Default")); got != "false" {
		t.Errorf("tracing is %s by default", got)
	}
	condition := object{"Fn::Equals": []any{object{"Ref": "Tracing"}, "true"}}
	if diff := cmp.Diff(condition, tpl.Conditions["Trace"]); diff != "" {
		t.Errorf("the condition (-want +got):\n%s", diff)
	}
	want := object{"PolicyName": "tracing", "PolicyDocument": object{"Version": "2012-10-17", "Statement": []any{object{
		"Sid": "Trace", "Effect": "Allow", "Action": []any{"xray:PutTelemetryRecords", "xray:PutTraceSegments"}, "Resource": "*",
	}}}}
	traced := 0
	for _, role := range tpl.of("AWS::IAM::Role") {
		for _, entry := range list(tpl.properties(role)["Policies"]) {
			if !mentions(entry, "xray:") {
				continue
			}
			traced++
			if diff := cmp.Diff(object{"Fn::If": []any{"Trace", want, object{"Ref": "AWS::NoValue"}}}, entry); diff != "" {
				t.Errorf("%s may trace otherwise than agreed (-want +got):\n%s", role, diff)
			}
		}
	}
	if functions := len(tpl.of("AWS::Serverless::Function")); traced != functions {
		t.Errorf("%d roles may trace, and there are %d functions", traced, functions)
	}
	for _, id := range tpl.of("AWS::IAM::RolePolicy") {
		if mentions(tpl.properties(id), "xray:") {
			t.Errorf("%s may trace, and does not ask whether that is wanted", id)
		}
	}
}

// mentions reports whether a string anywhere in the value has the text.
func mentions(value any, text string) bool {
	switch v := value.(type) {
	case object:
		for _, below := range v {
			if mentions(below, text) {
				return true
			}
		}
	case []any:
		for _, below := range v {
			if mentions(below, text) {
				return true
			}
		}
	case string:
		return strings.Contains(v, text)
	}
	return false
}
