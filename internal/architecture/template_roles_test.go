package architecture_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grants are who may do what, a line for each action and resource.
type grants map[string][]string

// namedReservations is a reservations table that the stack does not make.
const namedReservations = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ReservationsTable}"

// This is the whole of it. A line more in a role is a line more here, where a reviewer sees it.
func wantGrants() grants {
	return grants{
		"WebhookRole": {
			"dynamodb:ConditionCheckItem ${OwnReservationsTable.Arn} | " + namedReservations,
			"dynamodb:PutItem ${InboxTable.Arn}",
			"dynamodb:UpdateItem ${OwnReservationsTable.Arn} | " + namedReservations,
			"logs:CreateLogStream ${WebhookLogGroup.Arn}",
			"logs:PutLogEvents ${WebhookLogGroup.Arn}",
			"secretsmanager:GetSecretValue ${KeyringSecret} | ${SigningSecret}",
			"xray:PutTelemetryRecords *",
			"xray:PutTraceSegments *",
		},
		"CleanupRole": {
			"dynamodb:DescribeStream ${InboxTable.StreamArn}",
			"dynamodb:GetRecords ${InboxTable.StreamArn}",
			"dynamodb:GetShardIterator ${InboxTable.StreamArn}",
			"dynamodb:ListStreams ${InboxTable.StreamArn}",
			"dynamodb:Query ${HoldsTable.Arn}",
			"dynamodb:UpdateItem ${InboxTable.Arn}",
			"logs:CreateLogStream ${CleanupLogGroup.Arn}",
			"logs:PutLogEvents ${CleanupLogGroup.Arn}",
			"s3:DeleteObjectVersion arn:${AWS::Partition}:s3:::${Bucket}/*",
			"s3:GetBucketObjectLockConfiguration arn:${AWS::Partition}:s3:::${Bucket}",
			"s3:GetBucketVersioning arn:${AWS::Partition}:s3:::${Bucket}",
			"s3:GetObjectLegalHold arn:${AWS::Partition}:s3:::${Bucket}/*",
			"s3:GetObjectRetention arn:${AWS::Partition}:s3:::${Bucket}/*",
			"s3:GetObjectVersionTagging arn:${AWS::Partition}:s3:::${Bucket}/*",
			"s3:ListBucket arn:${AWS::Partition}:s3:::${Bucket}",
			"s3:ListBucketVersions arn:${AWS::Partition}:s3:::${Bucket}",
			"s3:PutObject ${ReportsBucket.Arn}/custody/* | arn:${AWS::Partition}:s3:::${ReportBucket}/custody/*",
			"sqs:SendMessage ${DeadLetterQueue.Arn}",
			"xray:PutTelemetryRecords *",
			"xray:PutTraceSegments *",
		},
		"SweeperRole": {
			"dynamodb:Query ${InboxTable.Arn}/index/open",
			"dynamodb:Query ${OwnReservationsTable.Arn}/index/status-expires_at | " + namedReservations + "/index/status-expires_at",
			"dynamodb:UpdateItem ${InboxTable.Arn}",
			"logs:CreateLogStream ${SweeperLogGroup.Arn}",
			"logs:PutLogEvents ${SweeperLogGroup.Arn}",
			"xray:PutTelemetryRecords *",
			"xray:PutTraceSegments *",
		},
		"SweeperScheduleRole": {
			"lambda:InvokeFunction ${SweeperFunction.Arn}",
		},
	}
}

