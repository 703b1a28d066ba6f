// Package inboxtest is the inbox table in memory, for tests. It owns an interpreter of the moves' data and none of the moves:
// what it is told to write, and on which condition, stands in package inbox alone. It keeps the promises of
// dynamostore.Store; a test of that package holds the two against each other. It imports the domain only.
package inboxtest
