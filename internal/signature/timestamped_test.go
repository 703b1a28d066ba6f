package signature_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/signature"
)

const (
	current  = "correct horse battery staple"
	previous = "a key of last year"
)

var body = []byte(`{"run_id":"r-1"}` + "\r\n\xff\xfe🙂")

func received() time.Time { return time.Unix(1_790_000_000, 0).UTC() }

func key(id, text string) signature.Key { return signature.NewKey(id, text, time.Time{}) }

// fixed is a signature that openssl made, not this package:
//
//	printf '1790000000.{"run_id":"r-1"}' | openssl dgst -sha256 -hmac 'correct horse battery staple'
const fixed = "2e859f73ee1a1574c857525e20334c3dfaf931e071dd097d817a6b6cb9d11ddb"

func headersOf(m map[string]string) signature.Headers {
	return func(name string) (string, bool) {
		for k, v := range m {
			if strings.EqualFold(k, name) {
				return v, true
			}
		}
		return "", false
	}
}

// check runs the scheme as the front door does: headers, signature, window.
func check(headers map[string]string, body []byte, keys signature.Keys, at time.Time) (string, error) {
	var scheme signature.Timestamped
	e, err := scheme.Read(headersOf(headers))
	if err != nil {
		return "", err
	}
	id, err := scheme.Verify(e, body, keys.Active(at))
	if err != nil {
		return "", err
	}
	return id, e.Fresh(at, 300*time.Second)
}

func signed(k signature.Key, at time.Time) map[string]string {
	return signature.Timestamped{}.Sign(k, "d-1", at, body)
}

type verdict struct {
	Reason signature.Reason
	Class  signature.Class
}

func verdictOf(err error) verdict {
	if e, ok := errors.AsType[*signature.Error](err); ok {
		return verdict{e.Reason, e.Class}
	}
	return verdict{}
}

