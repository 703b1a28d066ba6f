package lambda

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// streamRecord is one record as Lambda's event has it (developer guide, "Using AWS Lambda with Amazon DynamoDB").
type streamRecord struct {
	EventID        string          `json:"eventID"`
	EventName      string          `json:"eventName"`
	EventVersion   string          `json:"eventVersion"`
	EventSource    string          `json:"eventSource"`
	AWSRegion      string          `json:"awsRegion"`
	Change         streamChange    `json:"dynamodb"`
	EventSourceARN string          `json:"eventSourceARN"`
	UserIdentity   *streamIdentity `json:"userIdentity,omitempty"`
}

type streamChange struct {
	ApproximateCreationDateTime int64         `json:"ApproximateCreationDateTime"`
	Keys                        attributesMap `json:"Keys"`
	NewImage                    attributesMap `json:"NewImage,omitempty"`
	OldImage                    attributesMap `json:"OldImage,omitempty"`
	SequenceNumber              string        `json:"SequenceNumber"`
	SizeBytes                   int64         `json:"SizeBytes"`
	StreamViewType              string        `json:"StreamViewType"`
}

// streamIdentity marks a removal by the TTL process.
type streamIdentity struct {
	Type        string `json:"type"`
	PrincipalID string `json:"principalId"`
}

type attributesMap map[string]json.RawMessage

func recordEvent(r types.Record, streamARN string) []byte {
	record := streamRecord{
		EventID:      aws.ToString(r.EventID),
		EventName:    string(r.EventName),
		EventVersion: aws.ToString(r.EventVersion),
		EventSource:  "aws:dynamodb",
		AWSRegion:    aws.ToString(r.AwsRegion),
		Change: streamChange{
			ApproximateCreationDateTime: arrival(r).Unix(),
			Keys:                        attributesJSON(r.Dynamodb.Keys),
			NewImage:                    attributesJSON(r.Dynamodb.NewImage),
			OldImage:                    attributesJSON(r.Dynamodb.OldImage),
			SequenceNumber:              aws.ToString(r.Dynamodb.SequenceNumber),
			SizeBytes:                   aws.ToInt64(r.Dynamodb.SizeBytes),
			StreamViewType:              string(r.Dynamodb.StreamViewType),
		},
		EventSourceARN: streamARN,
	}
	if r.UserIdentity != nil {
		record.UserIdentity = &streamIdentity{aws.ToString(r.UserIdentity.Type), aws.ToString(r.UserIdentity.PrincipalId)}
	}
	return mustJSON(record)
}

func batchEvent(batch []laneItem) []byte {
	var event bytes.Buffer
	event.WriteString(`{"Records":[`)
	for i, item := range batch {
		if i > 0 {
			event.WriteByte(',')
		}
		event.Write(item.event)
	}
	event.WriteString(`]}`)
	return event.Bytes()
}

func attributesJSON(item map[string]types.AttributeValue) attributesMap {
	if item == nil {
		return nil
	}
	out := make(attributesMap, len(item))
	for name, value := range item {
		out[name] = attributeJSON(value)
	}
	return out
}

// attributeJSON writes a value in DynamoDB's own JSON, which the SDK's types do not do by themselves.
func attributeJSON(value types.AttributeValue) json.RawMessage {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return typed("S", v.Value)
	case *types.AttributeValueMemberN:
		return typed("N", v.Value)
	case *types.AttributeValueMemberB:
		return typed("B", base64.StdEncoding.EncodeToString(v.Value))
	case *types.AttributeValueMemberBOOL:
		return typed("BOOL", v.Value)
	case *types.AttributeValueMemberNULL:
		return typed("NULL", v.Value)
	case *types.AttributeValueMemberSS:
		return typed("SS", v.Value)
	case *types.AttributeValueMemberNS:
		return typed("NS", v.Value)
	case *types.AttributeValueMemberBS:
		return typed("BS", v.Value) // encoding/json writes bytes as base64
	case *types.AttributeValueMemberM:
		return typed("M", attributesJSON(v.Value))
	case *types.AttributeValueMemberL:
		list := make([]json.RawMessage, len(v.Value))
		for i, element := range v.Value {
			list[i] = attributeJSON(element)
		}
		return typed("L", list)
	default:
		return json.RawMessage("{}") // a type that DynamoDB does not have yet
	}
}

func typed(kind string, value any) json.RawMessage {
	return mustJSON(map[string]any{kind: value})
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("strings, numbers and bytes always marshal: %v", err))
	}
	return b
}
