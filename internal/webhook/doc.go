// Package webhook owns the way from one function URL event to one answer: the order of the checks, one claim, and the
// table of statuses.
//
// It hands out an answer and a summary, and logs nothing itself. It may import the pure domain and aws-lambda-go/events,
// which is plain data; the keys and the store stand behind the interfaces it states.
package webhook
