package invariants_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage wait: thousands of small worlds are made and dropped, and none of them is large.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
