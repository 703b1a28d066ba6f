//go:build !race

package benchcheck_test

const versionsOfARun = 100_000

const raceDetector = false
