package signature_test

import (
	"strings"
	"testing"
	"time"

	"custody/internal/signature"
)

func TestHeadersThatAreMissing(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		for _, name := range []string{d.id, d.at, d.signature} {
			if name == "" {
				continue
			}
			if got := d.refused(drop(name)); got != missing {
				t.Errorf("%s without %s: %v", d.name, name, got)
			}
			// A missing header is found before the form of the others is judged.
			others := func(h map[string]string) {
				for n := range h {
					h[n] = "\x00"
				}
			}
			if got := d.refused(others, drop(name)); got != missing {
				t.Errorf("%s without %s, the others malformed: %v", d.name, name, got)
			}
		}
	}
}

func TestDeliveryIDsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		for sentence, id := range map[string]string{
			"empty":                        "",
			"129 characters":               strings.Repeat("d", 129),
			"8 KiB":                        strings.Repeat("d", 8192),
			"sent twice":                   "d-1,d-1",
			"sent twice, the second empty": "d-1,",
			"a separator":                  "d#1",
			"a slash":                      "d/1",
			"a full stop first":            ".d",
			"a NUL":                        "d\x00",
			"an umlaut":                    "dä",
			"a space before":               " d-1",
			"a space behind":               "d-1 ",
			"a tab":                        "d\t1",
			"a line break":                 "d\n1",
			"full-width":                   "ｄ",
			"a minus first":                "-d",
			"a percent sign":               "d%2F",
			"invalid UTF-8":                "d\xff",
		} {
			if got := d.refused(set(d.id, id)); got != malformed {
				t.Errorf("%s: %s: %v", d.name, sentence, got)
			}
		}
		for _, id := range []string{"d", "0", strings.Repeat("d", 128), "msg_p5jXN8AQM9LWM0D4loKWxJek", "a:b_c-d"} {
			headers := d.scheme.Sign(d.key("", current), id, received(), body)
			if _, err := d.check(headers, body, signature.Keys{d.key("k", current)}, received()); err != nil {
				t.Errorf("%s: id %q: %v", d.name, id, err)
			}
		}
	}
}

func TestTimestampsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, d := range dated() {
		for sentence, timestamp := range map[string]string{
			"empty":                      "",
			"9 digits":                   "179000000",
			"11 digits":                  "17900000000",
			"11 digits with a zero":      "01790000000",
			"milliseconds":               "1790000000000",
			"microseconds":               "1790000000000000",
			"a plus":                     "+1790000000",
			"10 bytes with a plus":       "+179000000",
			"a minus":                    "-1790000000",
			"10 bytes with a minus":      "-179000000",
			"a fraction":                 "1790000000.0",
			"10 bytes with a fraction":   "17900000.0",
			"an exponent":                "1.79e9",
			"10 bytes with an exponent":  "1790000e03",
			"a space before":             " 1790000000",
			"a space behind":             "1790000000 ",
			"10 bytes with a space":      " 179000000",
			"a tab":                      "179000000\t",
			"a line break":               "1790000000\n",
			"a NUL":                      "179000000\x00",
			"Arabic digits":              "١٧٩٠٠٠٠٠٠٠",
			"10 bytes of Arabic digits":  "١٧٩٠٠",
			"full-width digits":          "１７９０００００００",
			"an underscore":              "1_79000000",
			"hex":                        "0x6AB13B80",
			"sent twice":                 "1790000000,1790000000",
			"10 bytes with a comma":      "17900,0000",
			"a date":                     "2026-09-21T14:13:20Z",
			"10 bytes of a date":         "2026-09-21",
			"the year 1970 in one digit": "0",
			"the year 9999":              "253402300799",
			"an overflow":                "99999999999999999999",
			"infinity":                   "Infinity",
			"8 KiB":                      strings.Repeat("1", 8192),
			"invalid UTF-8":              "179000000\xff",
		} {
			if got := d.refused(set(d.at, timestamp)); got != malformed {
				t.Errorf("%s: %s: %v", d.name, sentence, got)
			}
		}
	}
}

