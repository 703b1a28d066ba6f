// Package invariants owns the whole product in one process, and an observer that knows what must never break (I1 to I9).
//
// A World holds the local engines of DynamoDB and S3 and the three functions as they are, joined by the real SDK without a
// socket, so that it lives inside a testing/synctest bubble: hours of pauses, leases and backoffs cost no time, and faults fall on
// the call they are meant for. The functions run as the stack ships them, with tags and report. The Observer sees each request that
// reaches an engine and keeps its own books of versions, holds, tags, locks, items and report objects; it never asks the product. Its
// words for what broke begin with the invariant, or with "marks" (a version that its tags or locks keep, as read for the request, is
// never sent) or "audit" (every delete is on record before it is sent, no report object is written over, and what a report says in the
// end is true). Of the product it uses package report alone, to read what is written. It is for tests alone and may import everything.
package invariants
