package architecture_test

import (
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/config"
	"custody/internal/webhook"
)

// fromStack are the settings that no parameter holds as it is, and what the template passes instead.
func fromStack() map[string]string {
	return map[string]string{
		"CUSTODY_STACK":               "${AWS::StackName}",
		"CUSTODY_TABLE":               "${InboxTable}",
		"CUSTODY_HOLDS_TABLE":         "${HoldsTable}",
		"CUSTODY_SIGNING_SECRET":      "${KeyringSecret} | ${SigningSecret}",
		"CUSTODY_SIGNING_KEYS":        noValue, // no stack has its keys in the environment
		"CUSTODY_BUCKET_OWNER":        "${AWS::AccountId} | ${BucketOwner}",
		"CUSTODY_REPORT_BUCKET_OWNER": "${AWS::AccountId} | ${ReportBucketOwner}",
		"CUSTODY_REPORT_BUCKET":       "${ReportsBucket} | ${ReportBucket}",
		// Empty where Commands has no reservation.expire.
		"CUSTODY_RESERVATIONS_TABLE": "${OwnReservationsTable} | ${ReservationsTable} | ",
	}
}

// noValue is a variable that the template names for `sam local`, which hands on no other, and that CloudFormation takes out.
const noValue = "${AWS::NoValue}"

