package signature_test

import (
	"encoding/base64"
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

// dialect is a scheme and what its requests look like.
type dialect struct {
	name      string
	scheme    signature.Scheme
	id, at    string // the headers of delivery id and timestamp; "" for none
	signature string // the header of the signature
	names     bool   // a request can name its key
}

func timestamped() dialect {
	return dialect{signature.SchemeTimestamped, signature.Timestamped{},
		signature.HeaderDeliveryID, signature.HeaderTimestamp, signature.HeaderSignature, true}
}

func standardWebhooks() dialect {
	return dialect{signature.SchemeStandardWebhooks, signature.StandardWebhooks{},
		signature.HeaderWebhookID, signature.HeaderWebhookTimestamp, signature.HeaderWebhookSignature, false}
}

func bodyAlone() dialect {
	return dialect{signature.SchemeBody, signature.Body{}, signature.HeaderDeliveryID, "", signature.HeaderAppSignature, true}
}

func dialects() []dialect { return []dialect{timestamped(), standardWebhooks(), bodyAlone()} }

// dated are the dialects with a timestamp.
func dated() []dialect { return []dialect{timestamped(), standardWebhooks()} }

// key gives the text the form that the scheme wants. A blank one stays as it is.
func (d dialect) key(id, text string) signature.Key {
	if d.name == signature.SchemeStandardWebhooks && !key("", text).Blank() {
		text = signature.SecretPrefix + base64.StdEncoding.EncodeToString([]byte(text))
	}
	return key(id, text)
}

// signed are the headers of a good request, changed by hand afterwards.
func (d dialect) signed(k signature.Key, changes ...func(map[string]string)) map[string]string {
	headers := d.scheme.Sign(k, "d-1", received(), body)
	for _, change := range changes {
		change(headers)
	}
	return headers
}

// refused is what becomes of a request that the changes have made bad, in a stack with two keys.
func (d dialect) refused(changes ...func(map[string]string)) verdict {
	keys := signature.Keys{d.key("k2", current), d.key("k1", previous)}
	_, err := d.check(d.signed(d.key("k2", current), changes...), body, keys, received())
	return verdictOf(err)
}

// check runs the scheme as the front door does: headers, signature, window.
func (d dialect) check(headers map[string]string, body []byte, keys signature.Keys, at time.Time) (string, error) {
	e, err := d.scheme.Read(headersOf(headers))
	if err != nil {
		return "", err
	}
	id, err := d.scheme.Verify(e, body, keys.Active(at))
	if err != nil {
		return "", err
	}
	return id, e.Fresh(at, 300*time.Second)
}

func set(name, value string) func(map[string]string) {
	return func(h map[string]string) { h[name] = value }
}

func drop(name string) func(map[string]string) { return func(h map[string]string) { delete(h, name) } }

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

var (
	accepted     = verdict{}
	missing      = verdict{signature.ReasonMissing, signature.ClassBadRequest}
	malformed    = verdict{signature.ReasonMalformed, signature.ClassBadRequest}
	badSignature = verdict{signature.ReasonMalformed, signature.ClassUnauthorized}
	invalid      = verdict{signature.ReasonInvalid, signature.ClassUnauthorized}
	unknown      = verdict{signature.ReasonUnknownKey, signature.ClassUnauthorized}
	stale        = verdict{signature.ReasonStale, signature.ClassUnauthorized}
	noKey        = verdict{signature.ReasonNoKey, signature.ClassUnavailable}
)

func TestSchemesAreChosenByName(t *testing.T) {
	t.Parallel()
	want := []string{"timestamped", "standard-webhooks", "body"}
	if diff := cmp.Diff(want, signature.SchemeNames()); diff != "" {
		t.Errorf("names, the default first (-want +got):\n%s", diff)
	}
	for _, d := range dialects() {
		if s, err := signature.Named(d.name); err != nil || s != d.scheme {
			t.Errorf("%s: %T, error %v", d.name, s, err)
		}
	}
	for _, name := range []string{"", "none", "Timestamped", "standard_webhooks", "body "} {
		if _, err := signature.Named(name); err == nil || !strings.Contains(err.Error(), "timestamped, standard-webhooks, body") {
			t.Errorf("%q: error %v, want one that lists the schemes", name, err)
		}
	}
}

func TestEveryActiveKeyIsTried(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		end := received().Add(-time.Millisecond)
		ended := signature.NewKey("k0", "a key that ended", end)
		if d.name == signature.SchemeStandardWebhooks {
			ended = signature.NewKey("k0", "whsec_YSBrZXkgdGhhdCBlbmRlZA==", end)
		}
		keys := signature.Keys{d.key("k2", current), d.key("k1", previous), ended, key("k3", ""), key("k4", " \n")}
		for sentence, c := range map[string]struct {
			text, name string
			wantKey    string
			want       verdict
			named      bool // only where a request can name its key
		}{
			"the current key, not named":          {current, "", "k2", accepted, false},
			"the current key, named":              {current, "k2", "k2", accepted, true},
			"the previous key, not named":         {previous, "", "k1", accepted, false},
			"the previous key, named":             {previous, "k1", "k1", accepted, true},
			"the current key, named by the other": {current, "k1", "", invalid, true},
			"an ended key, not named":             {"a key that ended", "", "", invalid, false},
			"an ended key, named":                 {"a key that ended", "k0", "", unknown, true},
			"a key that nobody has":               {"another", "k9", "", unknown, true},
			"a name that is empty":                {current, "", "", unknown, true},
			"a name that is no id":                {current, "k2,k2", "", unknown, true},
			"a name of 8 KiB":                     {current, strings.Repeat("k", 8192), "", unknown, true},
			"the key with a newline behind it":    {current + "\n", "", "", invalid, false},
			"the empty key, named":                {"", "k3", "", unknown, true},
		} {
			if c.named && !d.names {
				continue
			}
			headers := d.signed(d.key("", c.text))
			if c.named {
				headers[signature.HeaderKeyID] = c.name
			}
			got, err := d.check(headers, body, keys, received())
			if diff := cmp.Diff(c.want, verdictOf(err)); diff != "" || got != c.wantKey {
				t.Errorf("%s: %s: key %q, want %q; verdict (-want +got):\n%s", d.name, sentence, got, c.wantKey, diff)
			}
		}
	}
}

