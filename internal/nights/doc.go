// Package nights owns the proof that the recorded nights of docs/nights are true: each page goes from an alarm to the cured run with
// nothing but the tool and the runbook, and each is played again on the local stack, with the built functions and the built tool.
//
// Everything in it is a test. A page has the prose, what the operator types and what is printed; the package has what the world does
// meanwhile, such as a worker that dies, under the names by which the page calls it. What is printed is compared with the page, but
// for what a clock or chance decides. With CUSTODY_TEST_WRITE_NIGHTS=yes (`make docs`) the pages are recorded anew where they differ.
// It may import everything, as the other proofs do.
package nights
