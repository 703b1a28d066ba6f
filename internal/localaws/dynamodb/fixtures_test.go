package dynamodb_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// item is an item, a key or the values of an expression.
type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func count(n int) types.AttributeValue { return num(fmt.Sprint(n)) }

func bin(s string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(s)} }

func yes(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func null() types.AttributeValue { return &types.AttributeValueMemberNULL{Value: true} }

func strs(s ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: s} }

func nums(s ...string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: s} }

func list(vs ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: vs}
}

func object(m item) types.AttributeValue { return &types.AttributeValueMemberM{Value: m} }

// with is a copy of an item with more attributes.
func with(base, more item) item {
	out := item{}
	for _, m := range []item{base, more} {
		for name, v := range m {
			out[name] = v
		}
	}
	return out
}

// key is a key of a table of the inbox's shape.
func key(pk string) item { return item{"pk": str(pk)} }

// diff compares anything with attribute values in it; sets have no order.
func diff(want, got any) string {
	return cmp.Diff(want, got,
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmpopts.SortSlices(strings.Compare),
		cmpopts.EquateEmpty())
}

// code is the error code of an answer; "" when there was none, and the text when it was no answer at all.
func code(err error) string {
	if err == nil {
		return ""
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return "not an answer: " + err.Error()
}

// wantCode checks an error by its code. The text is compared on the local engine only: others word theirs differently.
func (at *endpoint) wantCode(t testing.TB, err error, want, text string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("error code %q, want %q (%v)", got, want, err)
		return
	}
	if at.engine != nil && err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("error %q does not say %q", err, text)
	}
}

// noError stops a check whose preparation went wrong.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var tableNumber atomic.Int64

// uniqueName makes table names that no other run of the suite uses either.
func uniqueName() string {
	return fmt.Sprintf("custody-suite-%x-%d", time.Now().UnixNano(), tableNumber.Add(1))
}

// inboxTable makes a table of the inbox's shape: partition key, stream, the sparse index with its projection.
func (at *endpoint) inboxTable(t testing.TB) string {
	return at.create(t, inboxShape())
}

func inboxShape() *sdk.CreateTableInput {
	return &sdk.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("open"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("open_since"), AttributeType: types.ScalarAttributeTypeN},
		},
		KeySchema: hashKey("pk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("open"),
			KeySchema: append(hashKey("open"), types.KeySchemaElement{AttributeName: aws.String("open_since"), KeyType: types.KeyTypeRange}),
			Projection: &types.Projection{
				ProjectionType:   types.ProjectionTypeInclude,
				NonKeyAttributes: []string{"state", "attempts", "wake_count"},
			},
		}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
}

// holdsTable makes a table with partition and sort key.
func (at *endpoint) holdsTable(t testing.TB) string {
	return at.create(t, &sdk.CreateTableInput{
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("scope"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("hold_id"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: append(hashKey("scope"), types.KeySchemaElement{AttributeName: aws.String("hold_id"), KeyType: types.KeyTypeRange}),
	})
}

func hashKey(name string) []types.KeySchemaElement {
	return []types.KeySchemaElement{{AttributeName: &name, KeyType: types.KeyTypeHash}}
}

// create makes a table under a fresh name, waits until it can be used, and takes it away when the check has ended.
func (at *endpoint) create(t testing.TB, in *sdk.CreateTableInput) string {
	t.Helper()
	if in.TableName == nil {
		in.TableName = aws.String(uniqueName())
	}
	_, err := at.items.CreateTable(t.Context(), in)
	noError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), remotePatience)
		defer cancel()
		_, err := at.items.DeleteTable(ctx, &sdk.DeleteTableInput{TableName: in.TableName})
		if err != nil && code(err) != "ResourceNotFoundException" {
			t.Errorf("delete table %s: %v", *in.TableName, err)
		}
	})
	active := at.settles(t.Context(), func() bool {
		d, err := at.items.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: in.TableName})
		return err == nil && d.Table.TableStatus == types.TableStatusActive
	})
	if !active {
		t.Fatalf("table %s is not ACTIVE", *in.TableName)
	}
	return *in.TableName
}

// put stores an item that the check starts from.
func (at *endpoint) put(t testing.TB, table string, it item) {
	t.Helper()
	_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: it})
	noError(t, err)
}

// get reads an item back; nil when it is absent.
func (at *endpoint) get(t testing.TB, table string, k item) item {
	t.Helper()
	out, err := at.items.GetItem(t.Context(), &sdk.GetItemInput{TableName: &table, Key: k, ConsistentRead: aws.Bool(true)})
	noError(t, err)
	return out.Item
}

// diffInOrder is diff for lists whose order is what the check is about.
func diffInOrder(want, got any) string {
	return cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty())
}
