// Package dynamodb is a local DynamoDB with Streams for development and tests: an http.Handler that speaks the AWS JSON 1.0
// protocol for the operations Custody and its users' tools need, keeps everything in memory and refuses everything
// else by name. It owns the tables, their indexes and streams and the expression language; it imports the standard
// library and a strict JSON decoder, never the AWS SDK, and only tests and the local stack import it.
//
// It is trusted for nothing but what its suite shows, and the suite runs unchanged against other engines
// (CUSTODY_TEST_DYNAMODB_ENDPOINT). Rules and messages follow the public references: the DynamoDB API reference
// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/) and the developer guide's pages on expressions,
// naming rules and limits.
//
// What differs from the real service, on purpose: a table is ACTIVE at once, an index is never behind its table,
// nothing is throttled, no transaction ever conflicts (one mutex makes every request atomic), a stream is one
// shard and is never trimmed, and items past their time to live stay until [Engine.ExpireItems] is called.
package dynamodb
