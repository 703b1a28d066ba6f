package nights_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const root = "../.."

// cloudAddress names the address of the stand-in for what the local stack does not have. Where it is set, this test binary is the
// program `aws` of an operator's shell.
const cloudAddress = "NIGHTS_CLOUD"

// built is the folder with the tool, the functions and the program `aws`.
func built() string { return os.Getenv("NIGHTS_BUILT") }

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "aws" {
		os.Exit(awsCommand(os.Getenv(cloudAddress), os.Args[1:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nights")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("NIGHTS_BUILT", dir)
	// All nights at once, however few processors there are: they wait for leases, sweeps and parked runs most of the time.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes what the Makefile's build makes.
func build(dir string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Symlink(program, filepath.Join(dir, "aws")); err != nil {
		return err
	}
	targets := map[string]string{"custody": "custody/internal/cmd/custody"}
	for _, name := range []string{"webhook", "cleanup", "sweeper"} {
		targets[name+"/bootstrap"] = "custody/functions/" + name
	}
	var all sync.WaitGroup
	problems := make(chan error, len(targets))
	for file, target := range targets {
		all.Go(func() {
			build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w",
				"-o", filepath.Join(dir, file), target)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				problems <- fmt.Errorf("build %s: %w\n%s", target, err, out)
			}
		})
	}
	all.Wait()
	close(problems)
	return <-problems
}
