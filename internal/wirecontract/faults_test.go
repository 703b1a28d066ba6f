package wirecontract_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// rank is the place of a check in their order.
type rank int

const (
	rankMethod rank = iota
	rankPath
	rankEncoding
	rankSize
	rankHeaders
	rankSignature
	rankWindow
	rankPayload
	rankStore
)

// fault makes a good delivery wrong in one way. Faults of different ranks can be put on top of one another: none undoes another.
type fault struct {
	sentence string
	rank     rank
	spoil    func(*message)
	want     string
	reason   string // the log's word for the signature, where the sender gets the same answer for several
}

// sorted walks a table in the same order each time, so that what meets what does not change.
func sorted[V any](table map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, sentence := range slices.Sorted(maps.Keys(table)) {
			if !yield(sentence, table[sentence]) {
				return
			}
		}
	}
}

const cap256KiB = 262144 // MaxBodyBytes by default

// faults lists what can be wrong with a request of the scheme, in the order of the checks.
func (s stack) faults() []fault {
	var all []fault
	for _, of := range []func() []fault{s.wrongRoutes, s.wrongSizes, s.wrongHeaders, s.wrongTimestamps, s.wrongSignatures, s.wrongKeys,
		s.wrongTimes, s.wrongPayloads, s.wrongStore} {
		all = append(all, of()...)
	}
	return all
}

func (s stack) wrongRoutes() (all []fault) {
	for _, method := range []string{"GET", "HEAD", "PUT", "OPTIONS", "DELETE", "PATCH", "TRACE", "BREW", "post"} {
		all = append(all, fault{"the method " + method, rankMethod, func(m *message) { m.method = method }, "405 rejected", ""})
	}
	for _, path := range []string{"//", "/x", "/%2F", "/%2e", "/.", "/./", "/x/..", "/;x", "/%3Fx", "/index.html?a=/"} {
		all = append(all, fault{"the path " + path, rankPath, func(m *message) { m.target = path }, "404 rejected", ""})
	}
	for _, coding := range []string{"gzip", "br", "x-gzip", "", "gzip, identity", "identity, gzip", "identity;q=1", "identity,", "aws-chunked",
		strings.Repeat("gzip,", 1638)} {
		name := fmt.Sprintf("the content encoding %.20q", coding)
		all = append(all, fault{name, rankEncoding, func(m *message) { m.set("Content-Encoding", coding) }, "415 rejected", ""})
	}
	return append(all,
		fault{"two content encodings", rankEncoding, func(m *message) {
			m.add("Content-Encoding", "identity")
			m.add("content-encoding", "gzip")
		}, "415 rejected", ""})
}

func (s stack) wrongSizes() []fault {
	return []fault{
		{"one byte over the cap, as text", rankSize, func(m *message) { m.pad = cap256KiB + 1 }, "413 rejected", ""},
		{"one byte over the cap, as binary", rankSize, func(m *message) {
			m.pad, m.contentType = cap256KiB+1, "application/octet-stream"
		}, "413 rejected", ""},
	}
}

// wrongHeaders are those that are missing or malformed before any key is looked at.
func (s stack) wrongHeaders() []fault {
	all := []fault{{"no body", rankHeaders, func(m *message) { m.empty = true }, "400 rejected", ""}}
	for _, name := range []string{s.scheme.id, s.scheme.timestamp, s.scheme.signature} {
		if name == "" {
			continue
		}
		all = append(all, fault{name + " missing", rankHeaders, func(m *message) { m.drop(name) }, "400 rejected", ""})
		if name != s.scheme.signature { // a comma in it is not of the form, which is a 401
			all = append(all, fault{name + " twice", rankHeaders, func(m *message) { m.repeat(name) }, "400 rejected", ""})
		}
	}
	for sentence, id := range sorted(map[string]string{
		"empty": "", "of 129 characters": strings.Repeat("d", 129), "of 8 KiB": strings.Repeat("d", 8192), "with a space": "d 1",
		"with a comma": "d-1,d-2", "with the separator of keys": "d#1", "with a slash": "d/1", "that starts with a full stop": ".d",
		"that starts with a dash": "-d", "with an umlaut": "dé", "with full-width digits": "d-１", "with a percent sign": "d%31",
		"with a tab": "d\t1", "with bytes that are no UTF-8": "d\xff", "with an apostrophe": "d'", "in quotes": `"d"`,
	}) {
		all = append(all, fault{"a delivery id " + sentence, rankHeaders, func(m *message) { m.id = id }, "400 rejected", ""})
	}
	if s.scheme.name == "standard-webhooks" {
		all = append(all, fault{"a delivery id with a full stop", rankHeaders, func(m *message) { m.id = "d.1" }, "400 rejected", ""})
	}
	return all
}

