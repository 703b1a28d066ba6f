package runbook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// argumentsFile names the file into which the stand-in for the AWS CLI, which is this test binary, writes what it was given.
const argumentsFile = "RUNBOOK_ARGUMENTS"

func TestMain(m *testing.M) {
	if path := os.Getenv(argumentsFile); path != "" {
		os.Exit(standIn(path))
	}
	os.Exit(m.Run())
}

// standIn is the program `aws` of a sandbox without the AWS CLI. A second call would hide the first one, so it is refused.
func standIn(path string) int {
	given, err := json.Marshal(os.Args[1:])
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = f.Write(given)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in for the AWS CLI:", err)
		return 1
	}
	return 0
}
