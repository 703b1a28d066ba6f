package localaws_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"custody/internal/localaws"

	"github.com/google/go-cmp/cmp"
)

func TestEnvFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "local.env")
	hard := "it's $HOME `x` \"y\" \\ = z"
	file, err := localaws.WriteEnvFile(path, []string{"CUSTODY_URL=http://127.0.0.1:1/", "HARD=" + hard})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "export CUSTODY_URL='http://127.0.0.1:1/'\nexport HARD='it'\\''s $HOME `x` \"y\" \\ = z'\n"
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Error(diff)
	}
	out, err := exec.Command("sh", "-c", `. "$1"; printf %s "$HARD"`, "sh", path).CombinedOutput()
	if err != nil || string(out) != hard {
		t.Errorf("a shell reads %q (%v)", out, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	for range 2 { // a second removal has nothing to do
		if err := file.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestEnvFileReplacesAndRemovesItsOwnAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "local.env")
	first, err := localaws.WriteEnvFile(path, []string{"A=1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := localaws.WriteEnvFile(path, []string{"A=2"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Remove(); err != nil {
		t.Error(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "export A='2'\n" {
		t.Errorf("the second stack's file is %q (%v)", content, err)
	}
}

func TestEnvFileInAMissingFolder(t *testing.T) {
	t.Parallel()
	if _, err := localaws.WriteEnvFile(filepath.Join(t.TempDir(), "no", "local.env"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
