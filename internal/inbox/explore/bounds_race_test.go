//go:build race

package explore_test

// The race detector makes a search about ten times as slow, and there is nothing for it to find: a search is one goroutine.
// So with it the bounds are smaller; `go test ./internal/inbox/explore` without it has the whole of them.
const (
	faultsOfOneHistory   = 1
	requestsOfOneHistory = 4
	statesOfAMutant      = 700
	leastMutantsCaught   = 125 // of about 150; the others lie deeper
)
