package dynamodb_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"

	"custody/internal/localaws/dynamodb"
)

// What follows is the local engine's own promise, and no other engine's: what it does not implement it refuses by name.
// Others implement more, or ignore what they do not know.
func local(t *testing.T) *endpoint {
	t.Helper()
	at := connect(t)
	if at.engine == nil {
		t.Skip("only the local engine promises to refuse by name what it does not implement")
	}
	return at
}

func TestOperationsThatAreNotImplementedAreRefusedByName(t *testing.T) {
	t.Parallel()
	at := local(t)
	table := at.inboxTable(t)
	calls := map[string]func() error{
		"UpdateTable": func() error {
			_, err := at.items.UpdateTable(t.Context(), &sdk.UpdateTableInput{TableName: &table, DeletionProtectionEnabled: aws.Bool(true)})
			return err
		},
		"ExecuteStatement": func() error {
			_, err := at.items.ExecuteStatement(t.Context(), &sdk.ExecuteStatementInput{Statement: aws.String("SELECT 1")})
			return err
		},
		"DescribeContinuousBackups": func() error {
			_, err := at.items.DescribeContinuousBackups(t.Context(), &sdk.DescribeContinuousBackupsInput{TableName: &table})
			return err
		},
	}
	for name, call := range calls {
		at.wantCode(t, call(), "UnknownOperationException", `"`+name+`" is not implemented`)
	}
}

func TestParametersThatAreNotImplementedAreRefusedByName(t *testing.T) {
	t.Parallel()
	at := local(t)
	table := at.inboxTable(t)
	calls := map[string]func() error{
		`"Expected"`: func() error {
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: key("k"),
				Expected: map[string]types.ExpectedAttributeValue{"pk": {Exists: aws.Bool(false)}}})
			return err
		},
		`"AttributeUpdates"`: func() error {
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("k"),
				AttributeUpdates: map[string]types.AttributeValueUpdate{"a": {Value: num("1")}}})
			return err
		},
		`"KeyConditions"`: func() error {
			_, err := at.items.Query(t.Context(), &sdk.QueryInput{TableName: &table,
				KeyConditions: map[string]types.Condition{"pk": {ComparisonOperator: types.ComparisonOperatorEq, AttributeValueList: []types.AttributeValue{str("k")}}}})
			return err
		},
		`Segment"`: func() error {
			_, err := at.items.Scan(t.Context(), &sdk.ScanInput{TableName: &table, TotalSegments: aws.Int32(2), Segment: aws.Int32(0)})
			return err
		},
		"ReturnConsumedCapacity=TOTAL": func() error {
			_, err := at.items.GetItem(t.Context(), &sdk.GetItemInput{TableName: &table, Key: key("k"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
			return err
		},
		`"LocalSecondaryIndexes"`: func() error {
			in := inboxShape()
			in.TableName = aws.String(uniqueName())
			in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: aws.String("local"), KeySchema: hashKey("pk"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll}}}
			_, err := at.items.CreateTable(t.Context(), in)
			return err
		},
		"streamViewType": func() error { // what AWS makes of a stream without a view type is not documented
			in := inboxShape()
			in.TableName, in.StreamSpecification.StreamViewType = aws.String(uniqueName()), ""
			_, err := at.items.CreateTable(t.Context(), in)
			return err
		},
		"/TransactItems/0/Put/": func() error {
			return raw(t, at, "DynamoDB_20120810.TransactWriteItems", `{"ClientRequestToken":"t","TransactItems":[{"Put":{"TableName":"tab","Item":{},"Attributes":{}}}]}`)
		},
	}
	for name, call := range calls {
		at.wantCode(t, call(), "ValidationException", name)
	}
}

func TestAnIteratorWantsASequenceNumberExactlyWhereItBeginsAtOne(t *testing.T) {
	t.Parallel()
	at := local(t)
	arn := at.streamOf(t, at.inboxTable(t))
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: at.shards(t, arn)[0].ShardId}
	for kind, sequence := range map[streamtypes.ShardIteratorType]*string{
		streamtypes.ShardIteratorTypeTrimHorizon:         aws.String("100000000000000000000000"),
		streamtypes.ShardIteratorTypeAtSequenceNumber:    nil,
		streamtypes.ShardIteratorTypeAfterSequenceNumber: aws.String("7"),
		"FIRST": nil,
	} {
		in.ShardIteratorType, in.SequenceNumber = kind, sequence
		_, err := at.streams.GetShardIterator(t.Context(), in)
		at.wantCode(t, err, "ValidationException", "")
	}
}

