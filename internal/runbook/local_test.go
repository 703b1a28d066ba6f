package runbook_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"custody/internal/localaws"
)

// localBlocks are the blocks of the page about the local stack that are run, in their order.
func localBlocks() []string {
	return []string{"The env file: aws s3api put-object", "The env file: aws dynamodb get-item"}
}

// The page's walk works as printed, in a shell that read the env file and nothing else.
func TestRunbookBlocksOfLocalTesting(t *testing.T) {
	t.Parallel()
	switchedOn(t)
	dir := t.TempDir()
	if err := os.Symlink(buildTool(t), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	stack, err := localaws.Start(t.Context(), localaws.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := localaws.WriteEnvFile(filepath.Join(dir, "local.env"), stack.Env()); err != nil {
		t.Fatal(err)
	}
	typed := func(name string) result {
		path := filepath.Join(dir, ".script")
		script := ". ./local.env\n" + blockOf(t, localTesting, name).script
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		r := runShell(t, dir, shellEnv(dir), "sh", path, nil)
		if r.code != 0 {
			t.Fatalf("block %q ended with %d:\n%s%s", name, r.code, r.stdout, r.stderr)
		}
		return r
	}
	says(t, typed(localBlocks()[0]).stdout, "accepted")
	// The run takes a moment. Each look at it takes one, too.
	var last result
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if last = typed(localBlocks()[1]); len(last.stdout) > 6 && last.stdout[:6] == "done\t3" {
			return
		}
	}
	t.Errorf("within a minute the run was not done with three versions gone:\n%s", last.stdout)
}
