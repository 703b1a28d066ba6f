package dynamodb

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// Items and index rows are kept under one byte string each, made so that comparing bytes compares keys:
//
//	hash of the partition value | partition value | sort value | primary key (index rows only)
//
// The leading hash makes a scan run in an order that nobody takes for a promise, as DynamoDB's does.

// partitionCode is the part all items of one partition share.
func partitionCode(v value) string {
	code := keyCode(v)
	sum := sha256.Sum256([]byte(code))
	return string(sum[:8]) + code
}

// keyCode encodes one key value so that codes compare as values do and none is the beginning of another.
func keyCode(v value) string {
	if v.kind == kindNumber {
		return numberCode(v.number)
	}
	return textCode(v.text) + "\x00\x01"
}

// textCode is a text without its end, which is also the code of everything that begins with it. A zero byte becomes
// 00 FF, so that the end mark 00 01 sorts below every continuation.
func textCode(s string) string {
	return strings.ReplaceAll(s, "\x00", "\x00\xff")
}

// numberCode is sign, exponent, digits; for a negative number exponent and digits are complemented, since the larger
// magnitude is the smaller number.
func numberCode(d decimal) string {
	if d.sign() == 0 {
		return "\x01"
	}
	magnitude := binary.BigEndian.AppendUint16(nil, uint16(d.exponent-minExponent))
	magnitude = append(magnitude, d.digits...)
	magnitude = append(magnitude, 0)
	if d.sign() > 0 {
		return "\x02" + string(magnitude)
	}
	for i := range magnitude {
		magnitude[i] = ^magnitude[i]
	}
	return "\x00" + string(magnitude)
}

// after is the smallest string above everything that begins with the prefix; "" stands for no bound at all.
func after(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}
