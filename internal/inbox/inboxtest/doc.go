// Package inboxtest is the inbox table in memory, for tests, with the application's reservations beside it. It owns an
// interpreter of the moves' data and none of the moves: what it is told to write, and on which condition, stands in package
// inbox alone. It keeps the promises of dynamostore.Store and dynamostore.Reservations; tests of that package hold them against
// each other. It imports the domain only.
package inboxtest