func TestTemplateParametersAreTheSettings(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for _, s := range config.Settings() {
		if !s.Template {
			if tpl.Parameters[s.Parameter()] != nil {
				t.Errorf("%s is a parameter, which %s is not meant to be", s.Parameter(), s.Name)
			}
			continue
		}
		p, _ := tpl.Parameters[s.Parameter()].(object)
		want := object{"Type": "String"}
		if !s.Required {
			want["Default"] = s.Default
		}
		switch {
		case s.Max != 0:
			want["Type"], want["MinValue"], want["MaxValue"] = "Number", fmt.Sprint(s.Min), fmt.Sprint(s.Max)
		case s.Values != nil:
			want["AllowedValues"] = strings.Join(s.Values, " ")
		default:
			want["AllowedPattern"] = s.Pattern
		}
		got := object{}
		for key, value := range p {
			switch key {
			case "Description", "ConstraintDescription":
			case "AllowedValues":
				got[key] = strings.Trim(fmt.Sprint(value), "[]")
			default:
				got[key] = fmt.Sprint(value)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parameter %s (-setting +template):\n%s", s.Parameter(), diff)
		}
	}
}

func TestTemplateHandsEachFunctionItsSettings(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for id, function := range functionIDs() {
		want := map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": noValue, "AWS_ENDPOINT_URL_S3": noValue}
		for _, s := range config.For(config.Function(function)) {
			want[s.Name] = "${" + s.Parameter() + "}"
			if value, special := fromStack()[s.Name]; special {
				want[s.Name] = value
			}
		}
		got := map[string]string{}
		for name, value := range tpl.environment(id) {
			got[name] = text(value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("environment of %s (-want +got):\n%s", id, diff)
		}
	}
}

func TestTemplateParametersExplainThemselves(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for name := range tpl.Parameters {
		p := tpl.Parameters[name].(object)
		if text(p["Description"]) == "" || p["Description"] == nil {
			t.Errorf("%s has no description", name)
		}
		checked := p["AllowedPattern"] != nil || p["MinValue"] != nil
		if p["AllowedValues"] == nil && !checked {
			t.Errorf("%s is not checked", name)
		}
		// CloudFormation prints a pattern otherwise. Its message for a list of values, or a plain range, is good enough.
		if p["AllowedPattern"] != nil && !strings.Contains(text(p["ConstraintDescription"]), name+" ") {
			t.Errorf("%s has no constraint description that names it", name)
		}
		if pattern, ok := p["AllowedPattern"].(string); ok {
			if p["Default"] != nil && !regexp.MustCompile(`\A(?:`+pattern+`)\z`).MatchString(fmt.Sprint(p["Default"])) {
				t.Errorf("the default of %s, %q, is not allowed", name, p["Default"])
			}
			// Whoever puts ^ in front and $ behind has the first and the last branch alone bound by them.
			if parsed, err := syntax.Parse(pattern, syntax.Perl); err != nil || parsed.Op == syntax.OpAlternate {
				t.Errorf("the pattern of %s has branches outside of parentheses, or is none: %v", name, err)
			}
		}
	}
}

// A pattern cannot say how long a duration may be, so who chooses one has to read it where it is asked for.
func TestTemplateParametersNameTheBoundsOfADuration(t *testing.T) {
	t.Parallel()
	tpl, seen := readTemplate(t), 0
	bounds := regexp.MustCompile(`[1-9][0-9]*(h|ms|m|s)\b`)
	for _, s := range config.Settings() {
		if !s.Template || s.Shortest == 0 {
			continue
		}
		seen++
		description, refusal := describe(tpl, s.Parameter()), text(at(tpl.Parameters, s.Parameter(), "ConstraintDescription"))
		for _, bound := range bounds.FindAllString(s.Allowed, -1) {
			d, err := time.ParseDuration(bound)
			if err != nil || d != s.Shortest && d != s.Longest {
				continue
			}
			if !strings.Contains(description, bound) || !strings.Contains(refusal, bound) {
				t.Errorf("%s is allowed %s; its description or its refusal does not name %s", s.Parameter(), s.Allowed, bound)
			}
		}
	}
	if seen == 0 {
		t.Error("no setting is a duration with bounds")
	}
}

// What is about two parameters at once no pattern can say, and a function's start would say it after the deployment.
func TestTemplateRefusesReportsInTheBucketThatIsCleanedUp(t *testing.T) {
	t.Parallel()
	want := object{"ReportsLieElsewhere": []any{
		object{"Fn::Not": []any{object{"Fn::Equals": []any{object{"Ref": "ReportBucket"}, object{"Ref": "Bucket"}}}}},
	}}
	got := object{}
	rules := readTemplate(t).Rules
	for name := range rules {
		var asserted []any
		for _, assertion := range list(at(rules, name, "Assertions")) {
			asserted = append(asserted, at(assertion, "Assert"))
			if text(at(assertion, "AssertDescription")) == "" {
				t.Errorf("%s does not say what is wrong", name)
			}
		}
		got[name] = asserted
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// The console and `sam deploy --guided` show parameters by these groups; one that is in none stands at the end without a label.
func TestTemplateParametersAreGroupedAndLabelled(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	want := slices.Sorted(maps.Keys(tpl.Parameters))
	face := tpl.Metadata["AWS::CloudFormation::Interface"]
	var grouped []string
	for _, group := range list(at(face, "ParameterGroups")) {
		for _, name := range list(at(group, "Parameters")) {
			grouped = append(grouped, text(name))
		}
	}
	slices.Sort(grouped)
	if diff := cmp.Diff(want, grouped); diff != "" {
		t.Errorf("grouped parameters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(at(face, "ParameterLabels").(object)))); diff != "" {
		t.Errorf("labelled parameters (-want +got):\n%s", diff)
	}
}

// The build takes the architecture from the template's default, and a deployment from the profile.
func TestProfilesAgreeWithTheTemplate(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	profiles := regexp.MustCompile(`(?m)^parameter_overrides = \[(.*)\]$`).FindAllStringSubmatch(readRoot(t, "samconfig.toml"), -1)
	if len(profiles) != 2 {
		t.Fatalf("samconfig.toml has %d profiles with parameters, want trial and production", len(profiles))
	}
	for _, profile := range profiles {
		given := map[string]string{}
		for _, entry := range regexp.MustCompile(`"([A-Za-z]+)=([^"]*)"`).FindAllStringSubmatch(profile[1], -1) {
			given[entry[1]] = entry[2]
			p, known := tpl.Parameters[entry[1]].(object)
			if values := list(p["AllowedValues"]); !known || values != nil && !slices.Contains(strings.Fields(strings.Trim(fmt.Sprint(values), "[]")), entry[2]) {
				t.Errorf("samconfig.toml sets %s to %s, which the template does not allow", entry[1], entry[2])
			}
		}
		if want := text(at(tpl.Parameters, "Architecture", "Default")); given["Architecture"] != want {
			t.Errorf("a profile deploys for %q, but what is built is for %s", given["Architecture"], want)
		}
	}
}

func TestTemplateTellsTheVersionOfTheChangelog(t *testing.T) {
	t.Parallel()
	newest := regexp.MustCompile(`(?m)^## \[([^\]]+)\]`).FindStringSubmatch(readRoot(t, "CHANGELOG.md"))
	if newest == nil {
		t.Fatal("CHANGELOG.md has no heading of the form ## [1.2.3]")
	}
	if got := text(at(readTemplate(t).Outputs, "Version", "Value")); got != newest[1] {
		t.Errorf("the template says version %s, the changelog %s", got, newest[1])
	}
}

// Settings and webhook may not import each other, and both say how large a body may be at most.
func TestTheLargestBodyIsTheSameForSettingsAndWebhook(t *testing.T) {
	t.Parallel()
	setting, _ := config.Lookup("CUSTODY_MAX_BODY_BYTES")
	if setting.Max != webhook.MaxBodyCap {
		t.Errorf("the setting ends at %d, the webhook takes %d", setting.Max, webhook.MaxBodyCap)
	}
}