func (s stack) wrongTimestamps() (all []fault) {
	if s.scheme.timestamp == "" {
		return nil
	}
	spelled := func(change func(digits string) string) func(*message) {
		return func(m *message) { m.timestamp = change(m.timestamp) }
	}
	shifted := func(zero rune) func(string) string {
		return func(digits string) string { return strings.Map(func(r rune) rune { return r - '0' + zero }, digits) }
	}
	for sentence, change := range sorted(map[string]func(string) string{
		"empty":                      func(string) string { return "" },
		"in milliseconds":            func(d string) string { return d + "000" },
		"in nanoseconds":             func(d string) string { return d + "000000000" },
		"with a plus":                func(d string) string { return "+" + d },
		"with a plus, ten long":      func(d string) string { return "+" + d[1:] },
		"with a minus, ten long":     func(d string) string { return "-" + d[1:] },
		"with a space inside":        func(d string) string { return d[:5] + " " + d[5:] },
		"of nine digits":             func(d string) string { return d[1:] },
		"of eleven digits":           func(d string) string { return "0" + d },
		"with a fraction":            func(d string) string { return d + ".0" },
		"with an exponent":           func(d string) string { return d[:1] + "." + d[1:8] + "e9" },
		"in hex":                     func(string) string { return "0x6a9b4c00" },
		"with underscores":           func(d string) string { return d[:3] + "_" + d[4:] },
		"in Arabic digits":           shifted('٠'),
		"in Devanagari digits":       shifted('०'),
		"in full-width digits":       shifted('０'),
		"one digit of them Arabic":   func(d string) string { return d[:8] + "٩" }, // ten bytes long
		"in RFC 3339":                func(string) string { return time.Now().UTC().Format(time.RFC3339) },
		"as an HTTP date":            func(string) string { return time.Now().UTC().Format(time.RFC1123) },
		"beyond 64 bits":             func(d string) string { return d + d + d },
		"of the year 9999":           func(string) string { return "253402300799" },
		"of 8 KiB":                   func(d string) string { return strings.Repeat("0", 8182) + d },
		"with a comma":               func(d string) string { return d + "," + d },
		"with a byte that is no UTF": func(d string) string { return d[:9] + "\xb9" },
		"that is no number":          func(string) string { return "Infinity.." },
	}) {
		all = append(all, fault{"a timestamp " + sentence, rankHeaders, spelled(change), "400 rejected", ""})
	}
	return all
}

