package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binaryTarget is the target for the largest function. A binary is unpacked and read at each cold start.
const binaryTarget = 15_000_000

// grown is how much a function may grow beyond the size that is written down below before somebody looks at why. A new
// version of Go or of the SDK moves it by a few hundredths.
const grown = 1.10

// A size is written down anew when the growth is meant: it is what the functions have been accepted with.
func TestSizesOfTheFunctions(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("six builds, which make bench-check does")
	}
	module, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	must(t, err)
	for _, one := range []struct {
		function, arch string
		accepted       int64 // bytes
	}{
		{"Webhook", "arm64", 10_944_674}, {"Webhook", "x86_64", 11_751_586},
		{"Cleanup", "arm64", 11_993_250}, {"Cleanup", "x86_64", 12_992_674},
		{"Sweeper", "arm64", 10_551_458}, {"Sweeper", "x86_64", 11_399_330},
	} {
		t.Run(one.function+" for "+one.arch, func(t *testing.T) {
			// As SAM does it, so that the flags are the Makefile's own.
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "make", "build-"+one.function+"Function")
			cmd.Dir = module
			cmd.Env = append(os.Environ(), "ARTIFACTS_DIR="+dir, "ARCH="+one.arch, "MAKEFLAGS=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			built, err := os.Stat(filepath.Join(dir, "bootstrap"))
			must(t, err)
			size := built.Size()
			t.Logf("%d bytes, %.1f MB", size, float64(size)/1e6)
			const look = "look at what is linked: go version -m and go tool nm -size -sort size of a build without -s -w"
			if size > binaryTarget {
				t.Errorf("%d bytes, %d more than the target of %d; %s", size, size-binaryTarget, binaryTarget, look)
			}
			if limit := int64(grown * float64(one.accepted)); size > limit {
				t.Errorf("%d bytes, %d more than the %d that were accepted, and at most a tenth is; %s", size, size-one.accepted, one.accepted, look)
			}
		})
	}
}
