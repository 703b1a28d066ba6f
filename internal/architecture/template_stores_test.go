package architecture_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a mistake with the stack must not be able to take away.
func TestTemplateStoresSurviveTheStack(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for _, id := range []string{"InboxTable", "HoldsTable", "KeyringSecret"} {
		resource := tpl.resource(id)
		if resource["DeletionPolicy"] != "Retain" || resource["UpdateReplacePolicy"] != "Retain" {
			t.Errorf("%s is not retained: %v, %v", id, resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
		}
	}
	tables := tpl.of("AWS::DynamoDB::Table")
	if !slices.Equal(tables, []string{"HoldsTable", "InboxTable"}) {
		t.Errorf("tables are %v", tables)
	}
	for _, id := range tables {
		p := tpl.properties(id)
		got := []any{p["BillingMode"], p["DeletionProtectionEnabled"], at(p, "SSESpecification", "SSEEnabled"),
			at(p, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), at(p, "TimeToLiveSpecification", "Enabled")}
		if diff := cmp.Diff([]any{"PAY_PER_REQUEST", true, true, true, true}, got); diff != "" {
			t.Errorf("%s: billing, protection, encryption, recovery, expiry (-want +got):\n%s", id, diff)
		}
	}
}

func TestTemplateTablesHaveTheirKeysAndIndex(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	inbox, holds := tpl.properties("InboxTable"), tpl.properties("HoldsTable")
	key := func(name, kind string) any { return object{"AttributeName": name, "KeyType": kind} }
	index := object{"IndexName": "open", "KeySchema": []any{key("open", "HASH"), key("open_since", "RANGE")},
		"Projection": object{"ProjectionType": "INCLUDE", "NonKeyAttributes": []any{"state", "attempts", "lease_expires_at", "wake",
			"wake_at", "wake_count", "next_attempt_at", "scope", "received_at"}}}
	want := []any{
		[]any{key("pk", "HASH")}, []any{index}, object{"StreamViewType": "NEW_AND_OLD_IMAGES"}, "ttl",
		[]any{key("scope", "HASH"), key("hold_id", "RANGE")}, nil, nil, "expires_at",
	}
	got := []any{
		inbox["KeySchema"], inbox["GlobalSecondaryIndexes"], inbox["StreamSpecification"], at(inbox, "TimeToLiveSpecification", "AttributeName"),
		holds["KeySchema"], holds["GlobalSecondaryIndexes"], holds["StreamSpecification"], at(holds, "TimeToLiveSpecification", "AttributeName"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func TestTemplateDeadLettersAreKeptEncryptedForAsLongAsSQSCan(t *testing.T) {
	t.Parallel()
	want := object{"SqsManagedSseEnabled": true, "MessageRetentionPeriod": 14 * 24 * 3600}
	if diff := cmp.Diff(want, readTemplate(t).properties("DeadLetterQueue")); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
}

// The producer types the key into its own configuration: nothing in it may need quoting, and it must not be guessable.
func TestTemplateMakesASigningKey(t *testing.T) {
	t.Parallel()
	want := object{"SecretStringTemplate": "{}", "GenerateStringKey": "k1", "PasswordLength": 64, "ExcludePunctuation": true}
	if diff := cmp.Diff(want, readTemplate(t).properties("KeyringSecret")["GenerateSecretString"]); diff != "" {
		t.Errorf("generated keyring (-want +got):\n%s", diff)
	}
}

// Two stacks of one account must not meet at a name.
func TestTemplateNamesNothingByItself(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	naming := map[string]string{
		"AWS::Serverless::Function": "FunctionName", "AWS::DynamoDB::Table": "TableName", "AWS::SQS::Queue": "QueueName",
		"AWS::IAM::Role": "RoleName", "AWS::CloudWatch::Alarm": "AlarmName", "AWS::Scheduler::Schedule": "Name",
		"AWS::SecretsManager::Secret": "Name",
	}
	for id := range tpl.Resources {
		property := naming[tpl.resource(id)["Type"].(string)]
		if name := tpl.properties(id)[property]; name != nil {
			t.Errorf("%s has the fixed name %s", id, text(name))
		}
	}
	for _, id := range tpl.of("AWS::Logs::LogGroup") {
		if name := text(tpl.properties(id)["LogGroupName"]); !strings.Contains(name, "${AWS::StackName}") {
			t.Errorf("%s is named %s, without the stack's name", id, name)
		}
		if text(tpl.properties(id)["RetentionInDays"]) != "${LogRetentionDays}" {
			t.Errorf("%s keeps its logs for ever", id)
		}
	}
}
