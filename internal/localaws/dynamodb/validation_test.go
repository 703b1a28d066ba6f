package dynamodb_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// validationChecks are requests that must be refused as a ValidationException and must change nothing. The texts are those
// of the local engine, which follow DynamoDB's.
func validationChecks() []check {
	return append(append(writeValidation(), queryValidation()...), keyValidation()...)
}

func writeValidation() []check {
	one, long := item{":v": num("1")}, strings.Repeat("x", 400<<10)
	rows := []struct {
		promise   string
		condition string
		update    string
		names     map[string]string
		values    item
		text      string
	}{
		{"an unused value is refused", "", "SET a = :v", nil, item{":v": num("1"), ":w": num("2")},
			"Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"},
		{"an unused name is refused", "", "SET a = :v", map[string]string{"#n": "n"}, one,
			"Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}"},
		{"an undefined value is refused", "", "SET a = :w", nil, nil,
			"Invalid UpdateExpression: An expression attribute value used in expression is not defined; attribute value: :w"},
		{"an undefined name is refused", "#n = :v", "SET a = :v", nil, one,
			"Invalid ConditionExpression: An expression attribute name used in the document path is not defined; attribute name: #n"},
		{"a reserved word is refused in a condition", "state = :v", "SET a = :v", nil, one,
			"Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: state"},
		{"a reserved word is refused in an update", "", "SET open = :v", nil, one,
			"Invalid UpdateExpression: Attribute name is a reserved keyword; reserved keyword: open"},
		{"a reserved word is refused in any case and place", "attribute_exists(a.Ttl)", "SET a = :v", nil, one, "reserved keyword: Ttl"},
		{"a condition that ends early is refused", "a = ", "SET a = :v", nil, one, `Invalid ConditionExpression: Syntax error; token: "<EOF>"`},
		{"an empty condition is refused", " ", "SET a = :v", nil, one, "Invalid ConditionExpression: The expression can not be empty;"},
		{"a condition of one operand is refused", "a", "SET a = :v", nil, one, "Invalid ConditionExpression: Syntax error"},
		{"a condition with something behind it is refused", "a = :v b", "SET a = :v", nil, one, `Invalid ConditionExpression: Syntax error; token: "b"`},
		{"an order of booleans is refused", "a < :v", "SET a = :v", nil, item{":v": yes(true)}, "Incorrect operand type for operator or function; operator: <, operand type: BOOL"},
		{"an unknown function is refused", "exists(a)", "SET a = :v", nil, one, "Invalid ConditionExpression: Invalid function name; function: exists"},
		{"a function with too many arguments is refused", "attribute_exists(a, b)", "SET a = :v", nil, one, "Incorrect number of operands"},
		{"attribute_exists of a value is refused", "attribute_exists(:v)", "SET a = :v", nil, one, "requires a document path"},
		{"an update function in a condition is refused", "if_not_exists(a, :v)", "SET a = :v", nil, one, "not allowed in a condition expression"},
		{"redundant parentheses are refused", "((a = :v))", "SET a = :v", nil, one, "redundant parentheses"},
		{"an operand compared with itself is refused", "a = a", "SET a = :v", nil, one, "The first operand must be distinct"},
		{"BETWEEN with its edges exchanged is refused", "a BETWEEN :v AND :w", "SET a = :v", nil, item{":v": num("2"), ":w": num("1")}, "upper bound to be greater"},
		{"begins_with a number is refused", "begins_with(a, :v)", "SET a = :v", nil, one, "Incorrect operand type for operator or function"},
		{"an unknown type name is refused", "attribute_type(a, :w)", "SET a = :v", nil, item{":v": num("1"), ":w": str("X")}, "Invalid attribute type name"},
		{"an empty update is refused", "", " ", nil, nil, "Invalid UpdateExpression: The expression can not be empty;"},
		{"an update without a section is refused", "", "a = :v", nil, one, "Invalid UpdateExpression: Syntax error"},
		{"a section given twice is refused", "", "SET a = :v SET b = :v", nil, one, `The "SET" section can only be used once`},
		{"two writes to one path are refused", "", "SET a = :v, a = :v", nil, one,
			"Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"},
		{"a write within another is refused", "", "SET a.b = :v REMOVE a", nil, one, "Two document paths overlap with each other"},
		{"a path used as map and list is refused", "", "SET a.b = :v, a[0] = :v", nil, one, "Two document paths conflict with each other"},
		{"ADD of a text is refused", "", "ADD a :v", nil, item{":v": str("x")}, "operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"},
		{"DELETE of a number is refused", "", "DELETE a :v", nil, one, "operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND"},
		{"a sum with a text is refused", "", "SET a = a + :v", nil, item{":v": str("x")}, "Incorrect operand type for operator or function; operator or function: +"},
		{"an update of the key is refused", "", "SET pk = :v", nil, item{":v": str("other")}, "Cannot update attribute pk. This attribute is part of the key"},
		{"an update from an absent attribute is refused", "", "SET a = absent", nil, nil, "refers to an attribute that does not exist in the item"},
		{"a sum with an absent attribute is refused", "", "SET a = absent + :v", nil, one, "refers to an attribute that does not exist in the item"},
		{"a sum of a stored text is refused", "", "SET a = word + :v", nil, one, "An operand in the update expression has an incorrect data type"},
		{"ADD to a stored text is refused", "", "ADD word :v", nil, one, "An operand in the update expression has an incorrect data type"},
		{"a write into a map that is not there is refused", "", "SET absent.a = :v", nil, one, "The document path provided in the update expression is invalid for update"},
		{"a removal from a map that is not there is refused", "", "REMOVE absent.a", nil, nil, "The document path provided in the update expression is invalid for update"},
		{"a write into a text is refused", "", "SET word.a = :v", nil, one, "The document path provided in the update expression is invalid for update"},
		{"an item that grows over 400 KB is refused", "", "SET a = :v", nil, item{":v": str(long)}, "Item size to update has exceeded the maximum allowed size"},
		{"a sum above 38 digits is refused", "", "SET a = five + :v", nil, item{":v": num("1E100")}, "more than 38 significant digits"},
		{"an empty set is refused", "", "SET a = :v", nil, item{":v": strs()}, "may not be empty"},
		{"a set with one member twice is refused", "", "SET a = :v", nil, item{":v": strs("x", "x")}, "Input collection [x, x] contains duplicates."},
		{"a value name without a colon is refused", "", "SET a = :v", nil, item{":v": num("1"), "w": num("1")}, `ExpressionAttributeValues contains invalid key: Syntax error; key: "w"`},
		{"values without an expression are refused", "", "", nil, one, "ExpressionAttributeValues can only be specified when using expressions"},
	}
	var out []check
	for _, r := range rows {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, specimen())
			in := &sdk.UpdateItemInput{TableName: &table, Key: key("specimen"), ExpressionAttributeNames: r.names, ExpressionAttributeValues: r.values}
			if r.condition != "" {
				in.ConditionExpression = &r.condition
			}
			if r.update != "" {
				in.UpdateExpression = &r.update
			}
			_, err := at.items.UpdateItem(t.Context(), in)
			at.wantCode(t, err, "ValidationException", r.text)
			if d := diff(specimen(), at.get(t, table, key("specimen"))); d != "" {
				t.Error(d)
			}
		}})
	}
	return out
}

