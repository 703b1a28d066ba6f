package dynamodb_test

import (
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"custody/internal/localaws/dynamodb"
)

// call sends a request straight into an engine, without network and SDK, so that a panic is this test's own.
func call(t testing.TB, e *dynamodb.Engine, operation string, request any) (status int, answer map[string]any) {
	t.Helper()
	body, ok := request.(string)
	if !ok {
		b, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		body = string(b)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: answer %q: %v", operation, w.Body, err)
	}
	return w.Code, answer
}

type wire = map[string]any

// bareEngine has one table with a partition key alone.
func bareEngine(t testing.TB) *dynamodb.Engine {
	t.Helper()
	e := dynamodb.New(dynamodb.Options{})
	status, answer := call(t, e, "CreateTable", wire{"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": []wire{{"AttributeName": "pk", "AttributeType": "S"}},
		"KeySchema":            []wire{{"AttributeName": "pk", "KeyType": "HASH"}}})
	if status != http.StatusOK {
		t.Fatal(answer)
	}
	return e
}

// restore puts the one item back as it was.
func restore(t testing.TB, e *dynamodb.Engine) {
	t.Helper()
	status, answer := call(t, e, "PutItem", wire{"TableName": "tab", "Item": wire{
		"pk": wire{"S": "k"}, "a": wire{"N": "1"}, "b": wire{"S": "text"}, "s": wire{"SS": []string{"x", "y"}},
		"l": wire{"L": []wire{{"N": "1"}, {"L": []wire{{"S": "x"}}}}}, "m": wire{"M": wire{"a": wire{"N": "2"}, "l": wire{"L": []wire{}}}},
	}})
	if status != http.StatusOK {
		t.Fatal(answer)
	}
}

// placeholders are the names and values an expression mentions; those known are defined, so that it can get past binding.
func placeholders(expressions ...string) (names, values wire) {
	known := map[string]any{"#a": "a", "#s": "s", "#l": "l", "#m": "m", ":n": wire{"N": "2"}, ":t": wire{"S": "te"},
		":s": wire{"SS": []string{"x"}}, ":l": wire{"L": []wire{{"N": "3"}}}, ":k": wire{"S": "S"}}
	names, values = wire{}, wire{}
	for _, p := range regexp.MustCompile(`[#:][a-z]+`).FindAllString(strings.Join(expressions, " "), -1) {
		if v, ok := known[p]; ok && p[0] == '#' {
			names[p] = v
		} else if ok {
			values[p] = v
		}
	}
	return names, values
}

// FuzzExpressions: whatever stands in an expression, the engine answers, and refuses only as DynamoDB would.
func FuzzExpressions(f *testing.F) {
	for _, seed := range [][2]string{
		{"attribute_exists(pk) AND NOT (a = :n OR #m.l[0] <> :t)", "SET #a = #a + :n, m.l = list_append(:l, l) REMOVE b ADD s :s"},
		{"size(#s) BETWEEN :n AND :n AND contains(b, :t)", "DELETE #s :s SET l[1][0] = if_not_exists(zz, :l), l[9] = :n"},
		{"attribute_type(b, :k) OR begins_with(b, :t) OR a IN (:n, m.a)", "REMOVE l[0], l[1], m.a"},
		{"((((a = :n", "SET a = (((b"}, {"a = = b", "SET SET"}, {"NOT NOT NOT a < :n", "set l[99999999999999999999] = :n"},
		{"\"", "\x00"}, {"a.b.c[0][1].d = :n", "ADD m.a :n"},
	} {
		f.Add(seed[0], seed[1])
	}
	e := bareEngine(f)
	f.Fuzz(func(t *testing.T, condition, update string) {
		restore(t, e)
		names, values := placeholders(condition, update)
		for operation, request := range map[string]wire{
			"UpdateItem": {"Key": wire{"pk": wire{"S": "k"}}, "ConditionExpression": condition, "UpdateExpression": update,
				"ReturnValues": "UPDATED_NEW", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"},
			"Scan":  {"FilterExpression": condition, "ProjectionExpression": update},
			"Query": {"KeyConditionExpression": condition, "FilterExpression": update},
		} {
			request["TableName"] = "tab"
			if len(names) > 0 {
				request["ExpressionAttributeNames"] = names
			}
			if len(values) > 0 {
				request["ExpressionAttributeValues"] = values
			}
			wantRefusalOnly(t, e, operation, request)
		}
	})
}

// wantRefusalOnly sends a request that may be wrong but never more than refused.
func wantRefusalOnly(t *testing.T, e *dynamodb.Engine, operation string, request any) {
	t.Helper()
	status, answer := call(t, e, operation, request)
	if status == http.StatusOK {
		return
	}
	kind, _ := answer["__type"].(string)
	_, name, _ := strings.Cut(kind, "#")
	if name != "ValidationException" && name != "ConditionalCheckFailedException" && name != "SerializationException" && name != "ResourceNotFoundException" {
		t.Errorf("%s %v: status %d, %v", operation, request, status, answer)
	}
}

// FuzzRequests: no body makes an operation do anything but answer.
func FuzzRequests(f *testing.F) {
	f.Add(`{"TableName":"tab","Key":{"pk":{"S":"k"}}}`)
	f.Add(`{"TableName":"tab","KeyConditionExpression":"pk = :k","ExpressionAttributeValues":{":k":{"S":"k"}},"ExclusiveStartKey":{"pk":{"S":"k"}},"Limit":1}`)
	f.Add(`{"TransactItems":[{"Put":{"TableName":"tab","Item":{"pk":{"S":"k"},"n":{"NS":["1","2"]}}}},{"Delete":{}}]}`)
	f.Add(`{"RequestItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}]}}`)
	f.Add(`{"TableName":"new","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"AttributeDefinitions":[]}`)
	f.Fuzz(func(t *testing.T, body string) {
		e := bareEngine(t)
		restore(t, e)
		for _, operation := range []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem",
			"TransactGetItems", "TransactWriteItems", "DescribeTable", "ListTables", "UpdateTimeToLive", "DescribeTimeToLive", "CreateTable"} {
			if status, answer := call(t, e, operation, body); status != http.StatusOK && status != http.StatusBadRequest {
				t.Errorf("%s %s: status %d, %v", operation, body, status, answer)
			}
		}
	})
}

// FuzzNumbers: a number that is accepted comes back with the same value, told by arithmetic that is not ours.
func FuzzNumbers(f *testing.F) {
	for _, seed := range []string{"0", "-0.00", "1e5", "123456789012345678901234567890", "-9.99E-20", "1E125", "00100.00100", ".5", "5."} {
		f.Add(seed)
	}
	e := bareEngine(f)
	f.Fuzz(func(t *testing.T, n string) {
		status, _ := call(t, e, "PutItem", wire{"TableName": "tab", "Item": wire{"pk": wire{"S": "n"}, "n": wire{"N": n}}})
		if status != http.StatusOK {
			return
		}
		_, answer := call(t, e, "GetItem", wire{"TableName": "tab", "Key": wire{"pk": wire{"S": "n"}}})
		got := answer["Item"].(wire)["n"].(wire)["N"].(string)
		want, ok := new(big.Rat).SetString(n)
		if !ok {
			t.Fatalf("%q was accepted and is no number", n)
		}
		back, ok := new(big.Rat).SetString(got)
		if !ok || back.Cmp(want) != 0 || strings.ContainsAny(got, "eE") {
			t.Errorf("%q came back as %q", n, got)
		}
	})
}
