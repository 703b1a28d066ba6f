package architecture_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
)

func functionIDs() map[string]string {
	return map[string]string{"WebhookFunction": "webhook", "CleanupFunction": "cleanup", "SweeperFunction": "sweeper"}
}

// One name in all places: folder, package, logical id, make target (case 70).
func TestTemplateFunctionsAreTheFoldersAndTheMakeTargets(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	makefile := readRoot(t, "Makefile")
	var folders []string
	for id, name := range functionIDs() {
		folders = append(folders, name)
		if at(tpl.resource(id), "Metadata", "BuildMethod") != "makefile" {
			t.Errorf("%s is not built by the Makefile", id)
		}
		target := regexp.MustCompile(`(?m)^build-` + id + `:\n\t.*\$\(LAMBDA_BUILD\) -o "\$\(ARTIFACTS_DIR\)/bootstrap" ./functions/` + name + `$`)
		if !target.MatchString(makefile) {
			t.Errorf("the Makefile has no target build-%s that builds ./functions/%s into $(ARTIFACTS_DIR)/bootstrap", id, name)
		}
	}
	slices.Sort(folders)
	if diff := cmp.Diff([]string{"CleanupFunction", "SweeperFunction", "WebhookFunction"}, tpl.of("AWS::Serverless::Function")); diff != "" {
		t.Errorf("functions of the template (-want +got):\n%s", diff)
	}
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, folder := range mains {
		if _, err := os.Stat(filepath.Join(folder, "main.go")); err != nil {
			t.Errorf("a function without a main: %v", err)
		}
		got = append(got, filepath.Base(folder))
	}
	if diff := cmp.Diff(folders, got); diff != "" {
		t.Errorf("folders below functions (-want +got):\n%s", diff)
	}
}

func TestTemplateFunctionsRunAsAgreed(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	globals := tpl.Globals["Function"].(object)
	wantGlobals := object{"Runtime": "provided.al2023", "Handler": "bootstrap", "CodeUri": ".",
		"Architectures": []any{object{"Ref": "Architecture"}}, "Environment": globals["Environment"],
		"Tracing": object{"Fn::If": []any{"Trace", "Active", "PassThrough"}}}
	if diff := cmp.Diff(wantGlobals, globals); diff != "" {
		t.Errorf("what all functions share (-want +got):\n%s", diff)
	}
	for _, local := range localaws.Functions() {
		title := strings.ToUpper(local.Name[:1]) + local.Name[1:]
		p := tpl.properties(local.LogicalID)
		want := object{
			"Role":    object{"Fn::GetAtt": title + "Role.Arn"},
			"Timeout": int(local.Timeout.Seconds()),
			// Unset by default: an account with a small limit could not deploy.
			"ReservedConcurrentExecutions": object{"Fn::If": []any{"Cap" + title, object{"Ref": title + "Concurrency"}, object{"Ref": "AWS::NoValue"}}},
			"MemorySize":                   object{"Ref": title + "Memory"},
			"LoggingConfig":                object{"LogGroup": object{"Ref": title + "LogGroup"}, "LogFormat": "JSON", "SystemLogLevel": "INFO", "ApplicationLogLevel": object{"Ref": "LogLevel"}},
		}
		if local.Name == "cleanup" {
			want["RecursiveLoop"] = "Allow" // it writes the table that triggers it, and is meant to
		}
		got := maps.Clone(p)
		for _, elsewhere := range []string{"Description", "Environment"} {
			delete(got, elsewhere)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", local.LogicalID, diff)
		}
		if memory := at(tpl.Parameters, title+"Memory", "Default"); memory != local.Memory {
			t.Errorf("%s has %v MB, locally %d", title, memory, local.Memory)
		}
		if reserved := at(tpl.Parameters, title+"Concurrency", "Default"); reserved != "" {
			t.Errorf("%s reserves %v executions by default", title, reserved)
		}
		unset := object{"Fn::Not": []any{object{"Fn::Equals": []any{object{"Ref": title + "Concurrency"}, ""}}}}
		if diff := cmp.Diff(unset, tpl.Conditions["Cap"+title]); diff != "" {
			t.Errorf("the condition Cap%s (-want +got):\n%s", title, diff)
		}
	}
}