func queryValidation() []check {
	scope := map[string]string{"#s": "scope"}
	rows := []struct {
		promise string
		in      sdk.QueryInput
		text    string
	}{
		{"a query without its partition key is refused", sdk.QueryInput{KeyConditionExpression: aws.String("hold_id = :v")}, "Query condition missed key schema element: scope"},
		{"a query of a partition by anything but equality is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s > :v"), ExpressionAttributeNames: scope}, "Query key condition not supported"},
		{"a query on another attribute is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v AND another = :v"), ExpressionAttributeNames: scope}, "Query condition missed key schema element: hold_id"},
		{"two conditions on one key are refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v AND hold_id > :v AND hold_id < :v"), ExpressionAttributeNames: scope}, "only contain one condition per key"},
		{"OR in a key condition is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v OR hold_id = :v"), ExpressionAttributeNames: scope}, "Invalid operator used in KeyConditionExpression"},
		{"a key condition of the wrong kind is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), ExpressionAttributeNames: scope,
			ExpressionAttributeValues: item{":v": num("1")}}, "Condition parameter type does not match schema type"},
		{"a filter on the key is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), FilterExpression: aws.String("hold_id = :v"), ExpressionAttributeNames: scope},
			"Filter Expression can only contain non-primary key attributes: Primary key attribute: hold_id"},
		{"a limit of zero is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), ExpressionAttributeNames: scope, Limit: aws.Int32(0)}, "greater than or equal to 1"},
		{"a start key of another shape is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), ExpressionAttributeNames: scope,
			ExclusiveStartKey: item{"scope": str("x")}}, "The provided starting key is invalid"},
		{"a start key with more than the key is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), ExpressionAttributeNames: scope,
			ExclusiveStartKey: item{"scope": str("x"), "hold_id": str("h"), "more": str("m")}}, "The provided starting key is invalid"},
		{"a start key of another partition is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), ExpressionAttributeNames: scope,
			ExclusiveStartKey: item{"scope": str("other"), "hold_id": str("h")}}, "outside query boundaries"},
		{"COUNT with a projection is refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), ExpressionAttributeNames: scope,
			ProjectionExpression: aws.String("note"), Select: types.SelectCount}, "Cannot specify the ProjectionExpression"},
		{"overlapping projections are refused", sdk.QueryInput{KeyConditionExpression: aws.String("#s = :v"), ExpressionAttributeNames: scope,
			ProjectionExpression: aws.String("note, note.a")}, "Invalid ProjectionExpression: Two document paths overlap with each other"},
		{"a query without a key condition is refused", sdk.QueryInput{FilterExpression: aws.String("a = :v")}, "must be specified in the request"},
	}
	var out []check
	for _, r := range rows {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			in := r.in
			in.TableName = aws.String(at.holdsTable(t))
			if in.ExpressionAttributeValues == nil {
				in.ExpressionAttributeValues = item{":v": str("x")}
			}
			_, err := at.items.Query(t.Context(), &in)
			at.wantCode(t, err, "ValidationException", r.text)
		}})
	}
	return out
}

