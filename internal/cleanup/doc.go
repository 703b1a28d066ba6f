// Package cleanup turns stream records into slices of work: acquire the run, list, decide, delete, checkpoint, verify, and
// end in exactly one of complete, yield, park or fail. It owns the order of those steps and how far the place may go.
// It may import the pure domain and aws-lambda-go/events, which is plain data; stores and buckets reach it as interfaces.
package cleanup