func TestStandardWebhooksNamesNoKey(t *testing.T) {
	t.Parallel()
	d := standardWebhooks()
	headers := d.signed(d.key("k1", current))
	if _, named := headersOf(headers)(signature.HeaderKeyID); named {
		t.Errorf("the sender names its key: %d headers", len(headers))
	}
	if got := d.refused(set(signature.HeaderKeyID, "k9")); got != accepted {
		t.Errorf("a header that is not of the scheme: %v", got)
	}
}

func TestBlankKeysVerifyNothing(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		for sentence, text := range map[string]string{
			"empty": "", "spaces": "  ", "a newline": "\n", "a no-break space": "\u00a0", "a NUL": "\x00",
			"64 NULs": strings.Repeat("\x00", 64), "a byte order mark": "\ufeff", "a space of no width": "\u200b \t",
		} {
			blank := key("k", text)
			headers := d.signed(blank, func(h map[string]string) {
				if _, signed := h[d.signature]; !signed { // the scheme would not even sign with it
					h[d.signature] = "v1,thNnmggU2ex3L5XXeMNfxf8Wl8STcVZTxscSFEKSxa0="
				}
			})
			if _, err := d.check(headers, body, signature.Keys{blank}, received()); verdictOf(err) != noKey {
				t.Errorf("%s: %s: %v, want no key", d.name, sentence, err)
			}
			e, err := d.scheme.Read(headersOf(headers))
			if err != nil {
				t.Fatal(err)
			}
			if id, err := d.scheme.Verify(e, body, signature.Keys{blank, {}}); verdictOf(err) != noKey {
				t.Errorf("%s: %s, handed in as an active key: key %q, %v, want no key", d.name, sentence, id, err)
			}
			if d.scheme.CheckKey(blank) == nil {
				t.Errorf("%s: %s passes the check of keys", d.name, sentence)
			}
		}
	}
}

func TestWithoutAnActiveKeyNothingIsVerified(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		for sentence, change := range map[string]func(map[string]string){
			"a good request": func(map[string]string) {}, "a malformed signature": set(d.signature, ""),
			"a name that nobody has": set(signature.HeaderKeyID, "k9"),
		} {
			if _, err := d.check(d.signed(d.key("k", current), change), body, nil, received()); verdictOf(err) != noKey {
				t.Errorf("%s: %s: %v, want no key", d.name, sentence, err)
			}
		}
	}
}

func TestSignedBytesAreTheBytesThatWereSent(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		keys := signature.Keys{d.key("k", current)}
		for sentence, b := range map[string][]byte{
			"empty": {}, "NUL": {0}, "invalid UTF-8": []byte("\xff\xfe"), "CRLF": []byte("a\r\nb\r\n"),
			"a mark": []byte("\ufeff{}"),
			"emoji":  []byte("🙂"), "a megabyte": []byte(strings.Repeat("x", 1<<20)), "a full stop": []byte("."),
		} {
			headers := d.scheme.Sign(d.key("", current), "d-1", received(), b)
			if _, err := d.check(headers, b, keys, received()); err != nil {
				t.Errorf("%s: %s: %v", d.name, sentence, err)
			}
			if _, err := d.check(headers, append([]byte(" "), b...), keys, received()); verdictOf(err) != invalid {
				t.Errorf("%s: %s, and a byte more: %v", d.name, sentence, err)
			}
		}
	}
}

// The texts of keys of case 13: what a shell or an HTML form does to a secret is part of it.
func TestKeyTextIsTakenAsItStands(t *testing.T) {
	t.Parallel()
	for _, d := range []dialect{timestamped(), bodyAlone()} {
		for _, text := range []string{current + "\n", "<&>\"'", "&lt;", "ключ", " leading", "whsec_AAAA", "a\x00b"} {
			if err := d.scheme.CheckKey(key("k", text)); err != nil {
				t.Errorf("%s: key %q: %v", d.name, text, err)
			}
			if _, err := d.check(d.signed(key("", text)), body, signature.Keys{key("k", text)}, received()); err != nil {
				t.Errorf("%s: key %q: %v", d.name, text, err)
			}
			trimmed := signature.Keys{key("k", strings.TrimSpace(text)+"!")}
			if _, err := d.check(d.signed(key("", text)), body, trimmed, received()); verdictOf(err) != invalid {
				t.Errorf("%s: key %q and another: %v", d.name, text, err)
			}
		}
	}
}

func TestKeyEndsBehindNotAfter(t *testing.T) {
	t.Parallel()
	k := signature.NewKey("k", current, received())
	for offset, want := range map[time.Duration]int{-time.Second: 1, -time.Nanosecond: 1, 0: 1, time.Nanosecond: 0, time.Second: 0} {
		if got := len(signature.Keys{k}.Active(received().Add(offset))); got != want {
			t.Errorf("%s from the end: %d active keys, want %d", offset, got, want)
		}
	}
}
