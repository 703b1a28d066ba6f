package dynamostore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/inbox"
)

type item = map[string]types.AttributeValue

// attrPK is the partition key of the inbox table. The domain does not know it: it names items by id.
const attrPK = "pk"

// The domain's json tags name the attributes, and a time is a number of Unix milliseconds, so that conditions compare it.
// A zero time is no attribute at all: the moves' conditions ask for absence, and a NULL attribute is not absent.

func encode(v any) (types.AttributeValue, error) {
	av, err := attributevalue.MarshalWithOptions(v, encoding)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return av, nil
}

func encodeItem(pk string, v any) (item, error) {
	m, err := attributevalue.MarshalMapWithOptions(v, encoding)
	if err != nil {
		return nil, fmt.Errorf("encode item %s: %w", pk, err)
	}
	for name, v := range m {
		if _, null := v.(*types.AttributeValueMemberNULL); null {
			delete(m, name)
		}
	}
	m[attrPK] = &types.AttributeValueMemberS{Value: pk}
	return m, nil
}

func decodeItem(m item, into any) error {
	return attributevalue.UnmarshalMapWithOptions(m, into, decoding)
}

func encoding(o *attributevalue.EncoderOptions) {
	o.TagKey = "json"
	o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
		if t.IsZero() {
			return &types.AttributeValueMemberNULL{Value: true}, nil
		}
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.UnixMilli(), 10)}, nil
	}
}

func decoding(o *attributevalue.DecoderOptions) {
	o.TagKey = "json"
	o.DecodeTime.N = func(s string) (time.Time, error) {
		ms, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("time %q is not a number of Unix milliseconds", s)
		}
		return time.UnixMilli(ms).UTC(), nil
	}
}

// decodeRun reads a run item; nil for an empty one, which is how DynamoDB says that there is none.
func decodeRun(m item) (*inbox.Run, error) {
	if len(m) == 0 {
		return nil, nil
	}
	run := new(inbox.Run)
	if err := decodeItem(m, run); err != nil {
		return nil, fmt.Errorf("decode run %s: %w", keyOf(m), err)
	}
	return run, nil
}

func keyOf(m item) string {
	if s, ok := m[attrPK].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
