//go:build !race

package check_test

const versionsOfARun = 100_000

const raceDetector = false
