package dynamostore

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// itemBytes is the size of an item by DynamoDB's own rule (Developer Guide, "Item sizes and formats"), rounded up: names and
// strings in UTF-8 bytes, a number up to 21 bytes, a list or map 3 bytes and 1 more for each member.
func itemBytes(m item) int {
	n := 0
	for name, v := range m {
		n += len(name) + valueBytes(v)
	}
	return n
}

func valueBytes(v types.AttributeValue) int {
	const number, collection, member = 21, 3, 1
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return number
	case *types.AttributeValueMemberM:
		return collection + len(v.Value)*member + itemBytes(v.Value)
	case *types.AttributeValueMemberL:
		n := collection
		for _, e := range v.Value {
			n += member + valueBytes(e)
		}
		return n
	default: // BOOL and NULL; sets are not written
		return 1
	}
}
