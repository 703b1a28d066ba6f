package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"
)

// The headers of Standard Webhooks, in the specification's spelling.
const (
	HeaderWebhookID        = "webhook-id"
	HeaderWebhookTimestamp = "webhook-timestamp"
	HeaderWebhookSignature = "webhook-signature"
)

// SecretPrefix marks the text of a symmetric key of Standard Webhooks.
const SecretPrefix = "whsec_"

const (
	signatureVersion = "v1" // the specification's name for HMAC-SHA-256; v1a is ed25519
	// maxSignatures bounds the work: a sender that changes its key sends two.
	maxSignatures = 5
)

// StandardWebhooks is the specification of that name with symmetric keys
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md): HMAC-SHA-256 over id,
// timestamp and body, with a full stop between. A key's text is whsec_ and the base64 of its bytes. The request names no
// key: every active one is tried.
type StandardWebhooks struct{}

// Read takes id, timestamp and signatures from the headers. The form of the signatures belongs to Verify.
func (StandardWebhooks) Read(h Headers) (Envelope, error) {
	values, err := h.all(HeaderWebhookID, HeaderWebhookTimestamp, HeaderWebhookSignature)
	if err != nil {
		return Envelope{}, err
	}
	if err := checkDeliveryID(HeaderWebhookID, values[0]); err != nil {
		return Envelope{}, err
	}
	// The full stop ends the id in what is signed. With one inside, the same signed bytes could be read as another id, time
	// and body; the specification forbids it for that reason.
	if strings.Contains(values[0], ".") {
		return Envelope{}, malformedHeader(HeaderWebhookID + " must have no full stop")
	}
	at, err := parseTimestamp(HeaderWebhookTimestamp, values[1])
	if err != nil {
		return Envelope{}, err
	}
	return Envelope{DeliveryID: values[0], Timestamp: at, signedTimestamp: values[1], signature: values[2]}, nil
}

// Verify tries every active key on each of the first five signatures of version v1.
func (StandardWebhooks) Verify(e Envelope, body []byte, active Keys) (string, error) {
	return attempt{
		header: HeaderWebhookSignature, form: "a list of v1,<base64 of 32 bytes> with one space between",
		sent: parseSignatures(e.signature), parts: webhookParts(e.DeliveryID, e.signedTimestamp, body), secret: webhookSecret,
	}.verify(e.KeyID, active)
}

func webhookParts(id, timestamp string, body []byte) [][]byte {
	return [][]byte{[]byte(id + "." + timestamp + "."), body}
}

// parseSignatures gives the MACs of a list. An entry is a version, one comma and a text, and there is one space between
// entries: where a header came twice, the join makes an entry with more commas, and then the whole header is refused, since
// nobody sent that list. (Two halves of one entry, sent as two headers, look like the entry itself. That is harmless: it
// must be a MAC over this very request all the same.) Other versions are passed over, and so is a text that is no MAC.
func parseSignatures(header string) [][]byte {
	var sums [][]byte
	looked := 0
	for entry := range strings.SplitSeq(header, " ") {
		version, text, _ := strings.Cut(entry, ",")
		if version == "" || strings.Count(entry, ",") != 1 {
			return nil
		}
		if version != signatureVersion || looked == maxSignatures {
			continue
		}
		looked++
		if sum, ok := parseBase64MAC(text); ok {
			sums = append(sums, sum)
		}
	}
	return sums
}

// parseBase64MAC decodes to exactly 32 bytes. Go's decoder skips line breaks; the length of the text and of the sum together
// leave no room for one.
func parseBase64MAC(text string) ([]byte, bool) {
	if len(text) != base64.StdEncoding.EncodedLen(sha256.Size) {
		return nil, false
	}
	sum, err := base64.StdEncoding.Strict().DecodeString(text)
	return sum, err == nil && len(sum) == sha256.Size
}

var errNoWebhookSecret = errors.New("must be whsec_ and the key, not all zeros, in padded standard base64 without spaces or " +
	"line breaks; the prefix may be left out where the key has 24 bytes or more")

// minUnmarked is the shortest key that the specification knows.
const minUnmarked = 24

// webhookSecret decodes a key. Its prefix may be missing, as in the specification's own libraries: the key that the stack
// makes by itself is 64 letters and digits, which are base64 of 48 bytes, and no prefix can be put in front of it there. Only
// a shorter one needs the prefix, so that a word is not taken for a key. The length of a key is its owner's affair otherwise; but
// without a byte other than zero it is the empty key, see Key.Blank.
func webhookSecret(k Key) ([]byte, error) {
	text, marked := strings.CutPrefix(k.text(), SecretPrefix)
	if strings.ContainsAny(text, "\r\n") {
		return nil, errNoWebhookSecret
	}
	secret, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil { // whose text would tell a place within the key
		return nil, errNoWebhookSecret
	}
	if len(bytes.Trim(secret, "\x00")) == 0 || !marked && len(secret) < minUnmarked {
		return nil, errNoWebhookSecret
	}
	return secret, nil
}

// CheckKey takes whsec_ and padded base64 of bytes that are not all zero, or 24 bytes or more of it without whsec_. Here a line
// break behind the key is an error.
func (StandardWebhooks) CheckKey(k Key) error {
	_, err := webhookSecret(k)
	return err
}

// Sign makes the headers as a sender does, with one signature. A key that CheckKey refuses signs nothing: the signature
// is missing then.
func (StandardWebhooks) Sign(k Key, deliveryID string, at time.Time, body []byte) map[string]string {
	timestamp := formatTimestamp(at)
	headers := map[string]string{HeaderWebhookID: deliveryID, HeaderWebhookTimestamp: timestamp}
	if secret, err := webhookSecret(k); err == nil {
		sum := mac(secret, webhookParts(deliveryID, timestamp, body)...)
		headers[HeaderWebhookSignature] = signatureVersion + "," + base64.StdEncoding.EncodeToString(sum)
	}
	return headers
}
