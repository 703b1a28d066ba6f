package signature_test

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"custody/internal/signature"
)

// vector is a signature that the project of Standard Webhooks publishes.
type vector struct {
	secret, id, timestamp, body, sig string
}

// vectors are those of the sign tests of its libraries: the first is in the tests of Go, Python, JavaScript, Java, PHP, Ruby
// and C#, the second in those of Rust
// (https://github.com/standard-webhooks/standard-webhooks, libraries/go/webhook_test.go and libraries/rust/src/lib.rs).
func vectors() map[string]vector {
	return map[string]vector{
		"of most libraries": {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
			`{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
		"of the Rust library": {"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", "1649367553",
			`{"email":"test@example.com","username":"test_user"}`, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="},
	}
}

func (v vector) at(t *testing.T) time.Time {
	t.Helper()
	e, err := signature.StandardWebhooks{}.Read(headersOf(v.headers()))
	if err != nil {
		t.Fatal(err)
	}
	return e.Timestamp
}

func (v vector) headers() map[string]string {
	return map[string]string{"Webhook-Id": v.id, "WEBHOOK-TIMESTAMP": v.timestamp, "webhook-signature": v.sig}
}

func TestPublishedVectors(t *testing.T) {
	t.Parallel()
	d := standardWebhooks()
	for sentence, v := range vectors() {
		at, k := v.at(t), key("k", v.secret)
		if _, err := d.check(v.headers(), []byte(v.body), signature.Keys{k}, at.Add(300*time.Second)); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
		if got := d.scheme.Sign(k, v.id, at, []byte(v.body))[d.signature]; got != v.sig {
			t.Errorf("%s: signed %q, want %q", sentence, got, v.sig)
		}
		for change, bad := range map[string]vector{
			"another id":   {v.secret, v.id + "x", v.timestamp, v.body, v.sig},
			"another time": {v.secret, v.id, v.timestamp[:9] + "9", v.body, v.sig},
			"another body": {v.secret, v.id, v.timestamp, v.body + "\n", v.sig},
			"another key":  {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwBg==", v.id, v.timestamp, v.body, v.sig},
			// Bad signatures of the libraries' own tests.
			"a published bad one":     {v.secret, v.id, v.timestamp, v.body, "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="},
			"a published bad one too": {v.secret, v.id, v.timestamp, v.body, "v1,R3PTzyfHASBKHH98a7yexTwaJ4yNIcGhFQc1yuN+BPU="},
		} {
			_, err := d.check(bad.headers(), []byte(bad.body), signature.Keys{key("k", bad.secret)}, at)
			if verdictOf(err) != invalid {
				t.Errorf("%s, %s: %v", sentence, change, err)
			}
		}
	}
}

// The library takes its own clock, so these tests take it as well.
func TestTheirLibraryAndOursUnderstandEachOther(t *testing.T) {
	t.Parallel()
	d := standardWebhooks()
	for _, secret := range []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwBg==", "whsec_AQ=="} {
		theirs, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{body, {}, []byte(`{"run_id":"r-1"}`), []byte("."), []byte(strings.Repeat("x", 1<<18))} {
			now := time.Now()
			ours := d.scheme.Sign(key("k", secret), "msg_1", now, b)
			if err := theirs.Verify(b, httpHeader(ours)); err != nil {
				t.Errorf("%d bytes: they refuse what we sign: %v", len(b), err)
			}
			if err := theirs.Verify(append(b, 'x'), httpHeader(ours)); err == nil {
				t.Errorf("%d bytes: they accept another body", len(b))
			}
			sig, err := theirs.Sign("msg_1", now, b)
			if err != nil {
				t.Fatal(err)
			}
			headers := map[string]string{d.id: "msg_1", d.at: ours[d.at], d.signature: sig}
			if _, err := d.check(headers, b, signature.Keys{key("k", secret)}, now); err != nil {
				t.Errorf("%d bytes: we refuse what they sign: %v", len(b), err)
			}
		}
	}
}

func httpHeader(headers map[string]string) http.Header {
	h := http.Header{}
	for name, value := range headers {
		h.Set(name, value)
	}
	return h
}

const published = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=" // made over other bytes

func TestSignatureLists(t *testing.T) {
	t.Parallel()
	d := standardWebhooks()
	signed := d.signed(d.key("", current))
	good := signed[d.signature]
	old := d.signed(d.key("", previous))[d.signature]
	mac := strings.TrimPrefix(good, "v1,")
	others := func(n int) string { return strings.Repeat(published+" ", n) }
	stray := mac[:42] + string(rune(mac[42]+1)) + "=" // decodes to the same bytes where the decoder is not strict

	for sentence, c := range map[string]struct {
		list string
		want verdict
	}{
		"one":                            {good, accepted},
		"one by the previous key":        {old, accepted},
		"both keys":                      {old + " " + good, accepted},
		"a bad one first":                {published + " " + good, accepted},
		"a bad one behind":               {good + " " + published, accepted},
		"bad ones alone":                 {published + " " + published, invalid},
		"the match in fifth place":       {others(4) + good, accepted},
		"the match in sixth place":       {others(5) + good, invalid},
		"six, the match first":           {good + " " + strings.TrimSpace(others(5)), accepted},
		"five malformed before it":       {strings.Repeat("v1,x ", 5) + good, badSignature},
		"four malformed before it":       {strings.Repeat("v1,x ", 4) + good, accepted},
		"an asymmetric one beside it":    {good + " v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==", accepted},
		"nine of other versions first":   {strings.Repeat("v1a,AAAA v2,BBBB v0, ", 3) + good, accepted},
		"an asymmetric one alone":        {"v1a," + mac, badSignature},
		"the MAC as another version":     {"v2," + mac, badSignature},
		"a version in upper case":        {"V1," + mac, badSignature},
		"a version with a space":         {"v1 ," + mac, badSignature},
		"no version":                     {mac, badSignature},
		"an empty version":               {"," + mac, badSignature},
		"empty":                          {"", badSignature},
		"a version alone":                {"v1", badSignature},
		"a version and a comma":          {"v1,", badSignature},
		"the first digits":               {good[:8], badSignature},
		"no padding":                     {strings.TrimRight(good, "="), badSignature},
		"too much padding":               {good + "=", badSignature},
		"the alphabet of URLs":           {"v1," + strings.NewReplacer("+", "-", "/", "_").Replace("Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="), badSignature},
		"stray bits in the last digit":   {"v1," + stray, badSignature},
		"a line break within":            {"v1," + mac[:20] + "\n" + mac[20:], badSignature},
		"44 bytes with line breaks":      {"v1," + mac[:39] + "\n\n\n\n=", badSignature},
		"31 bytes":                       {"v1," + base64.StdEncoding.EncodeToString(make([]byte, 31)), badSignature},
		"33 bytes":                       {"v1," + base64.StdEncoding.EncodeToString(make([]byte, 33)), badSignature},
		"hex":                            {"v1," + strings.Repeat("0a", 32), badSignature},
		"the key id in hex form":         {"sha256=" + strings.Repeat("0a", 32), badSignature},
		"a space before":                 {" " + good, badSignature},
		"a space behind":                 {good + " ", badSignature},
		"two spaces between":             {published + "  " + good, badSignature},
		"a tab between":                  {published + "\t" + good, badSignature},
		"a full-width comma":             {"v1，" + mac, badSignature},
		"sent twice":                     {good + "," + good, badSignature},
		"sent twice, by a proxy":         {good + ", " + good, badSignature},
		"sent twice, the first empty":    {"," + good, badSignature},
		"sent twice, the second empty":   {good + ",", badSignature},
		"an empty header and a list":     {",x " + good, badSignature},
		"a list and another header":      {good + " " + published + "," + published, badSignature},
		"another header and a list":      {published + "," + published + " " + good, badSignature},
		"a list and another's version":   {good + " v1a,AAAA,v1,BBBB", badSignature},
		"a list, and another at its end": {good + " " + strings.TrimSpace(others(5)) + ",x", badSignature},
		"8 KiB of versions":              {strings.TrimSpace(strings.Repeat("v2,AAAA ", 1024)), badSignature},
		"8 KiB of commas":                {strings.Repeat(",", 8192), badSignature},
		"8 KiB of spaces":                {strings.Repeat(" ", 8192), badSignature},
		"8 KiB of base64":                {"v1," + strings.Repeat("A", 8192), badSignature},
		"invalid UTF-8":                  {"v1,\xff\xfe", badSignature},
	} {
		if got := d.refused(set(d.signature, c.list)); got != c.want {
			t.Errorf("%s: %v, want %v", sentence, got, c.want)
		}
	}
}

// The id and the timestamp are signed here, and a full stop parts them. So an id has none: otherwise the bytes that were
// signed for one id, time and body would be those of another.
func TestSignedPartsCannotMove(t *testing.T) {
	t.Parallel()
	d := standardWebhooks()
	if got := d.refused(set(d.id, "d-2")); got != invalid {
		t.Errorf("another id: %v", got)
	}
	if got := d.refused(set(d.at, "1790000001")); got != invalid {
		t.Errorf("another second: %v", got)
	}
	// Signed for the id d-1 and a body that begins like a timestamp.
	shifted := []byte("1790000001." + string(body))
	headers := d.scheme.Sign(d.key("", current), "d-1", received(), shifted)
	headers[d.id], headers[d.at] = "d-1.1790000000", "1790000001"
	if id, err := d.check(headers, body, signature.Keys{d.key("k", current)}, received()); verdictOf(err) != malformed {
		t.Errorf("the same bytes under another id: key %q, %v", id, err)
	}
	for _, id := range []string{"d.1", "d.", "d-1.1790000000"} {
		if got := d.refused(set(d.id, id)); got != malformed {
			t.Errorf("id %q: %v", id, got)
		}
	}
}

func TestSecretsOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	d := standardWebhooks()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwBg=="
	const rule = "must be whsec_ and the key, not all zeros, in padded standard base64 without spaces or line breaks; " +
		"the prefix may be left out where the key has 24 bytes or more"
	signed := d.signed(key("", secret))
	for sentence, c := range map[string]struct {
		text   string
		usable bool
	}{
		"25 bytes":                     {secret, true},
		"24 bytes":                     {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true},
		"64 bytes":                     {"whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 64))), true},
		"one byte":                     {"whsec_AQ==", true},
		"a zero":                       {"whsec_AA==", false},
		"64 zeros":                     {"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 64)), false},
		"a zero behind a key":          {"whsec_AQA=", true},
		"no byte":                      {"whsec_", false},
		"padding alone":                {"whsec_====", false},
		"no prefix before 25 bytes":    {strings.TrimPrefix(secret, "whsec_"), true},
		"no prefix before 24 bytes":    {"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true},
		"no prefix before 23 bytes":    {base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 23))), false},
		"no prefix before 24 zeros":    {base64.StdEncoding.EncodeToString(make([]byte, 24)), false},
		"what the stack makes":         {strings.Repeat("aB3dEf7h", 8), true}, // 64 letters and digits
		"the prefix twice":             {"whsec_" + secret, false},
		"the prefix in upper case":     {"WHSEC_" + strings.TrimPrefix(secret, "whsec_"), false},
		"the prefix of a public key":   {"whpk_" + strings.TrimPrefix(secret, "whsec_"), false},
		"a space before":               {" " + secret, false},
		"a newline behind it":          {secret + "\n", false},
		"a newline within":             {secret[:20] + "\n" + secret[20:], false},
		"a carriage return behind it":  {secret + "\r", false},
		"no padding":                   {strings.TrimRight(secret, "="), false},
		"stray bits in the last digit": {strings.Replace(secret, "Bg==", "Br==", 1), false},
		"the alphabet of URLs":         {"whsec_-_-_", false},
		"the alphabet of base64":       {"whsec_+/+/", true},
		"hex":                          {"0123456789abcdef", false},
		"angle brackets":               {"<whsec_AAAA>", false},
		"a text":                       {current, false},
	} {
		k := key("k", c.text)
		if err := d.scheme.CheckKey(k); (err == nil) != c.usable {
			t.Errorf("%s: %v, want usable %t", sentence, err, c.usable)
		} else if err != nil && err.Error() != rule {
			t.Errorf("%s: the error %q holds more than the rule", sentence, err)
		}
		if c.usable {
			continue
		}
		if _, err := d.check(signed, body, signature.Keys{k}, received()); verdictOf(err) != noKey {
			t.Errorf("%s: verified with it: %v", sentence, err)
		}
		if _, err := d.check(signed, body, signature.Keys{k, key("k2", secret)}, received()); err != nil {
			t.Errorf("%s: the good key beside it: %v", sentence, err)
		}
		unsigned := d.scheme.Sign(k, "d-1", received(), body)
		if names := slices.Sorted(maps.Keys(unsigned)); !slices.Equal(names, []string{d.id, d.at}) {
			t.Errorf("%s: signed with it: %v", sentence, names)
		}
	}
}
