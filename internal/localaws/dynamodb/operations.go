package dynamodb

import (
	"errors"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// operation decodes a request, carries it out under the engine's mutex and returns the answer to encode.
type operation func(e *Engine, body []byte) (any, error)

// operations is everything the engine implements; what is not here is refused by name.
func operations() map[string]operation {
	all := map[string]operation{}
	maps.Copy(all, tableOperations())
	maps.Copy(all, itemOperations())
	maps.Copy(all, streamOperations())
	return all
}

func tableOperations() map[string]operation {
	return map[string]operation{
		itemsTarget + "CreateTable":        handle((*Engine).createTable),
		itemsTarget + "DescribeTable":      handle((*Engine).describeTable),
		itemsTarget + "DeleteTable":        handle((*Engine).deleteTable),
		itemsTarget + "ListTables":         handle((*Engine).listTables),
		itemsTarget + "UpdateTimeToLive":   handle((*Engine).updateTimeToLive),
		itemsTarget + "DescribeTimeToLive": handle((*Engine).describeTimeToLive),
	}
}

func itemOperations() map[string]operation {
	return map[string]operation{
		itemsTarget + "GetItem":            handle((*Engine).getItem),
		itemsTarget + "PutItem":            handle((*Engine).putItem),
		itemsTarget + "UpdateItem":         handle((*Engine).updateItem),
		itemsTarget + "DeleteItem":         handle((*Engine).deleteItem),
		itemsTarget + "Query":              handle((*Engine).query),
		itemsTarget + "Scan":               handle((*Engine).scan),
		itemsTarget + "BatchGetItem":       handle((*Engine).batchGetItem),
		itemsTarget + "BatchWriteItem":     handle((*Engine).batchWriteItem),
		itemsTarget + "TransactGetItems":   handle((*Engine).transactGetItems),
		itemsTarget + "TransactWriteItems": (*Engine).transactWriteItems,
	}
}

func streamOperations() map[string]operation {
	return map[string]operation{
		streamsTarget + "ListStreams":      handle((*Engine).listStreams),
		streamsTarget + "DescribeStream":   handle((*Engine).describeStream),
		streamsTarget + "GetShardIterator": handle((*Engine).getShardIterator),
		streamsTarget + "GetRecords":       handle((*Engine).getRecords),
	}
}

// handle makes an operation of a method. The answer is encoded after the mutex is free, which is safe because stored
// values are never changed in place.
func handle[Request, Answer any](do func(*Engine, Request) (Answer, error)) operation {
	return func(e *Engine, body []byte) (any, error) {
		var in Request
		if err := decode(body, &in); err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		return do(e, in)
	}
}

// decode reads a request strictly. AWS ignores members it does not know; here they are refused, because a parameter
// that is silently without effect makes a test pass that AWS would fail.
func decode(body []byte, into any) error {
	if len(body) == 0 {
		body = []byte("{}")
	}
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	if s, ok := errors.AsType[*json.SemanticError](err); ok {
		return semanticFault(s)
	}
	return faultf(serialization, "%v", err)
}

func semanticFault(s *json.SemanticError) error {
	if errors.Is(s.Err, json.ErrUnknownName) {
		return invalid("parameter %q (at %s) is not implemented by the local DynamoDB", s.JSONPointer.LastToken(), s.JSONPointer)
	}
	return faultf(serialization, "%s: a JSON %s cannot be read here", pointer(s.JSONPointer), s.JSONKind)
}

func pointer(p jsontext.Pointer) string {
	if p == "" {
		return "request"
	}
	return string(p)
}