func TestParametersWithoutEffectHereAreAccepted(t *testing.T) {
	t.Parallel()
	at := local(t)
	table := at.inboxTable(t)
	_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: key("k"),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityNone, ReturnItemCollectionMetrics: types.ReturnItemCollectionMetricsNone})
	noError(t, err)
	_, err = at.streams.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{Limit: aws.Int32(1)})
	noError(t, err)
}

// answered is an error answer to a raw request.
type answered struct{ code, body string }

func (a answered) Error() string                 { return a.body }
func (a answered) ErrorCode() string             { return a.code }
func (a answered) ErrorMessage() string          { return a.body }
func (a answered) ErrorFault() smithy.ErrorFault { return smithy.FaultClient }

func raw(t *testing.T, at *endpoint, target, body string) error {
	t.Helper()
	status, answer := post(t, at, target, "AWS4-HMAC-SHA256 x", body)
	if status == http.StatusOK {
		return nil
	}
	_, rest, _ := strings.Cut(answer, "#")
	name, _, _ := strings.Cut(rest, `"`)
	return answered{name, answer}
}

func post(t *testing.T, at *endpoint, target, authorization, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.url, strings.NewReader(body))
	noError(t, err)
	r.Header.Set("X-Amz-Target", target)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(r)
	noError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noError(t, err)
	return resp.StatusCode, string(b)
}

func TestRequestsThatAreNotTheProtocol(t *testing.T) {
	t.Parallel()
	at := local(t)
	cases := map[string]struct {
		target, authorization, body string
		status                      int
		says                        string
	}{
		"an unsigned request":       {"DynamoDB_20120810.ListTables", "", "{}", 400, "MissingAuthenticationTokenException"},
		"no target":                 {"", "x", "{}", 400, "UnknownOperationException"},
		"a target of another API":   {"S3.ListBuckets", "x", "{}", 400, `\"S3.ListBuckets\" is not implemented`},
		"a streams call as items":   {"DynamoDB_20120810.GetRecords", "x", "{}", 400, "UnknownOperationException"},
		"broken JSON":               {"DynamoDB_20120810.ListTables", "x", "{", 400, "SerializationException"},
		"a name given twice":        {"DynamoDB_20120810.DescribeTable", "x", `{"TableName":"aaa","TableName":"bbb"}`, 400, "SerializationException"},
		"trailing data":             {"DynamoDB_20120810.ListTables", "x", "{} {}", 400, "SerializationException"},
		"a number for a text":       {"DynamoDB_20120810.DescribeTable", "x", `{"TableName":5}`, 400, "/TableName"},
		"a value of no kind":        {"DynamoDB_20120810.GetItem", "x", `{"TableName":"aaa","Key":{"pk":{}}}`, 400, "Supplied AttributeValue is empty"},
		"a value of two kinds":      {"DynamoDB_20120810.GetItem", "x", `{"TableName":"aaa","Key":{"pk":{"S":"a","N":"1"}}}`, 400, "more than one datatypes"},
		"a value of an odd kind":    {"DynamoDB_20120810.GetItem", "x", `{"TableName":"aaa","Key":{"pk":{"X":"a"}}}`, 400, "/Key/pk/X"},
		"a null for a value":        {"DynamoDB_20120810.GetItem", "x", `{"TableName":"aaa","Key":{"pk":null}}`, 400, "Supplied AttributeValue is empty"},
		"a false NULL":              {"DynamoDB_20120810.GetItem", "x", `{"TableName":"aaa","Key":{"pk":{"NULL":false}}}`, 400, "must have the value of true"},
		"bytes that are not base64": {"DynamoDB_20120810.GetItem", "x", `{"TableName":"aaa","Key":{"pk":{"B":"%"}}}`, 400, "SerializationException"},
		"no table name":             {"DynamoDB_20120810.DescribeTable", "x", "", 400, "tableName"},
		"a body over 16 MB":         {"DynamoDB_20120810.ListTables", "x", strings.Repeat(" ", 16<<20+1), 413, "larger than 16777216 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, answer := post(t, at, c.target, c.authorization, c.body)
			if status != c.status || !strings.Contains(answer, c.says) {
				t.Errorf("status %d, answer %s; want %d and %q", status, answer, c.status, c.says)
			}
		})
	}
}

func TestTheZeroOptionsAreUsable(t *testing.T) {
	t.Parallel()
	if dynamodb.New(dynamodb.Options{}).ExpireItems() != 0 {
		t.Error("an engine without tables expired something")
	}
}
