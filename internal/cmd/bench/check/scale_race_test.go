//go:build race

package check_test

// The race detector makes everything ten times slower; what is counted is the same from some thousand versions on.
const versionsOfARun = 20_000

const raceDetector = true