// wrongSignatures reach the check of the signature. None of them may ever be let in.
func (s stack) wrongSignatures() (all []fault) {
	bad := func(reason, sentence string, spoil func(*message)) {
		all = append(all, fault{sentence, rankSignature, spoil, "401 rejected", reason})
	}
	altered := func(change func(string) string) func(*message) {
		return func(m *message) { m.alter(s.scheme.signature, change) }
	}
	for sentence, change := range sorted(s.malformedSignatures()) {
		bad("malformed", "a signature "+sentence, altered(change))
	}
	bad("malformed", "the signature twice", func(m *message) { m.repeat(s.scheme.signature) })
	bad("invalid", "a signature with another key", func(m *message) { m.key = s.scheme.key() })
	bad("invalid", "a signature with a key that is over, without its name", func(m *message) { m.key, m.keyID = s.ended, "" })
	bad("invalid", "one byte of the body changed", func(m *message) {
		m.onTheWay = func(b []byte) []byte { return append(b, ' ') }
	})
	if s.scheme.timestamp != "" {
		bad("invalid", "another timestamp than the one that was signed", func(m *message) {
			m.alter(s.scheme.timestamp, func(d string) string {
				if len(d) != 10 { // it is wrong already, and more so
					return d
				}
				return d[:9] + string('0'+(d[9]-'0'+1)%10)
			})
		})
	}
	return all
}

// malformedSignatures keep as much of the true signature as they can.
func (s stack) malformedSignatures() map[string]func(string) string {
	constant := func(text string) func(string) string { return func(string) string { return text } }
	all := map[string]func(string) string{
		"that is empty":    constant(""),
		"of 8 KiB":         constant(strings.Repeat("0a", 4096)),
		"cut by one":       func(v string) string { return v[:len(v)-1] },
		"cut by two":       func(v string) string { return v[:len(v)-2] },
		"longer by one":    func(v string) string { return v + "0" },
		"longer by two":    func(v string) string { return v + "00" },
		"in quotes":        func(v string) string { return `"` + v + `"` },
		"with a comma":     func(v string) string { return v + "," },
		"twice in one":     func(v string) string { return v + "," + v },
		"with a NEL byte":  func(v string) string { return v + "\x85" },
		"with a wide char": func(v string) string { return v[:len(v)-1] + "０" },
	}
	if s.scheme.name == "standard-webhooks" {
		all["of another version"] = func(v string) string { return "v2" + v[2:] }
		all["of the asymmetric version"] = func(v string) string { return "v1a" + v[2:] }
		all["without its version"] = func(v string) string { return v[3:] }
		all["in capitals"] = strings.ToUpper
		all["with two spaces"] = func(v string) string { return v + "  " + v }
		all["in hex"] = func(string) string { return "v1," + strings.Repeat("0a", 32) }
		all["in base64 for URLs"] = func(v string) string { return "v1," + strings.Repeat("-_", 21) + "-=" }
		delete(all, "longer by one") // of base64 that has ended; the four others of its kind stay
		return all
	}
	all["without digits"] = constant("sha256=")
	all["of sha1"] = constant("sha1=" + strings.Repeat("0a", 20))
	all["of sha1 in name"] = func(v string) string { return "sha1=" + strings.TrimPrefix(v, "sha256=") }
	all["of SHA256 in capitals"] = func(v string) string { return "SHA256=" + strings.TrimPrefix(v, "sha256=") }
	all["with the prefix twice"] = func(v string) string { return "sha256=sha256=" + strings.TrimPrefix(v, "sha256=") }
	all["with a space behind the prefix"] = func(v string) string { return "sha256= " + strings.TrimPrefix(v, "sha256=") }
	all["with 0x"] = func(v string) string { return "0x" + strings.TrimPrefix(v, "sha256=") }
	all["that is no hex"] = func(v string) string { return v[:len(v)-1] + "g" }
	return all
}

func (s stack) wrongKeys() (all []fault) {
	if s.scheme.keyID == "" {
		return nil
	}
	named := func(reason, sentence, id string, key string) {
		all = append(all, fault{sentence, rankSignature, func(m *message) {
			m.key = key
			m.drop(s.scheme.keyID)
			m.add(s.scheme.keyID, id)
		}, "401 rejected", reason})
	}
	named("invalid", "the name of the other key", "k2", s.key)
	named("unknown_key", "the name of no key", "k9", s.key)
	named("unknown_key", "the name of a key that is over", "k0", s.ended)
	named("unknown_key", "the name of a key in capitals", "K1", s.key)
	named("unknown_key", "an empty name of a key", "", s.key)
	named("unknown_key", "two names of keys in one", "k1,k2", s.key)
	named("unknown_key", "a name of a key with a space", "k 1", s.key)
	named("unknown_key", "a name of a key of 8 KiB", strings.Repeat("k", 8192), s.key)
	return append(all, fault{"the name of the key twice", rankSignature, func(m *message) { m.repeat(s.scheme.keyID) }, "401 rejected", "unknown_key"})
}

