package architecture_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"custody/internal/localaws"
)

// What a mistake with the stack must not be able to take away.
func TestTemplateStoresSurviveTheStack(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for _, id := range []string{"InboxTable", "HoldsTable", "OwnReservationsTable", "KeyringSecret", "ReportsBucket", "ReportsBucketPolicy"} {
		resource := tpl.resource(id)
		if resource["DeletionPolicy"] != "Retain" || resource["UpdateReplacePolicy"] != "Retain" {
			t.Errorf("%s is not retained: %v, %v", id, resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
		}
	}
	tables := tpl.of("AWS::DynamoDB::Table")
	if !slices.Equal(tables, []string{"HoldsTable", "InboxTable", "OwnReservationsTable"}) {
		t.Errorf("tables are %v", tables)
	}
	for _, id := range tables {
		p := tpl.properties(id)
		got := []any{p["BillingMode"], p["DeletionProtectionEnabled"], at(p, "SSESpecification", "SSEEnabled"),
			at(p, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"), at(p, "TimeToLiveSpecification", "Enabled")}
		want := []any{"PAY_PER_REQUEST", true, true, true, true}
		if id == "OwnReservationsTable" {
			want[4] = nil // when a reservation may be forgotten is for the application to say
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: billing, protection, encryption, recovery, expiry (-want +got):\n%s", id, diff)
		}
	}
}

// What the local stack makes for the functions is what the template makes for them: keys, index, stream and time to live.
func TestTemplateTablesAreThoseOfTheLocalStack(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	local := localaws.Tables{Inbox: "InboxTable", Holds: "HoldsTable", Reservations: "OwnReservationsTable"}.All()
	for _, table := range local {
		p := tpl.properties(*table.Input.TableName)
		got := &dynamodb.CreateTableInput{TableName: table.Input.TableName}
		decode(t, object{"AttributeDefinitions": p["AttributeDefinitions"], "KeySchema": p["KeySchema"],
			"GlobalSecondaryIndexes": p["GlobalSecondaryIndexes"], "BillingMode": p["BillingMode"]}, got)
		if view, ok := at(p, "StreamSpecification", "StreamViewType").(string); ok {
			got.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(view)}
		}
		unexported := cmpopts.IgnoreUnexported(dynamodb.CreateTableInput{}, types.AttributeDefinition{}, types.KeySchemaElement{},
			types.GlobalSecondaryIndex{}, types.Projection{}, types.StreamSpecification{})
		if diff := cmp.Diff(table.Input, got, unexported); diff != "" {
			t.Errorf("%s (-local +template):\n%s", *table.Input.TableName, diff)
		}
		if ttl := at(p, "TimeToLiveSpecification", "AttributeName"); ttl != table.TTL && (ttl != nil || table.TTL != "") {
			t.Errorf("%s expires by %v in the template and by %s locally", *table.Input.TableName, ttl, table.TTL)
		}
	}
}

// decode fills the target with the value, by the names that CloudFormation and the API share.
func decode(t *testing.T, value, target any) {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, target); err != nil {
		t.Fatal(err)
	}
}

func TestTemplateDeadLettersAreKeptEncryptedForAsLongAsSQSCan(t *testing.T) {
	t.Parallel()
	want := object{"SqsManagedSseEnabled": true, "MessageRetentionPeriod": 14 * 24 * 3600}
	if diff := cmp.Diff(want, readTemplate(t).properties("DeadLetterQueue")); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
}

// The audit trail says whose objects were deleted: nobody may read it by the way, and nobody write over it unseen.
func TestTemplateReportsAreEncryptedVersionedAndNotPublic(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	want := object{
		"BucketEncryption": object{"ServerSideEncryptionConfiguration": []any{
			object{"ServerSideEncryptionByDefault": object{"SSEAlgorithm": "AES256"}}}},
		"OwnershipControls": object{"Rules": []any{object{"ObjectOwnership": "BucketOwnerEnforced"}}},
		"PublicAccessBlockConfiguration": object{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true,
			"RestrictPublicBuckets": true},
		"VersioningConfiguration": object{"Status": "Enabled"},
	}
	if diff := cmp.Diff(want, tpl.properties("ReportsBucket")); diff != "" {
		t.Errorf("report bucket (-want +got):\n%s", diff)
	}
	wantPolicy := object{"Bucket": object{"Ref": "ReportsBucket"}, "PolicyDocument": object{"Version": "2012-10-17", "Statement": []any{object{
		"Sid": "RefusePlainText", "Effect": "Deny", "Principal": "*", "Action": "s3:*",
		"Resource":  []any{object{"Fn::GetAtt": "ReportsBucket.Arn"}, object{"Fn::Sub": "${ReportsBucket.Arn}/*"}},
		"Condition": object{"Bool": object{"aws:SecureTransport": "false"}},
	}}}}
	if diff := cmp.Diff(wantPolicy, tpl.properties("ReportsBucketPolicy")); diff != "" {
		t.Errorf("report bucket's policy (-want +got):\n%s", diff)
	}
	if condition := tpl.resource("ReportsBucketPolicy")["Condition"]; condition != "MakeReportBucket" {
		t.Errorf("the policy is made under the condition %v", condition)
	}
}

// The producer types the key into its own configuration: nothing in it may need quoting, and it must not be guessable. A change of
// any of it is no repair: CloudFormation makes a new secret version of it, without the keys that are in use.
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
		"AWS::SecretsManager::Secret": "Name", "AWS::S3::Bucket": "BucketName",
	}
	for id := range tpl.Resources {
		property := naming[tpl.resource(id)["Type"].(string)]
		if name := tpl.properties(id)[property]; name != nil {
			t.Errorf("%s has the fixed name %s", id, text(name))
		}
	}
	// What a person has to find, and what an account has one of (dashboards) or a region (queries).
	for _, id := range tpl.of("AWS::Logs::QueryDefinition") {
		if name := text(tpl.properties(id)["Name"]); !strings.HasPrefix(name, "custody/${AWS::StackName}/") {
			t.Errorf("%s is named %s, and not in the stack's folder", id, name)
		}
	}
	for _, id := range tpl.of("AWS::CloudWatch::Dashboard") {
		if name := text(tpl.properties(id)["DashboardName"]); name != "${AWS::StackName}-${AWS::Region}" {
			t.Errorf("%s is named %s, and not after stack and region", id, name)
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
