package dynamodb_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// numberChecks are about exactness: milliseconds, counters and generations must never pass through a float.
func numberChecks() []check {
	nines := strings.Repeat("9", 38)
	stored := []struct{ promise, in, want string }{
		{"a number above 2^53 is exact", "9007199254740993", "9007199254740993"},
		{"a number of 38 digits is exact", nines, nines},
		{"a negative fraction of 38 digits is exact", "-0." + nines, "-0." + nines},
		{"zeros at the ends go away", "0012.3400", "12.34"},
		{"a plain exponent is written out", "1.5e3", "1500"},
		{"a negative exponent is written out", "15E-4", "0.0015"},
		{"a plus sign goes away", "+7", "7"},
		{"zero has no sign", "-0.0", "0"},
	}
	refused := []struct{ promise, in, text string }{
		{"39 digits are refused", nines + "9", "more than 38 significant digits"},
		{"a magnitude above the range is refused", "1E126", "Number overflow"},
		{"a magnitude below the range is refused", "1E-131", "Number underflow"},
		{"a word is no number", "five", "cannot be converted to a numeric value: five"},
		{"nothing is no number", "", "cannot be converted to a numeric value"},
		{"a number with a space is refused", " 5", "cannot be converted to a numeric value"},
		{"not-a-number is refused", "NaN", "cannot be converted to a numeric value"},
		{"two signs are refused", "--5", "cannot be converted to a numeric value"},
	}
	var out []check
	for _, r := range stored {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, with(key("k"), item{"n": num(r.in)}))
			if d := diff(num(r.want), at.get(t, table, key("k"))["n"]); d != "" {
				t.Error(d)
			}
		}})
	}
	for _, r := range refused {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			_, err := at.items.PutItem(t.Context(), &sdk.PutItemInput{TableName: &table, Item: with(key("k"), item{"n": num(r.in)})})
			at.wantCode(t, err, "ValidationException", r.text)
		}})
	}
	return append(out, arithmeticChecks()...)
}

func arithmeticChecks() []check {
	rows := []struct{ promise, start, add, want string }{
		{"adding above 2^53 is exact", "9007199254740993", "1", "9007199254740994"},
		{"adding tenths is exact", "0.1", "0.2", "0.3"},
		{"adding across zero is exact", "-0.5", "0.25", "-0.25"},
		{"adding far apart is exact within 38 digits", "1E30", "0.0000001", "1" + strings.Repeat("0", 30) + ".0000001"},
		{"adding the opposite is zero", "12.5", "-12.5", "0"},
	}
	var out []check
	for _, r := range rows {
		out = append(out, check{r.promise, func(t testing.TB, at *endpoint) {
			table := at.inboxTable(t)
			at.put(t, table, with(key("k"), item{"n": num(r.start)}))
			_, err := at.items.UpdateItem(t.Context(), &sdk.UpdateItemInput{TableName: &table, Key: key("k"),
				UpdateExpression: aws.String("ADD n :v"), ExpressionAttributeValues: item{":v": num(r.add)}})
			noError(t, err)
			if d := diff(num(r.want), at.get(t, table, key("k"))["n"]); d != "" {
				t.Error(d)
			}
		}})
	}
	return out
}
