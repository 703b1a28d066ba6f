package telemetry

// Namespace holds all of Custody's metrics.
const Namespace = "Custody"

// Unit is a unit of CloudWatch (MetricDatum in its API reference).
type Unit string

// The units in use.
const (
	UnitCount        Unit = "Count"
	UnitMilliseconds Unit = "Milliseconds"
	UnitSeconds      Unit = "Seconds"
)

// The dimensions. None of them is an identifier: every value is a word from a closed list, since each new value is a new
// metric that costs and that no alarm knows.
const (
	DimStack     = "Stack"     // in every set, so that a trial stack never hides a dead one
	DimOutcome   = "Outcome"   // of a delivery or a slice
	DimStatus    = "Status"    // of the HTTP answer
	DimSignature = "Signature" // what came of looking at it
	DimReason    = "Reason"    // for which a version was retained
	DimCategory  = "Category"  // of a slice's error
)

// The names of the metrics.
const (
	MetricDeliveries           = "Deliveries"
	MetricAckLatency           = "AckLatency"
	MetricQueueToInboxAge      = "QueueToInboxAge"
	MetricWebhookPanics        = "WebhookPanics"
	MetricSlices               = "Slices"
	MetricSliceFailures        = "SliceFailures"
	MetricVersionsDeleted      = "VersionsDeleted"
	MetricVersionsRetained     = "VersionsRetained"
	MetricVersionsRefused      = "VersionsRefused"
	MetricInboxToCompletionAge = "InboxToCompletionAge"
	MetricOldestOpenRunAge     = "OldestOpenRunAge"
	MetricOpenRuns             = "OpenRuns"
	MetricFailedRuns           = "FailedRuns"
	MetricRecordedRuns         = "RecordedRuns"

	MetricOldestOverdueReservationAge = "OldestOverdueReservationAge"
)

// Metric is one metric that the functions publish.
type Metric struct {
	Name       string
	Unit       Unit
	Dimensions [][]string // the sets under which it is found; an alarm names one of them exactly
	Meaning    string     // what is counted or measured, and when it is published
}

// Metrics is the catalogue of everything that is published. What is not in it cannot be.
func Metrics() []Metric {
	stack := []string{DimStack}
	return []Metric{
		{MetricDeliveries, UnitCount, [][]string{stack, {DimStack, DimOutcome, DimStatus}, {DimStack, DimSignature}},
			"requests that the webhook answered; by signature only where it was looked at"},
		{MetricAckLatency, UnitMilliseconds, [][]string{stack}, "from the function URL's receipt to the answer, for every request"},
		{MetricQueueToInboxAge, UnitSeconds, [][]string{stack},
			"how old a command was when it was accepted: since it was due, else since it was signed; copies are left out"},
		{MetricWebhookPanics, UnitCount, [][]string{stack}, "0 or 1 for every request"},

		{MetricSlices, UnitCount, [][]string{stack, {DimStack, DimOutcome}}, "stream records that the cleanup function took, dropped ones included"},
		{MetricSliceFailures, UnitCount, [][]string{stack, {DimStack, DimCategory}},
			"slices that parked, failed, or could not write their item"},
		{MetricVersionsDeleted, UnitCount, [][]string{stack}, "versions and delete markers that S3 confirmed as deleted, for every slice that worked"},
		{MetricVersionsRetained, UnitCount, [][]string{{DimStack, DimReason}},
			"expired versions that a scan met and kept; a run scans several times and counts each time"},
		{MetricVersionsRefused, UnitCount, [][]string{stack}, "versions that S3 refused to delete, for every slice that worked"},
		{MetricInboxToCompletionAge, UnitSeconds, [][]string{stack}, "from a run's receipt to done, for every completed run"},

		{MetricOldestOpenRunAge, UnitSeconds, [][]string{stack},
			"published by every sweep that could read, 0 when nothing is open: silence means a dead sweeper"},
		{MetricOpenRuns, UnitCount, [][]string{stack}, "pending and running runs"},
		{MetricFailedRuns, UnitCount, [][]string{stack}, "runs that wait for an operator"},
		{MetricRecordedRuns, UnitCount, [][]string{stack}, "runs of the record-only stage that wait for their release"},
		{MetricOldestOverdueReservationAge, UnitSeconds, [][]string{stack},
			"how long the oldest held reservation is past its deadline, 0 when none is; only where a stack takes reservation.expire"},
	}
}

// byName is the catalogue for those who write lines; it is made once, since each line asks for several.
func byName() map[string]Metric {
	all := map[string]Metric{}
	for _, m := range Metrics() {
		all[m.Name] = m
	}
	return all
}
