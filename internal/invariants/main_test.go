package invariants_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage wait, since thousands of small worlds are made and dropped, and none of them is large. The limit is there
// because the report's encoders keep their buffers in a sync.Pool, and what has one outlives two collections: without a limit each
// collection would find more alive than the one before. TestMain also sets how many random histories there are, where the command line
// does not: `make soak` asks for more.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	debug.SetMemoryLimit(512 << 20)
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		_ = flag.Set("rapid.checks", "300") // a flag of rapid's, and a number
	}
	os.Exit(m.Run())
}
