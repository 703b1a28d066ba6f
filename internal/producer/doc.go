// Package producer owns a producer's side of the wire contract: it builds the payload of a command, signs it in a stack's
// scheme, sends it, sends it again with a fresh timestamp while that can help, and says what an answer means to the sender.
// docs/wire-contract.md says the same for those who write a sender in another language, and tests hold the two together.
//
// It may import the domain. Of the outside it knows one HTTP request and nothing else.
package producer