// A public function URL takes two permissions, and the second one must not open the Invoke API (case 68).
func TestTemplateURLIsPublicByBothPermissions(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	wantURL := object{"TargetFunctionArn": object{"Fn::GetAtt": "WebhookFunction.Arn"}, "AuthType": "NONE", "InvokeMode": "BUFFERED"}
	var urls, permissions []object
	for _, id := range tpl.of("AWS::Lambda::Url") {
		urls = append(urls, tpl.properties(id))
	}
	if diff := cmp.Diff([]object{wantURL}, urls); diff != "" {
		t.Errorf("function URLs (-want +got):\n%s", diff)
	}
	for _, id := range tpl.of("AWS::Lambda::Permission") {
		permissions = append(permissions, tpl.properties(id))
	}
	slices.SortFunc(permissions, func(a, b object) int { return strings.Compare(text(a["Action"]), text(b["Action"])) })
	webhook := object{"Ref": "WebhookFunction"}
	want := []object{
		{"FunctionName": webhook, "Principal": "*", "Action": "lambda:InvokeFunction", "InvokedViaFunctionUrl": true},
		{"FunctionName": webhook, "Principal": "*", "Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "NONE"},
	}
	if diff := cmp.Diff(want, permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

// Everything that keeps one bad record from blocking its shard, or a good one from being lost, is set (case 69), and to what
// the local stack works with.
func TestTemplateMappingIsThatOfTheLocalStack(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	if ids := tpl.of("AWS::Lambda::EventSourceMapping"); !slices.Equal(ids, []string{"CleanupMapping"}) {
		t.Fatalf("event source mappings are %v", ids)
	}
	p := tpl.properties("CleanupMapping")
	local := lambda.DefaultMapping()
	var patterns, types []any
	for _, pattern := range local.FilterPatterns {
		patterns = append(patterns, object{"Pattern": pattern})
	}
	for _, kind := range local.FunctionResponseTypes {
		types = append(types, kind)
	}
	want := object{
		"EventSourceArn":             object{"Fn::GetAtt": "InboxTable.StreamArn"},
		"FunctionName":               object{"Fn::GetAtt": "CleanupFunction.Arn"},
		"StartingPosition":           local.StartingPosition,
		"BatchSize":                  local.BatchSize,
		"ParallelizationFactor":      local.ParallelizationFactor,
		"FilterCriteria":             object{"Filters": patterns},
		"MaximumRetryAttempts":       local.MaximumRetryAttempts,
		"MaximumRecordAgeInSeconds":  local.MaximumRecordAgeInSeconds,
		"BisectBatchOnFunctionError": local.BisectBatchOnFunctionError,
		"FunctionResponseTypes":      types,
		"DestinationConfig":          object{"OnFailure": object{"Destination": object{"Fn::GetAtt": "DeadLetterQueue.Arn"}}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("mapping (-want +got):\n%s", diff)
	}
	if local.StartingPosition != "TRIM_HORIZON" || local.MaximumRetryAttempts < 0 || local.MaximumRecordAgeInSeconds != 86400 ||
		len(local.FilterPatterns) == 0 || !slices.Contains(local.FunctionResponseTypes, "ReportBatchItemFailures") {
		t.Errorf("the mapping of both leaves something open: %+v", local)
	}
}

func TestTemplateScheduleSweepsEveryMinuteAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	p := tpl.properties("SweeperSchedule")
	got := []string{text(p["ScheduleExpression"]), text(at(p, "Target", "Arn")), text(at(p, "Target", "RoleArn")),
		text(at(p, "Target", "RetryPolicy", "MaximumRetryAttempts")), text(tpl.properties("SweeperInvokeConfig")["MaximumRetryAttempts"])}
	want := []string{"rate(1 minute)", "${SweeperFunction.Arn}", "${SweeperScheduleRole.Arn}", "0", "0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schedule (-want +got):\n%s", diff)
	}
}
