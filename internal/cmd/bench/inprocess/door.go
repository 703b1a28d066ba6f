package inprocess

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/command"
	"custody/internal/inbox"
	"custody/internal/keyring"
	"custody/internal/signature"
	"custody/internal/webhook"
)

// Door is the webhook's handler, put together as its main does, and a sender with its key.
type Door struct {
	Handler *webhook.Handler
	Scheme  signature.Scheme
	Decoder *command.Decoder

	key signature.Key
}

// BodyBytes is the size of a delivery's body: the 1 KiB of the targets.
const BodyBytes = 1024

// secret is a key that every scheme can use: Standard Webhooks wants base64 of 24 bytes at least behind whsec_.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// NewDoor makes a handler of a scheme over the store.
func NewDoor(scheme string, store webhook.Store) (*Door, error) {
	named, err := signature.Named(scheme)
	if err != nil {
		return nil, err
	}
	keys, err := keyring.NewStatic(Keyring(), named)
	if err != nil {
		return nil, err
	}
	decoder, err := command.NewDecoder(command.Settings{
		Accepted: []string{command.CleanupRun}, Bucket: "objects", MinObjectAge: 24 * time.Hour,
		WarehousePrefixes: []string{"pod/{warehouse_id}/", "labels/{warehouse_id}/"},
	})
	if err != nil {
		return nil, err
	}
	handler, err := webhook.New(webhook.Handler{
		Settings: webhook.Settings{
			Path: "/", MaxBodyBytes: 256 << 10, ReplayWindow: 5 * time.Minute, AckTimeout: 5 * time.Second, Retention: 90 * 24 * time.Hour,
		},
		Scheme: named, Keys: keys, Commands: decoder, Store: store,
	})
	if err != nil {
		return nil, err
	}
	return &Door{Handler: handler, Scheme: named, Decoder: decoder, key: signature.NewKey("k1", secret, time.Time{})}, nil
}

// Body is a command of BodyBytes bytes: what it needs, and notes that the sender keeps in it.
func Body(run string) []byte {
	head := fmt.Sprintf(`{"type":"cleanup.run","run_id":%q,"warehouse_id":"wh-17","expired_before":"2026-01-02T03:04:05Z"`, run)
	const note = `,"note_%d":"kept for the shift that packs %d parcels"`
	var b strings.Builder
	b.WriteString(head)
	for i := 0; ; i++ {
		next := fmt.Sprintf(note, i, i)
		if b.Len()+len(next)+len(`,"fill":""}`) > BodyBytes {
			break
		}
		b.WriteString(next)
	}
	fmt.Fprintf(&b, `,"fill":%q}`, strings.Repeat("x", BodyBytes-b.Len()-len(`,"fill":""}`)))
	return []byte(b.String())
}

// Request is the event that the function URL makes of a signed delivery, with the headers that Lambda adds.
func (d *Door) Request(delivery string, body []byte, at time.Time) events.LambdaFunctionURLRequest {
	headers := map[string]string{
		"accept": "*/*", "content-length": fmt.Sprint(len(body)), "content-type": "application/json", "host": "x.lambda-url.eu-central-1.on.aws",
		"user-agent": "warehouse-clock/3.1", "x-amzn-tls-cipher-suite": "TLS_AES_128_GCM_SHA256", "x-amzn-tls-version": "TLSv1.3",
		"x-amzn-trace-id": "Root=1-6ab13b80-1c2d3e4f5a6b7c8d9e0f1a2b", "x-forwarded-for": "203.0.113.7", "x-forwarded-port": "443",
		"x-forwarded-proto": "https",
	}
	for name, value := range d.Scheme.Sign(d.key, delivery, at, body) {
		headers[strings.ToLower(name)] = value
	}
	request := events.LambdaFunctionURLRequest{RawPath: "/", Headers: headers, Body: string(body)}
	request.RequestContext.HTTP.Method = "POST"
	request.RequestContext.TimeEpoch = at.UnixMilli()
	return request
}

// Nowhere is a store that takes every claim and keeps none.
type Nowhere struct{}

// Claim takes the claim.
func (Nowhere) Claim(context.Context, inbox.Claim) (*inbox.Existing, error) { return nil, nil }

// Alias takes the delivery.
func (Nowhere) Alias(context.Context, inbox.Delivery) (*inbox.Delivery, error) { return nil, nil }

// Key is the key that the door knows.
func (d *Door) Key() signature.Key { return d.key }

// Keyring is the keyring with that key, as a secret holds it.
func Keyring() string { return fmt.Sprintf(`{"k1":%q}`, secret) }
