package signature_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"custody/internal/signature"
)

// The fuzz targets hold each verifier against the definition of its scheme, computed here: what it accepts carries a MAC
// over the very text of the headers and the body, with the key that it names. The fuzzer cannot make a MAC, so a signature
// may hold the words k1, k2 and k9 in braces for the right MAC by two keys of the stack and one of a stranger.
const stranger = "a key of somebody else"

// texts of the stack's keys by id. k3 is blank and k4 of another scheme's form.
func (d dialect) texts() (map[string]string, signature.Keys) {
	keys := signature.Keys{d.key("k2", current), d.key("k1", previous), key("k3", "")}
	if d.name == signature.SchemeStandardWebhooks {
		keys = append(keys, key("k4", current))
	}
	return map[string]string{"k2": current, "k1": previous}, keys
}

func macOf(text, signed string) []byte {
	h := hmac.New(sha256.New, []byte(text))
	h.Write([]byte(signed))
	return h.Sum(nil)
}

// filled puts the MACs in.
func filled(sig, signed string, encode func([]byte) string) string {
	return strings.NewReplacer("{k2}", encode(macOf(current, signed)), "{k1}", encode(macOf(previous, signed)),
		"{k9}", encode(macOf(stranger, signed))).Replace(sig)
}

// verified runs the scheme and requires of every refusal that it has a reason.
func (d dialect) verified(t *testing.T, headers map[string]string, body []byte) (string, bool) {
	t.Helper()
	_, keys := d.texts()
	got, err := d.check(headers, body, keys, received())
	if err != nil && verdictOf(err) == (verdict{}) {
		t.Fatalf("an error without a reason: %v", err)
	}
	return got, err == nil
}

func hexSeeds() []string {
	return []string{
		"{k2}", "sha256={k2}", "{k1}", "{k9}", "", "sha256=", "sha256={k9}", "{k2},{k2}", " {k2}", "{k2}0", strings.Repeat("0a", 32),
		strings.Repeat("0A", 32) + ",", "sha1={k1}", "v1,{k1}", "0x{k1}", "\x00",
	}
}

func FuzzTimestamped(f *testing.F) {
	for _, sig := range hexSeeds() {
		f.Add("d-1", "1790000000", sig, "k2", true, body)
		f.Add("d-1", "1790000000", sig, "", false, body)
	}
	f.Add("", "+179000000", "{k2}", "k9", true, []byte(nil))
	f.Add("d,d", "1790000000,1790000000", "{k2}", "k1", true, []byte("\x00"))

	f.Fuzz(func(t *testing.T, id, timestamp, sig, keyID string, named bool, body []byte) {
		d := timestamped()
		signed := timestamp + "." + string(body)
		sig = filled(sig, signed, hex.EncodeToString)
		headers := map[string]string{d.id: id, d.at: timestamp, d.signature: sig}
		if named {
			headers[signature.HeaderKeyID] = keyID
		}
		got, ok := d.verified(t, headers, body)
		if !ok {
			return
		}
		texts, _ := d.texts()
		if texts[got] == "" || !strings.EqualFold(strings.TrimPrefix(sig, "sha256="), hex.EncodeToString(macOf(texts[got], signed))) {
			t.Fatalf("accepted what %q did not sign", got)
		}
		if named && keyID != got || !signature.ValidID(id) || len(timestamp) != 10 {
			t.Fatalf("accepted key id %q for %q, delivery id %q, timestamp %q", keyID, got, id, timestamp)
		}
	})
}

func FuzzBody(f *testing.F) {
	for _, sig := range hexSeeds() {
		f.Add("d-1", sig, "k1", true, body)
		f.Add("d-1", sig, "", false, body)
	}
	f.Add("d,d", "{k2}", "", true, []byte(nil))

	f.Fuzz(func(t *testing.T, id, sig, keyID string, named bool, body []byte) {
		d := bodyAlone()
		sig = filled(sig, string(body), hex.EncodeToString)
		headers := map[string]string{d.id: id, d.signature: sig}
		if named {
			headers[signature.HeaderKeyID] = keyID
		}
		got, ok := d.verified(t, headers, body)
		if !ok {
			return
		}
		texts, _ := d.texts()
		if texts[got] == "" || !strings.EqualFold(sig, hex.EncodeToString(macOf(texts[got], string(body)))) {
			t.Fatalf("accepted what %q did not sign", got)
		}
		if named && keyID != got || !signature.ValidID(id) {
			t.Fatalf("accepted key id %q for %q, delivery id %q", keyID, got, id)
		}
	})
}

func FuzzStandardWebhooks(f *testing.F) {
	for _, sig := range []string{
		"v1,{k2}", "v1,{k1} v1,{k2}", "v1,{k9}", "v1a,{k2} v1,{k1}", "{k2}", "v1,", "", "v1,{k2},v1,{k2}", "v1,{k2}, v1,{k2}", " v1,{k2}", "v2,{k2}",
		"v1,{k9} v1,{k9} v1,{k9} v1,{k9} v1,{k2}", "v1,{k9} v1,{k9} v1,{k9} v1,{k9} v1,{k9} v1,{k2}", "v1,\xff", "v1,{k2}\n",
	} {
		f.Add("msg_1", "1790000000", sig, body)
	}
	f.Add("msg.1", "1790000000", "v1,{k2}", []byte(nil))
	f.Add("msg_1", "1790000000,", "v1,{k2}", []byte("\x00"))

	f.Fuzz(func(t *testing.T, id, timestamp, sig string, body []byte) {
		d := standardWebhooks()
		signed := id + "." + timestamp + "." + string(body)
		sig = filled(sig, signed, base64.StdEncoding.EncodeToString)
		headers := map[string]string{d.id: id, d.at: timestamp, d.signature: sig}
		got, ok := d.verified(t, headers, body)
		if !ok {
			return
		}
		texts, _ := d.texts()
		if texts[got] == "" || !strings.Contains(sig, "v1,"+base64.StdEncoding.EncodeToString(macOf(texts[got], signed))) {
			t.Fatalf("accepted what %q did not sign", got)
		}
		theirs, err := standardwebhooks.NewWebhookRaw([]byte(texts[got]))
		if err != nil {
			t.Fatal(err)
		}
		if err := theirs.VerifyIgnoringTimestamp(body, httpHeader(headers)); err != nil {
			t.Fatalf("accepted what their library refuses: %v", err)
		}
		if strings.Contains(id, ".") || strings.Count(sig, ",") != strings.Count(sig, " ")+1 {
			t.Fatalf("accepted id %q, and a list of %d spaces and %d commas", id, strings.Count(sig, " "), strings.Count(sig, ","))
		}
	})
}
