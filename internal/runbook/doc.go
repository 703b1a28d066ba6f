// Package runbook owns the proof that what the docs tell a person to type works as printed: the shell blocks of docs/operations.md
// and docs/local-testing.md, above all the operator's moves as plain AWS CLI commands, for the night when nothing can be built.
//
// Everything in it is a test. In make test the blocks are accounted for, and each move by hand is held against the move itself, with
// a stand-in for the AWS CLI that only hands on what it was given. make test-runbook runs the blocks with the real AWS CLI against
// the local engines, each in a state that was prepared for it. It may import everything, as the other proofs do.
package runbook