func TestTemplateRolesGrantExactlyThis(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(wantGrants(), readGrants(t, readTemplate(t))); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

// withoutResource are the actions that AWS grants for * or not at all (service authorization reference, AWS X-Ray: neither has a
// resource type). They write traces, and only where Tracing asks for them.
func withoutResource() []string { return []string{"xray:PutTelemetryRecords", "xray:PutTraceSegments"} }

// The rules that no change of the list above may break (case 71).
func TestTemplateRolesNeverGrant(t *testing.T) {
	t.Parallel()
	granted := readGrants(t, readTemplate(t))
	for name, test := range map[string]struct {
		roles     []string // none: all
		forbidden func(action, resource string) bool
	}{
		"an action with a wildcard": {nil, func(action, _ string) bool { return strings.Contains(action, "*") }},
		"a resource with a wildcard, save the objects of the one bucket, the reports, and what has no resource": {nil, func(action, resource string) bool {
			if slices.Contains(withoutResource(), action) {
				return false
			}
			for one := range strings.SplitSeq(resource, " | ") {
				rest := strings.TrimSuffix(one, ":s3:::${Bucket}/*")
				if action == "s3:PutObject" {
					rest = strings.TrimSuffix(rest, "/custody/*")
				}
				if strings.Contains(rest, "*") {
					return true
				}
			}
			return false
		}},
		"a write to the bucket that is cleaned up": {nil, func(action, resource string) bool {
			return action == "s3:PutObject" && strings.Contains(resource, "${Bucket}")
		}},
		"a delete that needs no version id": {nil, func(action, _ string) bool { return action == "s3:DeleteObject" }},
		"a way around Object Lock": {nil, func(action, _ string) bool {
			return strings.Contains(action, "BypassGovernance") || strings.HasPrefix(action, "s3:Put") && action != "s3:PutObject"
		}},
		"S3 to the webhook":   {[]string{"WebhookRole"}, func(action, _ string) bool { return strings.HasPrefix(action, "s3:") }},
		"S3 to the sweeper":   {[]string{"SweeperRole"}, func(action, _ string) bool { return strings.HasPrefix(action, "s3:") }},
		"a delete of an item": {nil, func(action, _ string) bool { return action == "dynamodb:DeleteItem" }},
		"a write to the holds": {nil, func(action, resource string) bool {
			return strings.Contains(resource, "HoldsTable") && action != "dynamodb:Query"
		}},
		"the application's reservations to the cleanup": {[]string{"CleanupRole"},
			func(_, resource string) bool { return strings.Contains(resource, "ReservationsTable") }},
		"the keys to another than the webhook": {[]string{"CleanupRole", "SweeperRole", "SweeperScheduleRole"},
			func(action, _ string) bool { return strings.HasPrefix(action, "secretsmanager:") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for role, lines := range granted {
				for _, line := range lines {
					action, resource, _ := strings.Cut(line, " ")
					if (test.roles == nil || slices.Contains(test.roles, role)) && test.forbidden(action, resource) {
						t.Errorf("%s grants %s", role, line)
					}
				}
			}
		})
	}
}

// What can grant something and is not a role's inline policy does not occur, so the list of grants is complete.
func TestTemplateHasNoOtherGrants(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for id := range tpl.Resources {
		switch kind := tpl.resource(id)["Type"].(string); {
		// Looked at by tests of their own.
		case kind == "AWS::IAM::Role", kind == "AWS::IAM::RolePolicy", kind == "AWS::Lambda::Permission":
		case kind == "AWS::S3::BucketPolicy":
			for _, statement := range list(at(tpl.properties(id)["PolicyDocument"], "Statement")) {
				if at(statement, "Effect") != "Deny" {
					t.Errorf("%s does more than refuse: %v", id, statement)
				}
			}
		case strings.HasPrefix(kind, "AWS::IAM::"), strings.HasSuffix(kind, "Policy"), kind == "AWS::Serverless::Connector":
			t.Errorf("%s is a %s", id, kind)
		}
		for _, property := range []string{"ManagedPolicyArns", "PermissionsBoundary", "ResourcePolicy"} {
			if value := tpl.properties(id)[property]; value != nil {
				t.Errorf("%s has %s", id, property)
			}
		}
	}
	for _, id := range append(tpl.of("AWS::Serverless::Function"), "Globals") {
		properties := tpl.properties(id)
		if id == "Globals" {
			properties = tpl.Globals["Function"].(object)
		}
		// From each of these SAM makes policies, permissions or a whole role.
		for _, property := range []string{"Policies", "Events", "FunctionUrlConfig", "DeadLetterQueue", "EventInvokeConfig", "VpcConfig"} {
			if properties[property] != nil {
				t.Errorf("%s has %s", id, property)
			}
		}
	}
}

func TestTemplateRolesTrustOneServiceEach(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	want := map[string]string{
		"WebhookRole": "lambda.amazonaws.com", "CleanupRole": "lambda.amazonaws.com", "SweeperRole": "lambda.amazonaws.com",
		"SweeperScheduleRole": "scheduler.amazonaws.com",
	}
	got := map[string]string{}
	for _, role := range tpl.of("AWS::IAM::Role") {
		for _, statement := range list(at(tpl.properties(role)["AssumeRolePolicyDocument"], "Statement")) {
			got[role] += text(at(statement, "Principal", "Service"))
			account := object{"StringEquals": object{"aws:SourceAccount": object{"Ref": "AWS::AccountId"}}}
			if condition := at(statement, "Condition"); role == "SweeperScheduleRole" && !cmp.Equal(condition, any(account)) {
				t.Errorf("%s can be borrowed by another account's schedule: its condition is %v", role, condition)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trusted services (-want +got):\n%s", diff)
	}
}

func readGrants(t *testing.T, tpl template) grants {
	t.Helper()
	all := grants{}
	for _, role := range tpl.of("AWS::IAM::Role") {
		for _, entry := range list(tpl.properties(role)["Policies"]) {
			for _, policy := range branches(entry) {
				for _, statement := range list(at(policy, "PolicyDocument", "Statement")) {
					all[role] = append(all[role], readStatement(t, role, statement.(object))...)
				}
			}
		}
	}
	for _, id := range tpl.of("AWS::IAM::RolePolicy") {
		role := text(tpl.properties(id)["RoleName"])
		role = strings.Trim(role, "${}")
		for _, statement := range list(at(tpl.properties(id), "PolicyDocument", "Statement")) {
			all[role] = append(all[role], readStatement(t, id, statement.(object))...)
		}
	}
	for role := range all {
		slices.Sort(all[role])
	}
	return all
}

func readStatement(t *testing.T, role string, statement object) []string {
	t.Helper()
	for key := range statement {
		if !slices.Contains([]string{"Sid", "Effect", "Action", "Resource", "Condition"}, key) {
			t.Errorf("%s has a statement with %s", role, key) // NotAction and the like grant what nobody listed
		}
	}
	if statement["Effect"] != "Allow" {
		t.Errorf("%s has a statement with the effect %v", role, statement["Effect"])
	}
	var lines []string
	for _, action := range list(statement["Action"]) {
		for _, resource := range list(statement["Resource"]) {
			lines = append(lines, text(action)+" "+text(resource))
		}
	}
	return lines
}
