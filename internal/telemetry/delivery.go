package telemetry

import (
	"context"
	"log/slog"
	"strconv"

	"custody/internal/inbox"
)

// Delivery writes the line and the metrics of one request to the webhook.
func (t *Telemetry) Delivery(ctx context.Context, s inbox.DeliverySummary) {
	var f fields
	f.text("delivery_id", s.DeliveryID)
	f.text("key_id", s.KeyID)
	f.text("command_type", s.CommandType)
	f.run(inbox.RunKey{Type: s.CommandType, Key: s.RunKey})
	f.text("scope", s.Scope)
	f.text("reservation_id", s.ReservationID)
	f.text("outcome", string(s.Outcome))
	f.number("status", int64(s.Status))
	f.text("signature", s.Signature)
	f.problem(s.Problem)
	f.number("body_bytes", int64(s.BodyBytes))
	if s.Age != 0 {
		f.seconds("age_s", s.Age)
	}
	f.milliseconds("ack_latency_ms", s.AckLatency)
	f.flag("panicked", s.Panicked)

	samples := []sample{count(MetricDeliveries, 1), milliseconds(MetricAckLatency, s.AckLatency), count(MetricWebhookPanics, 0)}
	if s.Panicked {
		samples[2].value = 1
	}
	if s.Outcome.First() && s.Age != 0 { // a late copy says nothing about the queue
		samples = append(samples, seconds(MetricQueueToInboxAge, s.Age))
	}
	dims := dimensions{DimOutcome: string(s.Outcome), DimSignature: s.Signature}
	if s.Status != 0 {
		dims[DimStatus] = strconv.Itoa(s.Status)
	}
	t.line(ctx, deliveryLevel(s), LineDelivery, f, dims, samples...)
}

func deliveryLevel(s inbox.DeliverySummary) slog.Level {
	switch {
	case s.Panicked, s.Signature == "no_key": // no request can be served until somebody sets a key
		return slog.LevelError
	case s.Outcome == inbox.OutcomeRetryableFailure:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