// wrongTimes are far outside of the window: its edges have a test of their own, with a clock that stands still.
func (s stack) wrongTimes() (all []fault) {
	if s.scheme.timestamp == "" {
		return nil
	}
	for sentence, at := range sorted(map[string]func() string{
		"an hour old":                     func() string { return unix(time.Now().Add(-time.Hour)) },
		"an hour ahead":                   func() string { return unix(time.Now().Add(time.Hour)) },
		"of the year 1970":                func() string { return "0000000000" },
		"of the year 1970, one second in": func() string { return "0000000001" },
		"of the year 2286":                func() string { return "9999999999" },
	}) {
		all = append(all, fault{"a timestamp " + sentence, rankWindow, func(m *message) { m.timestamp = at() }, "401 rejected", "stale"})
	}
	return all
}

// wrongPayloads are authentic: they answer 422, and so they prove that every byte arrived. What else can be wrong with a payload
// is internal/command's to test.
func (s stack) wrongPayloads() (all []fault) {
	good := s.bodyFor("r-payload", "wh-17")
	for sentence, body := range sorted(map[string]string{
		"that is no JSON":                   "hello",
		"that is a NUL":                     "\x00",
		"with a NUL behind":                 good + "\x00",
		"that is null":                      "null",
		"with a byte order mark":            "\ufeff" + good,
		"with trailing data":                good + good,
		"with the run's id twice":           strings.Replace(good, "{", `{"run_id":"r-2",`, 1),
		"with RUN_ID for run_id":            strings.Replace(good, "run_id", "RUN_ID", 1),
		"with a lone surrogate":             strings.Replace(good, "wh-17", `\ud800`, 1),
		"with a slash in the warehouse":     strings.Replace(good, "wh-17", "wh/17", 1),
		"of an unknown type":                strings.Replace(good, "cleanup.run", "warehouse.burn", 1),
		"without a field":                   `{"type":"cleanup.run","run_id":"r-payload"}`,
		"with a time without an offset":     strings.Replace(good, "05Z", "05", 1),
		"due in a year":                     strings.Replace(good, "2020-01-02T03:04:05Z", time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339), 1),
		"of a listing of generation 0":      `{"type":"listing.expire","listing_id":"l","generation":0,"expired_at":"2020-01-01T00:00:00Z"}`,
		"of a reservation without a title":  `{"type":"reservation.expire","reservationId":"v","expiresAt":"2020-01-01T00:00:00Z"}`,
		"that would be a command, in a key": `{"cleanup.run":` + good + `}`,
	}) {
		all = append(all, fault{"a payload " + sentence, rankPayload, func(m *message) { m.body = []byte(body) }, "422 rejected", ""})
	}
	all = append(all, fault{"a payload that is no UTF-8", rankPayload, func(m *message) {
		m.body, m.contentType = []byte(strings.Replace(good, "wh-17", "wh\xff", 1)), "application/octet-stream"
	}, "422 rejected", ""})
	soon := strings.Replace(good, "2020-01-02T03:04:05Z", time.Now().Add(2*time.Minute).UTC().Format(time.RFC3339), 1)
	return append(all, fault{"a payload due in two minutes", rankPayload, func(m *message) { m.body = []byte(soon) }, "503 not_due", ""})
}

func (s stack) wrongStore() []fault {
	return []fault{{"the store denies access", rankStore, func(m *message) {
		s.gate.on(m.id, failing(400, "AccessDeniedException", ""))
	}, "503 retryable_failure", ""}}
}
