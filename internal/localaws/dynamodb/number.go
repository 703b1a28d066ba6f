package dynamodb

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// Limits of the number type (developer guide, "Naming rules and data types", Number): 38 significant digits and a
// magnitude from 1E-130 to 9.99...E+125. Expressed for a number written 0.ddd x 10^exponent, hence one more.
const (
	maxDigits   = 38
	minExponent = -129
	maxExponent = 126
)

// decimal is a number as DynamoDB keeps it: exact, never a float. Its value is 0.digits x 10^exponent; digits has no
// zero at either end, so equal numbers have equal representations and 1, 1.0 and 10E-1 are the same. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// parseDecimal reads a number as a client may write it: optional sign, digits with an optional point, optional exponent.
func parseDecimal(s string) (decimal, error) {
	mantissa, exponentText, hasExponent := cutExponent(s)
	whole, fraction, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	if len(mantissa)-len(strings.TrimLeft(mantissa, "+-")) > 1 || whole+fraction == "" || !allDigits(whole+fraction) {
		return decimal{}, notANumber(s)
	}
	exponent := 0
	if hasExponent {
		unsigned := strings.TrimLeft(exponentText, "+-")
		if unsigned == "" || !allDigits(unsigned) || len(exponentText)-len(unsigned) > 1 {
			return decimal{}, notANumber(s)
		}
		exponent = clampedAtoi(exponentText)
	}
	return makeDecimal(strings.HasPrefix(mantissa, "-"), whole+fraction, exponent+len(whole))
}

func cutExponent(s string) (mantissa, exponent string, found bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func allDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// clampedAtoi reads an exponent. One that no int holds is far outside the range anyway, so its sign is all that matters.
func clampedAtoi(s string) int {
	const far = 1 << 30
	n, err := strconv.Atoi(s)
	switch {
	case err == nil:
		return max(-far, min(far, n))
	case strings.HasPrefix(s, "-"):
		return -far
	}
	return far
}

// makeDecimal brings 0.digits x 10^exponent into its one representation and checks the limits.
func makeDecimal(negative bool, digits string, exponent int) (decimal, error) {
	trimmed := strings.TrimLeft(digits, "0")
	exponent -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	switch {
	case trimmed == "":
		return decimal{}, nil
	case len(trimmed) > maxDigits:
		return decimal{}, invalid("Attempting to store more than 38 significant digits in a Number")
	case exponent > maxExponent:
		return decimal{}, invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case exponent < minExponent:
		return decimal{}, invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return decimal{negative: negative, digits: trimmed, exponent: exponent}, nil
}

func notANumber(s string) error {
	if s == "" {
		return invalid("The parameter cannot be converted to a numeric value")
	}
	return invalid("The parameter cannot be converted to a numeric value: %s", s)
}

// compare is -1, 0 or 1. Without zeros at their ends the digits of equal exponents compare as text.
func (d decimal) compare(o decimal) int {
	if d.sign() != o.sign() {
		return cmp.Compare(d.sign(), o.sign())
	}
	magnitude := cmp.Or(cmp.Compare(d.exponent, o.exponent), strings.Compare(d.digits, o.digits))
	return magnitude * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// plus adds exactly; a sum that needs more than 38 digits is refused, not rounded.
func (d decimal) plus(o decimal) (decimal, error) {
	last := min(d.exponent-len(d.digits), o.exponent-len(o.digits)) // power of ten of the lowest digit of either
	sum := new(big.Int).Add(d.scaled(last), o.scaled(last))
	digits := new(big.Int).Abs(sum).String()
	return makeDecimal(sum.Sign() < 0, digits, last+len(digits))
}

func (d decimal) minus(o decimal) (decimal, error) {
	o.negative = !o.negative
	return d.plus(o)
}

// scaled is the number as a multiple of 10^last. Both exponents lie within the limits, so it has some 300 digits at most.
func (d decimal) scaled(last int) *big.Int {
	if d.digits == "" {
		return new(big.Int)
	}
	n, _ := new(big.Int).SetString(d.digits+strings.Repeat("0", d.exponent-len(d.digits)-last), 10)
	if d.negative {
		n.Neg(n)
	}
	return n
}

// String is the plain form, without exponent, in which DynamoDB answers.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	switch n := len(d.digits); {
	case d.exponent <= 0:
		return sign + "0." + strings.Repeat("0", -d.exponent) + d.digits
	case d.exponent >= n:
		return sign + d.digits + strings.Repeat("0", d.exponent-n)
	}
	return sign + d.digits[:d.exponent] + "." + d.digits[d.exponent:]
}

// decimalOf is an integer as a decimal; every int64 has fewer than 38 digits.
func decimalOf(n int64) decimal {
	d, err := parseDecimal(strconv.FormatInt(n, 10))
	if err != nil {
		panic("an int64 is always a valid number: " + err.Error())
	}
	return d
}
