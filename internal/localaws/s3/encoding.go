package s3

import "net/http"

const upperHex = "0123456789ABCDEF"

// encoder is how a listing spells keys, prefixes, markers and delimiters.
type encoder func(string) string

// encoderFor reads encoding-type, whose only value is url.
func encoderFor(c *call) (encoder, error) {
	if !c.query.Has("encoding-type") {
		return func(s string) string { return s }, nil
	}
	if v := c.query.Get("encoding-type"); v != "url" {
		return nil, invalidArgument("encoding-type", v, "Invalid Encoding Method specified in Request")
	}
	return formEncode, nil
}

// formEncode is encoding-type=url: form encoding in which the space is '+', '/' stays bare and '~' is
// encoded. A client that decodes it as a path reads "a+b" where the key is "a b".
func formEncode(s string) string {
	plain := 0
	for plain < len(s) && isPlain(s[plain]) {
		plain++
	}
	if plain == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:plain]...)
	for i := plain; i < len(s); i++ {
		switch c := s[i]; {
		case isPlain(c):
			b = append(b, c)
		case c == ' ':
			b = append(b, '+')
		default:
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

func isPlain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '_' || c == '.' || c == '*' || c == '/'
}

// noNull refuses U+0000 in a listing's parameter with S3's own words.
func noNull(c *call, names ...string) error {
	for _, name := range names {
		v := c.query.Get(name)
		for i := range len(v) {
			if v[i] == 0 {
				return invalidArgument(name, v, "Value must be a sequence of Unicode characters and cannot include Null.")
			}
		}
	}
	return nil
}

// keyTooLong is S3's answer to a key of more than 1,024 bytes of UTF-8.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html
func keyTooLong(key string) error {
	const most = 1024
	if len(key) <= most {
		return nil
	}
	return fail(http.StatusBadRequest, "KeyTooLongError", "Your key is too long").
		with("Size", itoa(len(key))).with("MaxSizeAllowed", itoa(most))
}
