package architecture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// Graph is who imports whom outside of test files: the module's packages and all that they reach.
type Graph struct {
	Module  string
	Imports map[string][]string
}

// own lists the packages of the module, sorted.
func (g Graph) own() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for path := range maps.Keys(g.Imports) {
			if within(path, g.Module) && !yield(path) {
				return
			}
		}
	})
}

// below is a package's path below the module's, "" for the module's root.
func (g Graph) below(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, g.Module), "/")
}

// listed is what the go command says about a package. Imports leaves test files out.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Error      *struct{ Err string }
}

// Load asks the go command, in a folder of the module, for the packages of the patterns and all that they import. An
// overlay is the path of a file for `go list -overlay`, or "". An import cycle is left to the compiler: it is an import that
// the rule names anyway.
func Load(ctx context.Context, dir, overlay string, patterns ...string) (Graph, error) {
	module, err := output(ctx, dir, "list", "-m")
	if err != nil {
		return Graph{}, fmt.Errorf("ask for the module: %w", err)
	}
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Standard,Imports,Error"}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	packages, err := output(ctx, dir, append(args, patterns...)...)
	if err != nil {
		return Graph{}, fmt.Errorf("ask for the imports: %w", err)
	}
	g := Graph{Module: strings.TrimSpace(string(module)), Imports: map[string][]string{}}
	return g, g.read(packages)
}

func (g Graph) read(packages []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(packages))
	for {
		var p listed
		err := decoder.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read what go list says: %w", err)
		case p.Error != nil && !strings.Contains(p.Error.Err, "import cycle"):
			return fmt.Errorf("list %s: %s", p.ImportPath, p.Error.Err)
		case !p.Standard:
			g.Imports[p.ImportPath] = p.Imports
		}
	}
}

func output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
