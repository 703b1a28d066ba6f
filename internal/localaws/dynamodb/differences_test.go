package dynamodb_test

import (
	"slices"
	"testing"
)

// difference is something another engine is known to do differently, and where it stands who is right.
type difference struct {
	what   string
	source string
}

// differences lists what is known, by engine and by the promise of the check. A listed check still runs: it is reported as
// skipped while it fails, and fails once it passes.
func differences(engine string) map[string]difference {
	const guide, reference = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/", "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/"
	unchanged := difference{
		"a write that changes nothing leaves a MODIFY record",
		guide + "Streams.html: an operation that does not change any data in an item writes no stream record",
	}
	timeToLive := difference{
		"turning the time to live on or off twice is accepted",
		reference + "API_UpdateTimeToLive.html: a further call for the same table is a ValidationException; the texts are those AWS gives",
	}
	return map[string]map[string]difference{
		"dynoxide": { // 3.2.0
			"an order of booleans is refused":                                       {"the comparison is false", "scylladb/scylladb test/alternator/test_condition_expression.py, whose tests pass on AWS: a value given in the request whose kind has no order is a ValidationException"},
			"an answer holds at most a megabyte of records, the next one continues": {"only the number of records is bounded", reference + "API_streams_GetRecords.html: an answer is at most 1 MB"},
			"a put of what is there leaves no record":                               unchanged,
			"an update that changes nothing leaves no record":                       unchanged,
			"the time to live cannot be enabled twice":                              timeToLive,
			"the time to live cannot be disabled twice":                             timeToLive,
			"DELETE of the last member removes the set":                             {"1.0 is not found in a set that has 1", guide + "HowItWorks.NamingRulesDataTypes.html: leading and trailing zeros of numbers are trimmed, in sets as well"},
			"an attribute the index does not project is refused":                    {"the attribute is left out of the answer", reference + "API_Query.html: of a global index only projected attributes can be requested; the text AWS gives is quoted in localstack/localstack#478"},
			"a shard iterator wants a stream and a shard that exist":                {"an iterator is given for any shard id", reference + "API_streams_GetShardIterator.html: ResourceNotFoundException"},
			"an unknown type name is refused":                                       {"the condition is false", guide + "Expressions.OperatorsAndFunctions.html: the type must be one of the ten"},
			"an operand compared with itself is refused":                            {"the comparison is evaluated, except for contains", "AWS's text as quoted by many projects; the reference is silent"},
		},
	}[engine]
}

// A listing whose check was renamed would hide nothing and explain nothing.
func TestEveryKnownDifferenceNamesACheck(t *testing.T) {
	t.Parallel()
	var promises []string
	for _, checks := range suite() {
		for _, c := range checks {
			if slices.Contains(promises, c.promise) {
				t.Errorf("two checks promise %q", c.promise)
			}
			promises = append(promises, c.promise)
		}
	}
	for _, engine := range []string{"dynoxide"} {
		for promise := range differences(engine) {
			if !slices.Contains(promises, promise) {
				t.Errorf("%s: no check promises %q", engine, promise)
			}
		}
	}
}
