package inprocess_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/signature"
	"custody/internal/telemetry"
)

// The handler without the store: verify, decode, build the claim.
func BenchmarkHandler(b *testing.B) {
	for _, scheme := range signature.SchemeNames() {
		b.Run(scheme, func(b *testing.B) {
			door := doorOf(b, scheme)
			request := door.Request("d-1", inprocess.Body("r-1"), time.Now())
			b.ReportAllocs()
			for b.Loop() {
				if answer, sum := door.Handler.Handle(b.Context(), request); answer.StatusCode != 204 {
					b.Fatal(sum.Problem)
				}
			}
		})
	}
}

// What the handler cannot do without.
func BenchmarkBareVerifyAndDecode(b *testing.B) {
	bare := inprocess.NewBare(inprocess.Body("r-1"))
	b.ReportAllocs()
	for b.Loop() {
		if err := bare.Do(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, scheme := range signature.SchemeNames() {
		b.Run(scheme, func(b *testing.B) {
			door, body := doorOf(b, scheme), inprocess.Body("r-1")
			headers := door.Scheme.Sign(door.Key(), "d-1", time.Now(), body)
			lookup := func(name string) (string, bool) { v, ok := headers[name]; return v, ok }
			b.ReportAllocs()
			for b.Loop() {
				envelope, err := door.Scheme.Read(lookup)
				if err == nil {
					_, err = door.Scheme.Verify(envelope, body, signature.Keys{door.Key()})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{inprocess.BodyBytes} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			door, body := doorOf(b, signature.SchemeTimestamped), inprocess.Body("r-1")
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := door.Decoder.Decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The line that the function writes about a delivery, with its metrics.
func BenchmarkDeliveryLine(b *testing.B) {
	door := doorOf(b, signature.SchemeTimestamped)
	_, summary := door.Handler.Handle(b.Context(), door.Request("d-1", inprocess.Body("r-1"), time.Now()))
	tel := telemetry.New(io.Discard, "custody", slog.LevelInfo)
	ctx := context.WithoutCancel(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		tel.Delivery(ctx, summary)
	}
}
