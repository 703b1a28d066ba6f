package lambda_test

import (
	"strings"
	"testing"

	"custody/internal/localaws/lambda"
)

func TestFilterMatches(t *testing.T) {
	t.Parallel()
	const wake = `{"dynamodb":{"NewImage":{"wake":{"S":[{"exists":true}]}}}}`
	for sentence, test := range map[string]struct {
		pattern, record string
		want            bool
	}{
		"a new image with a wake passes":          {wake, `{"dynamodb":{"NewImage":{"pk":{"S":"run#1"},"wake":{"S":"w1"}}}}`, true},
		"a checkpoint without a wake does not":    {wake, `{"dynamodb":{"NewImage":{"pk":{"S":"run#1"}}}}`, false},
		"a wake of another type does not":         {wake, `{"dynamodb":{"NewImage":{"wake":{"N":"1"}}}}`, false},
		"a removal, which has no image, does not": {wake, `{"dynamodb":{"OldImage":{"wake":{"S":"w1"}}}}`, false},
		"an image that is no object does not":     {wake, `{"dynamodb":{"NewImage":"wake"}}`, false},
		"one of several strings":                  {`{"a":["x","y"]}`, `{"a":"y"}`, true},
		"none of several strings":                 {`{"a":["x","y"]}`, `{"a":"z"}`, false},
		"every field has to match":                {`{"a":["x"],"b":["y"]}`, `{"a":"x","b":"z"}`, false},
		"numbers are compared by value":           {`{"a":[10]}`, `{"a":1e1}`, true},
		"a number is not its text":                {`{"a":[10]}`, `{"a":"10"}`, false},
		"null matches null":                       {`{"a":[null]}`, `{"a":null}`, true},
		"null does not match absence":             {`{"a":[null]}`, `{}`, false},
		"a boolean":                               {`{"a":[true]}`, `{"a":true}`, true},
		"exists false matches absence":            {`{"a":{"b":[{"exists":false}]}}`, `{"c":1}`, true},
		"exists false does not match presence":    {`{"a":{"b":[{"exists":false}]}}`, `{"a":{"b":1}}`, false},
		"exists is about leaves":                  {`{"a":[{"exists":true}]}`, `{"a":{"b":1}}`, false},
		"a prefix":                                {`{"a":[{"prefix":"run#"}]}`, `{"a":"run#1"}`, true},
		"another prefix":                          {`{"a":[{"prefix":"run#"}]}`, `{"a":"delivery#1"}`, false},
		"a prefix of a number":                    {`{"a":[{"prefix":"1"}]}`, `{"a":12}`, false},
		"anything but one value":                  {`{"a":[{"anything-but":"x"}]}`, `{"a":"y"}`, true},
		"anything but is not that value":          {`{"a":[{"anything-but":["x","y"]}]}`, `{"a":"y"}`, false},
		"anything but needs a value":              {`{"a":[{"anything-but":"x"}]}`, `{}`, false},
		"alternatives may be of different kinds":  {`{"a":["x",{"prefix":"y"}]}`, `{"a":"yes"}`, true},
		"one element of a list is enough":         {`{"a":["x"]}`, `{"a":["w","x"]}`, true},
		"an object never equals a value":          {`{"a":["x"]}`, `{"a":{"x":1}}`, false},
		"an empty list exists as a leaf":          {`{"a":[{"exists":true}]}`, `{"a":[]}`, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			filter, err := lambda.NewFilter(test.pattern)
			if err != nil {
				t.Fatal(err)
			}
			got, err := filter.Matches([]byte(test.record))
			if err != nil || got != test.want {
				t.Errorf("matches is %t (%v)", got, err)
			}
		})
	}
}

func TestNewFilterRefuses(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ pattern, want string }{
		"an operator that is not built, by name": {`{"a":{"b":[{"numeric":["=",1]}]}}`, `a.b: operator "numeric" is not supported`},
		"a pattern that is no object":            {`["a"]`, "must be a JSON object"},
		"more than one pattern":                  {`{"a":["x"]} {}`, "has more behind it"},
		"an empty pattern":                       {`{}`, "the pattern: an object needs at least one field"},
		"an empty nested object":                 {`{"a":{}}`, "a: an object needs at least one field"},
		"a bare value":                           {`{"a":"x"}`, "a: must be an object or a list"},
		"an empty list":                          {`{"a":[]}`, "a: a list needs"},
		"a list in a list":                       {`{"a":[["x"]]}`, "a: a list within a list"},
		"two operators in one":                   {`{"a":[{"exists":true,"prefix":"x"}]}`, "a: an operator is an object with one field"},
		"exists with text":                       {`{"a":[{"exists":"yes"}]}`, "a: exists takes true or false"},
		"prefix with a number":                   {`{"a":[{"prefix":1}]}`, "a: prefix takes a string"},
		"anything-but of nothing":                {`{"a":[{"anything-but":[]}]}`, "a: anything-but needs"},
		"anything-but of an object":              {`{"a":[{"anything-but":{"suffix":"x"}}]}`, "a: anything-but takes strings and numbers"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			_, err := lambda.NewFilter(test.pattern)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
