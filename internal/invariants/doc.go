// Package invariants owns the whole product in one process, and an observer that knows what must never break (I1 to I9).
//
// A World holds the local engines of DynamoDB and S3 and the three functions as they are, joined by the real SDK without a
// socket, so that it lives inside a testing/synctest bubble: hours of pauses, leases and backoffs cost no time, and faults fall on
// the call they are meant for. The Observer sees each request that reaches an engine and keeps its own books of versions, holds
// and items; it never asks the product. It is for tests alone and may import everything.
package invariants