// A timestamp in the form of one is read whatever the year; the window refuses it, and it is signed.
func TestWindowIncludesItsEdges(t *testing.T) {
	t.Parallel()
	for _, d := range dated() {
		keys := signature.Keys{d.key("k", current)}
		for _, fraction := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond} {
			for offset, want := range map[time.Duration]verdict{
				-301: stale, -300: accepted, -299: accepted, 0: accepted, 299: accepted, 300: accepted, 301: stale,
				1_000_000_000 - 1_790_000_000: stale, 9_999_999_999 - 1_790_000_000: stale,
			} {
				headers := d.scheme.Sign(d.key("", current), "d-1", received().Add(offset*time.Second), body)
				if _, err := d.check(headers, body, keys, received().Add(fraction)); verdictOf(err) != want {
					t.Errorf("%s: %d s from the receipt and %s: %v", d.name, offset, fraction, err)
				}
			}
		}
	}
}

func TestTenDigitsReachBackTo1970(t *testing.T) {
	t.Parallel()
	for _, d := range dated() {
		for _, timestamp := range []string{"0000000000", "0000000001", "9999999999"} {
			if got := d.refused(set(d.at, timestamp)); got != invalid {
				t.Errorf("%s: %s: %v", d.name, timestamp, got)
			}
			e, err := d.scheme.Read(headersOf(d.signed(d.key("", current), set(d.at, timestamp))))
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Fresh(received(), 300*time.Second); verdictOf(err) != stale {
				t.Errorf("%s: %s: %v", d.name, timestamp, err)
			}
		}
	}
}

func TestWindowThatIsNotPositiveLetsNothingThrough(t *testing.T) {
	t.Parallel()
	for _, d := range dated() {
		e, err := d.scheme.Read(headersOf(d.signed(d.key("", current))))
		if err != nil {
			t.Fatal(err)
		}
		for _, window := range []time.Duration{0, -time.Second} {
			if err := e.Fresh(received(), window); verdictOf(err) != stale {
				t.Errorf("%s: window %s: %v", d.name, window, err)
			}
		}
	}
}

// The signatures of both schemes that write them in hex.
func TestHexThatIsNoSignature(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("0a", 32)
	forms := map[string]string{
		"empty":                       "",
		"the prefix alone":            "sha256=",
		"another hash":                "sha1=" + digits[:40],
		"another prefix":              "sha512=" + digits,
		"the prefix in upper case":    "SHA256=" + digits,
		"the prefix twice":            "sha256=sha256=" + digits,
		"no prefix, an equals sign":   "=" + digits,
		"odd":                         "sha256=" + digits[:1],
		"63 digits":                   digits[:63],
		"63 digits with the prefix":   "sha256=" + digits[:63],
		"65 digits":                   digits + "0",
		"66 digits":                   digits + "00",
		"no hex":                      strings.Repeat("0g", 32),
		"a sign":                      "+" + digits[1:],
		"0x":                          "0x" + digits[2:],
		"a space before":              " " + digits,
		"a space behind":              digits + " ",
		"a space within":              "sha256= " + digits,
		"64 bytes with a space":       " " + digits[1:],
		"a line break":                digits + "\n",
		"sent twice":                  digits + "," + digits,
		"64 bytes with a comma":       digits[:31] + "," + digits[32:],
		"base64":                      "Cg0KDQoNCg0KDQoNCg0KDQoNCg0KDQoNCg0KDQoNCg0=",
		"full-width digits":           strings.Repeat("０", 64),
		"8 KiB":                       strings.Repeat("0a", 4096),
		"a NUL":                       digits[:63] + "\x00",
		"a list of Standard Webhooks": "v1," + digits,
	}
	for _, d := range []dialect{timestamped(), bodyAlone()} {
		for sentence, form := range forms {
			if got := d.refused(set(d.signature, form)); got != badSignature {
				t.Errorf("%s: %s: %v", d.name, sentence, got)
			}
			// The form is judged before the key's name, which would tell a stranger the ids of keys.
			if got := d.refused(set(d.signature, form), set(signature.HeaderKeyID, "k9")); got != badSignature {
				t.Errorf("%s: %s, and an unknown key: %v", d.name, sentence, got)
			}
		}
		if got := d.refused(set(d.signature, digits)); got != invalid {
			t.Errorf("%s: 64 digits of something else: %v", d.name, got)
		}
	}
}