func TestTimestampedRefuses(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(map[string]string) { return func(h map[string]string) { h[name] = value } }
	drop := func(name string) func(map[string]string) { return func(h map[string]string) { delete(h, name) } }
	missing := verdict{signature.ReasonMissing, signature.ClassBadRequest}
	malformed := verdict{signature.ReasonMalformed, signature.ClassBadRequest}
	badSignature := verdict{signature.ReasonMalformed, signature.ClassUnauthorized}
	invalid := verdict{signature.ReasonInvalid, signature.ClassUnauthorized}
	unknown := verdict{signature.ReasonUnknownKey, signature.ClassUnauthorized}
	digits := strings.Repeat("0a", 32)

	for sentence, c := range map[string]struct {
		change func(map[string]string)
		want   verdict
	}{
		"no delivery id":                     {drop(signature.HeaderDeliveryID), missing},
		"no timestamp":                       {drop(signature.HeaderTimestamp), missing},
		"no signature":                       {drop(signature.HeaderSignature), missing},
		"an empty delivery id":               {set(signature.HeaderDeliveryID, ""), malformed},
		"a delivery id of 129 characters":    {set(signature.HeaderDeliveryID, strings.Repeat("d", 129)), malformed},
		"a delivery id sent twice":           {set(signature.HeaderDeliveryID, "d-1,d-1"), malformed},
		"a delivery id with a separator":     {set(signature.HeaderDeliveryID, "d#1"), malformed},
		"a delivery id with a slash":         {set(signature.HeaderDeliveryID, "d/1"), malformed},
		"a delivery id that starts with a .": {set(signature.HeaderDeliveryID, ".d"), malformed},
		"a delivery id with a NUL":           {set(signature.HeaderDeliveryID, "d\x00"), malformed},
		"a delivery id with an umlaut":       {set(signature.HeaderDeliveryID, "dä"), malformed},
		"a timestamp in milliseconds":        {set(signature.HeaderTimestamp, "1790000000000"), malformed},
		"a timestamp of 9 digits":            {set(signature.HeaderTimestamp, "179000000"), malformed},
		"a timestamp of 11 digits":           {set(signature.HeaderTimestamp, "01790000000"), malformed},
		"a timestamp with a plus":            {set(signature.HeaderTimestamp, "+179000000"), malformed},
		"a timestamp with a minus":           {set(signature.HeaderTimestamp, "-179000000"), malformed},
		"a timestamp with a fraction":        {set(signature.HeaderTimestamp, "17900000.0"), malformed},
		"a timestamp with an exponent":       {set(signature.HeaderTimestamp, "1790000e06"), malformed},
		"a timestamp with a space":           {set(signature.HeaderTimestamp, "1790000000 "), malformed},
		"a timestamp of 10 bytes in Arabic":  {set(signature.HeaderTimestamp, "١٧٩٠٠"), malformed},
		"a timestamp in full-width digits":   {set(signature.HeaderTimestamp, "１７９０００００００"), malformed},
		"a timestamp with an underscore":     {set(signature.HeaderTimestamp, "1_79000000"), malformed},
		"a timestamp in hex":                 {set(signature.HeaderTimestamp, "0x6AB13B80"), malformed},
		"a timestamp sent twice":             {set(signature.HeaderTimestamp, "1790000000,1790000000"), malformed},
		"an empty signature":                 {set(signature.HeaderSignature, ""), badSignature},
		"a signature that is the prefix":     {set(signature.HeaderSignature, "sha256="), badSignature},
		"a signature of another hash":        {set(signature.HeaderSignature, "sha1="+digits[:40]), badSignature},
		"a signature with another prefix":    {set(signature.HeaderSignature, "sha512="+digits), badSignature},
		"a prefix in upper case":             {set(signature.HeaderSignature, "SHA256="+digits), badSignature},
		"a prefix twice":                     {set(signature.HeaderSignature, "sha256=sha256="+digits), badSignature},
		"a signature of 63 digits":           {set(signature.HeaderSignature, "sha256="+digits[:63]), badSignature},
		"a signature of 65 digits":           {set(signature.HeaderSignature, digits+"0"), badSignature},
		"a signature of 66 digits":           {set(signature.HeaderSignature, digits+"00"), badSignature},
		"a signature that is no hex":         {set(signature.HeaderSignature, "sha256="+strings.Repeat("0g", 32)), badSignature},
		"a signature with a space before":    {set(signature.HeaderSignature, " sha256="+digits), badSignature},
		"a signature with a space within":    {set(signature.HeaderSignature, "sha256= "+digits), badSignature},
		"a signature sent twice":             {set(signature.HeaderSignature, digits+","+digits), badSignature},
		"a signature of 8 KiB":               {set(signature.HeaderSignature, strings.Repeat("0a", 4096)), badSignature},
		"a signature of other bytes":         {set(signature.HeaderSignature, "sha256="+digits), invalid},
		"another second than was signed":     {set(signature.HeaderTimestamp, "1790000001"), invalid},
		"a key id that nobody has":           {set(signature.HeaderKeyID, "k9"), unknown},
		"an empty key id":                    {set(signature.HeaderKeyID, ""), unknown},
		"a key id that is no id":             {set(signature.HeaderKeyID, "k2,k2"), unknown},
		"the id of another key":              {set(signature.HeaderKeyID, "k1"), invalid},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			headers := signed(key("k2", current), received())
			c.change(headers)
			_, err := check(headers, body, signature.Keys{key("k2", current), key("k1", previous)}, received())
			if diff := cmp.Diff(c.want, verdictOf(err)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryActiveKeyIsTried(t *testing.T) {
	t.Parallel()
	end := received().Add(-time.Hour)
	retired := signature.NewKey("k0", "a key that ended", end)
	keys := signature.Keys{key("k2", current), key("k1", previous), retired, key("k3", ""), key("k4", " \n")}
	invalid := verdict{signature.ReasonInvalid, signature.ClassUnauthorized}
	unknown := verdict{signature.ReasonUnknownKey, signature.ClassUnauthorized}

	for sentence, c := range map[string]struct {
		with    signature.Key
		wantKey string
		want    verdict
	}{
		"the current key, named":              {key("k2", current), "k2", verdict{}},
		"the current key, not named":          {key("", current), "k2", verdict{}},
		"the previous key, named":             {key("k1", previous), "k1", verdict{}},
		"the previous key, not named":         {key("", previous), "k1", verdict{}},
		"a retired key, named":                {key("k0", "a key that ended"), "", unknown},
		"a retired key, not named":            {key("", "a key that ended"), "", invalid},
		"the empty key, named by a blank one": {key("k3", ""), "", unknown},
		"the empty key, not named":            {key("", ""), "", invalid},
		"a key of whitespace, not named":      {key("", " \n"), "", invalid},
		"the key with a newline behind it":    {key("", current+"\n"), "", invalid},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, err := check(signed(c.with, received()), body, keys, received())
			if diff := cmp.Diff(c.want, verdictOf(err)); diff != "" || got != c.wantKey {
				t.Errorf("key %q, want %q; verdict (-want +got):\n%s", got, c.wantKey, diff)
			}
		})
	}
}

func TestKeyTextIsTakenAsItStands(t *testing.T) {
	t.Parallel()
	for _, text := range []string{current + "\n", "<&>\"'", "ключ", " leading"} {
		if _, err := check(signed(key("", text), received()), body, signature.Keys{key("k", text)}, received()); err != nil {
			t.Errorf("key %q: %v", text, err)
		}
	}
}

func TestKeyEndsBehindNotAfter(t *testing.T) {
	t.Parallel()
	k := signature.NewKey("k", current, received())
	for offset, want := range map[time.Duration]int{-time.Nanosecond: 1, 0: 1, time.Nanosecond: 0} {
		if got := len(signature.Keys{k}.Active(received().Add(offset))); got != want {
			t.Errorf("%s from the end: %d active keys, want %d", offset, got, want)
		}
	}
}

func TestWithoutAnActiveKeyNothingIsVerified(t *testing.T) {
	t.Parallel()
	for sentence, keys := range map[string]signature.Keys{
		"no key": nil, "a blank key": {key("k", "")}, "an ended key": {signature.NewKey("k", current, received().Add(-1))},
	} {
		_, err := check(signed(key("k", current), received()), body, keys, received())
		want := verdict{signature.ReasonNoKey, signature.ClassUnavailable}
		if diff := cmp.Diff(want, verdictOf(err)); diff != "" {
			t.Errorf("%s: verdict (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestBlankKeyNeverMatchesEvenWhenHandedIn(t *testing.T) {
	t.Parallel()
	var scheme signature.Timestamped
	for _, blank := range []signature.Key{{}, key("k", ""), key("k", "\t")} {
		e, err := scheme.Read(headersOf(signed(blank, received())))
		if err != nil {
			t.Fatal(err)
		}
		if id, err := scheme.Verify(e, body, signature.Keys{blank}); err == nil {
			t.Errorf("verified with the blank key %q", id)
		}
	}
}

func TestWindowIncludesItsEdges(t *testing.T) {
	t.Parallel()
	stale := verdict{signature.ReasonStale, signature.ClassUnauthorized}
	for _, fraction := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond} {
		for offset, want := range map[int]verdict{
			-301: stale, -300: {}, 0: {}, 300: {}, 301: stale, -700_000_000: stale, 2_000_000_000: stale,
		} {
			headers := signed(key("", current), received().Add(time.Duration(offset)*time.Second))
			_, err := check(headers, body, signature.Keys{key("k", current)}, received().Add(fraction))
			if diff := cmp.Diff(want, verdictOf(err)); diff != "" {
				t.Errorf("%d s and %s: verdict (-want +got):\n%s", offset, fraction, diff)
			}
		}
	}
}

func TestTenDigitsReachBackTo1970(t *testing.T) {
	t.Parallel()
	for _, timestamp := range []string{"0000000000", "9999999999"} {
		headers := signed(key("", current), received())
		headers[signature.HeaderTimestamp] = timestamp
		e, err := signature.Timestamped{}.Read(headersOf(headers))
		if err != nil {
			t.Fatal(err)
		}
		if got := verdictOf(e.Fresh(received(), 300*time.Second)).Reason; got != signature.ReasonStale {
			t.Errorf("%s: %q, want stale", timestamp, got)
		}
	}
}

func TestWindowThatIsNotPositiveLetsNothingThrough(t *testing.T) {
	t.Parallel()
	e, err := signature.Timestamped{}.Read(headersOf(signed(key("", current), received())))
	if err != nil {
		t.Fatal(err)
	}
	for _, window := range []time.Duration{0, -time.Second} {
		if got := verdictOf(e.Fresh(received(), window)).Reason; got != signature.ReasonStale {
			t.Errorf("window %s: %q, want stale", window, got)
		}
	}
}

func TestSignatureOfAnotherToolVerifies(t *testing.T) {
	t.Parallel()
	for sentence, sig := range map[string]string{
		"with the prefix": "sha256=" + fixed, "bare": fixed, "in upper case": "sha256=" + strings.ToUpper(fixed),
		"in mixed case": strings.ToUpper(fixed[:31]) + fixed[31:],
	} {
		headers := map[string]string{
			"x-delivery-id": "d-1", "X-DELIVERY-TIMESTAMP": "1790000000", "X-Delivery-Signature": sig,
		}
		if _, err := check(headers, []byte(`{"run_id":"r-1"}`), signature.Keys{key("k", current)}, received()); err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestSchemesAreChosenByName(t *testing.T) {
	t.Parallel()
	for _, name := range signature.SchemeNames() {
		if s, err := signature.Named(name); err != nil || s == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "none", "Timestamped"} {
		if _, err := signature.Named(name); err == nil {
			t.Errorf("%q is a scheme", name)
		}
	}
}
