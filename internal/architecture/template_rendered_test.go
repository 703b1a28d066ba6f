package architecture_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"custody/internal/localaws/lambda"
)

// rendered is the template as CloudFormation makes a stack of it: parameters filled in, conditions decided, references followed.
// What it does not know is an error: a function of CloudFormation that is passed over would grant or watch something else.
type rendered struct {
	t     *testing.T
	tpl   template
	given map[string]string // parameters; the others have their defaults
	names map[string]string // what resources are called in the account; the others have their logical ids
}

// stackName is that of every rendered stack.
const stackName = "custody"

// present reports whether the resource is made at all.
func (r rendered) present(id string) bool {
	condition := r.tpl.resource(id)["Condition"]
	return condition == nil || r.holds(object{"Condition": condition})
}

// text is a value that must be a text or a number.
func (r rendered) text(v any) string {
	r.t.Helper()
	switch v := r.value(v).(type) {
	case string, int, float64, bool:
		return fmt.Sprint(v)
	default:
		r.t.Fatalf("%v is no text", v)
		return ""
	}
}

// value follows a value; nil is AWS::NoValue.
func (r rendered) value(v any) any {
	r.t.Helper()
	switch v := v.(type) {
	case []any:
		items := []any{}
		for _, item := range v {
			if item = r.value(item); item != nil {
				items = append(items, item)
			}
		}
		return items
	case object:
		for name, arguments := range v {
			if len(v) == 1 && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
				return r.apply(name, arguments)
			}
		}
		members := object{}
		for name, member := range v {
			if member = r.value(member); member != nil {
				members[name] = member
			}
		}
		return members
	}
	return v
}

// apply is one of CloudFormation's functions.
func (r rendered) apply(function string, arguments any) any {
	r.t.Helper()
	several := list(arguments)
	switch function {
	case "Ref":
		return r.ref(arguments.(string))
	case "Fn::GetAtt":
		id, attribute, _ := strings.Cut(arguments.(string), ".")
		return r.attribute(id, attribute)
	case "Fn::Sub":
		return r.sub(several)
	case "Fn::If":
		if r.holds(object{"Condition": several[0]}) {
			return r.value(several[1])
		}
		return r.value(several[2])
	case "Fn::FindInMap":
		return at(r.tpl.Mappings, r.text(several[0]), r.text(several[1]), r.text(several[2]))
	case "Fn::Split":
		parts := []any{}
		for part := range strings.SplitSeq(r.text(several[1]), r.text(several[0])) {
			parts = append(parts, part)
		}
		return parts
	case "Fn::Join":
		var parts []string
		for _, part := range r.value(several[1]).([]any) {
			parts = append(parts, r.text(part))
		}
		return strings.Join(parts, r.text(several[0]))
	}
	r.t.Fatalf("the function %s is not known here", function)
	return nil
}

// holds decides a condition.
func (r rendered) holds(condition any) bool {
	r.t.Helper()
	for name, arguments := range condition.(object) {
		several := list(arguments)
		switch name {
		case "Condition":
			return r.holds(r.tpl.Conditions[arguments.(string)])
		case "Fn::Equals":
			return r.text(several[0]) == r.text(several[1])
		case "Fn::Not":
			return !r.holds(several[0])
		case "Fn::And":
			for _, each := range several {
				if !r.holds(each) {
					return false
				}
			}
			return true
		}
	}
	r.t.Fatalf("the condition %v is not known here", condition)
	return false
}

var substitution = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)

func (r rendered) sub(arguments []any) string {
	r.t.Helper()
	variables := object{}
	if len(arguments) == 2 {
		variables = arguments[1].(object)
	}
	return substitution.ReplaceAllStringFunc(arguments[0].(string), func(match string) string {
		name := strings.Trim(match, "${}")
		if v, ok := variables[name]; ok {
			return r.text(v)
		}
		if id, attribute, found := strings.Cut(name, "."); found {
			return r.attribute(id, attribute)
		}
		return r.text(r.ref(name))
	})
}

func (r rendered) ref(name string) any {
	r.t.Helper()
	pseudo := map[string]any{
		"AWS::StackName": stackName, "AWS::Region": lambda.Region, "AWS::AccountId": lambda.Account, "AWS::Partition": "aws", "AWS::NoValue": nil,
	}
	if v, ok := pseudo[name]; ok {
		return v
	}
	if p, ok := r.tpl.Parameters[name].(object); ok {
		if v, given := r.given[name]; given {
			return v
		}
		if p["Default"] == nil {
			r.t.Fatalf("the parameter %s is not given and has no default", name)
		}
		return p["Default"]
	}
	return r.attribute(name, "")
}

// attributes are what CloudFormation's resource reference promises of each type ("Return values"), "" for Ref.
func attributes() map[string]map[string]string {
	const here = ":" + lambda.Region + ":" + lambda.Account + ":"
	return map[string]map[string]string{
		"AWS::DynamoDB::Table": {"": "%s", "Arn": "arn:aws:dynamodb" + here + "table/%s",
			"StreamArn": "arn:aws:dynamodb" + here + "table/%s/stream/2026-11-30T00:00:00.000"},
		"AWS::IAM::Role":              {"": "%s", "Arn": "arn:aws:iam::" + lambda.Account + ":role/%s"},
		"AWS::Logs::LogGroup":         {"": "%s", "Arn": "arn:aws:logs" + here + "log-group:%s:*"},
		"AWS::S3::Bucket":             {"": "%s", "Arn": "arn:aws:s3:::%s"},
		"AWS::SecretsManager::Secret": {"": "arn:aws:secretsmanager" + here + "secret:%s-a1b2c3"},
		"AWS::Serverless::Function":   {"": "%s", "Arn": "arn:aws:lambda" + here + "function:%s"},
		"AWS::SQS::Queue":             {"": "https://sqs." + lambda.Region + ".amazonaws.com/" + lambda.Account + "/%s", "Arn": "arn:aws:sqs" + here + "%s", "QueueName": "%s"},
	}
}

func (r rendered) attribute(id, name string) string {
	r.t.Helper()
	form, known := attributes()[fmt.Sprint(r.tpl.resource(id)["Type"])][name]
	if !known || !r.present(id) {
		r.t.Fatalf("%s.%s is referred to, which is not known here or not made", id, name)
	}
	if called, ok := r.names[id]; ok {
		id = called
	}
	return fmt.Sprintf(form, id)
}
