// Package wirecontract owns the proof of the wire contract from outside: a suite that knows HTTP, a signing key and the content
// of the tables, and nothing of the function behind the URL. It signs with code of its own, written from docs/wire-contract.md.
//
// Everything in it is a test. It runs against the built functions as processes under the local stack, one stack for each
// signature scheme. The part that needs no table, [TestDeployed], runs against any deployed function URL as well:
//
//	CUSTODY_TEST_URL=https://….lambda-url.eu-central-1.on.aws/ CUSTODY_TEST_SIGNING_KEY=… go test -run Deployed ./internal/wirecontract
//
// with CUSTODY_TEST_SIGNING_KEY_ID (without it no request names its key) and CUSTODY_TEST_SCHEME (timestamped, unless it says
// otherwise). The key is its text as the keyring has it. The stack must accept cleanup.run and have the default MaxBodyBytes and
// ReplayWindow. It leaves a handful of runs behind, of a warehouse that nobody has and with a cutoff in 1971, so they delete
// nothing.
package wirecontract
