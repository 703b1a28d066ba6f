// Package telemetry owns what can be seen of a running function: one wide JSON line per delivery, slice, sweep and canary,
// and the metrics in it. It takes the one summary value that a feature hands out and adds nothing to it. It may import the standard
// library, the pure domain, and aws-lambda-go's lambdacontext for the request id.
//
// The metrics stand inside the wide line, in CloudWatch's embedded metric format: one write, so that nothing is counted
// without its line or the other way round, and whoever looks at a peak in a metric finds the very lines it was made of.
// Where one unit of work has several values of one dimension (the reasons for which a slice retained versions), the second
// and later values cannot be in the same document, since a document has one value for each member: they follow as lines of
// their own with the message "metric".
//
// Every line that carries a metric has at least the level INFO, and no level above INFO can be set here or in the template:
// Lambda drops what is below a function's log level before CloudWatch sees it, and with the line goes the metric.
// Lines say INFO for an expected end, WARN for what heals by itself, ERROR for what wants a person.
package telemetry
