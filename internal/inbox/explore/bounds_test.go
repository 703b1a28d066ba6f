//go:build !race

package explore_test

// The whole bounds: some ten seconds for the search, and a minute for all mutants.
const (
	faultsOfOneHistory   = 3
	requestsOfOneHistory = 5
	statesOfAMutant      = 1_000_000
	leastMutantsCaught   = 0 // all but the known ones, see survivors
)