func keyValidation() []check {
	long := strings.Repeat("x", 2049)
	puts := []struct {
		promise string
		it      item
		text    string
	}{
		{"an item without its key is refused", item{"a": num("1")}, "Missing the key pk in the item"},
		{"an item with a key of the wrong kind is refused", item{"pk": num("1")}, "Type mismatch for key pk expected: S actual: N"},
		{"an item with an empty key is refused", item{"pk": str("")}, "cannot contain an empty string value. Key: pk"},
		{"an item with an overlong key is refused", item{"pk": str(long)}, "exceeded the maximum size limit of 2048 bytes"},
		{"an item over 400 KB is refused", with(key("k"), item{"a": str(strings.Repeat("x", 400<<10))}), "Item size has exceeded the maximum allowed size"},
		{"nesting of more than 32 levels is refused", with(key("k"), item{"a": nest(32)}), "Nesting Levels have exceeded supported limits"},
	}
	gets := []struct {
		promise string
		k       item
	}{
		{"a read by a key of the wrong kind is refused", item{"pk": num("1")}},
		{"a read by another attribute is refused", item{"a": str("1")}},
		{"a read by more than the key is refused", with(key("k"), item{"a": str("1")})},
	}
	out := []check{{"an item of just 400 KB is stored", func(t testing.TB, at *endpoint) {
		table := at.inboxTable(t)
		at.put(t, table, with(key("k"), item{"a": str(strings.Repeat("x", 400<<10-len("pk"+"k"+"a")))}))
	}}, {"nesting of 32 levels is stored", func(t testing.TB, at *endpoint) {
		table := at.inboxTable(t)
		at.put(t, table, with(key("k"), item{"a": nest(31)}))
	}}}
	for _, r := range puts {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: r.it})
			at.wantCode(t, err, "ValidationException", r.text)
		}})
	}
	for _, r := range gets {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.GetItem(t.Context(), &sdk.GetItemInput{TableName: &table, Key: r.k})
			at.wantCode(t, err, "ValidationException", "The provided key element does not match the schema")
		}})
	}
	return append(out, check{"a put cannot return what only an update knows", func(t testing.TB, at *endpoint) {
		table := at.inboxTable(t)
		_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: key("k"), ReturnValues: types.ReturnValueAllNew})
		at.wantCode(t, err, "ValidationException", "allowed: ALL_OLD, NONE")
	}})
}

// nest is a text in so many lists, which makes one level more.
func nest(depth int) types.AttributeValue {
	v := str("deep")
	for range depth {
		v = list(v)
	}
	return v
}
