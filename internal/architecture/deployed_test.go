package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/config"
	"custody/internal/deployed"
	"custody/internal/telemetry"
)

// The tool finds everything by the outputs, and reads settings off the parameters. One that is not there would be found after a
// deployment.
func TestTemplateHasWhatTheToolAsksAStackFor(t *testing.T) {
	t.Parallel()
	tpl := readTemplate(t)
	for _, name := range deployed.Outputs() {
		if tpl.Outputs[name] == nil {
			t.Errorf("no output %s", name)
		}
	}
	asked := 0
	for _, file := range filesOf(t, "internal/cmd/custody") {
		for _, m := range regexp.MustCompile(`(?:parameter|setting)\("(\w+)"\)`).FindAllStringSubmatch(readRoot(t, "internal/cmd/custody/"+file), -1) {
			name := m[1]
			if setting, is := config.Lookup(name); is {
				name = setting.Parameter()
			}
			if asked++; tpl.Parameters[name] == nil {
				t.Errorf("%s asks for the parameter %s, which the template does not have", file, name)
			}
		}
	}
	if asked < 5 {
		t.Errorf("only %d parameters are found: are they asked for otherwise now?", asked)
	}
}

func TestToolLooksForTheMetricThatSweepsPublish(t *testing.T) {
	t.Parallel()
	got := []string{deployed.Namespace, deployed.SweeperMetric, deployed.StackDimension}
	want := []string{telemetry.Namespace, telemetry.MetricOldestOpenRunAge, telemetry.DimStack}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-telemetry +deployed):\n%s", diff)
	}
}

// Whoever searches the log types the names that the docs have.
func TestDocsHaveTheFieldsOfAnOperation(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[deployed.Operation]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		want = append(want, name)
	}
	for _, row := range tableOf(t, "docs/operations.md", "in a line", "what it is") {
		got = append(got, strings.Split(row[0], ", ")...)
		if row[0] == "action" {
			actions := []string{deployed.ActionRetry, deployed.ActionRelease, deployed.ActionDismiss, deployed.ActionStop, deployed.ActionResume,
				deployed.ActionHoldAdd, deployed.ActionHoldRemove}
			if diff := cmp.Diff(strings.Join(actions, ", "), row[1]); diff != "" {
				t.Errorf("actions (-code +docs):\n%s", diff)
			}
		}
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("fields (-code +docs):\n%s", diff)
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// A delete without a version id hides what readers see, or, where versioning is off, removes it for good (I8). Outside of what
// stands in for S3 there are two places that make one, each over an object of its own: the check's canary, and the demo's
// objects on the local stack.
func TestCodeDeletesByVersionIdSaveAtTwoPlaces(t *testing.T) {
	t.Parallel()
	var got []string
	for _, folder := range []string{"functions", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() == "localaws" {
				return skipFolder(err)
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				got = append(got, deletesWithoutVersion(t, path)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"internal/cmd/demo/objects.go putOne", "internal/deployed/canary.go putMarker"}, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func skipFolder(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// deletesWithoutVersion are the functions of a file that make a request to delete, or an entry of one, without naming a version.
func deletesWithoutVersion(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Rel(root, path)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, declaration := range file.Decls {
		name := "outside of a function"
		if f, ok := declaration.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(declaration, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok && namesNoVersion(literal) {
				found = append(found, fmt.Sprintf("%s %s", filepath.ToSlash(below), name))
			}
			return true
		})
	}
	return found
}

func namesNoVersion(literal *ast.CompositeLit) bool {
	made, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || made.Sel.Name != "DeleteObjectInput" && made.Sel.Name != "ObjectIdentifier" {
		return false
	}
	return !slices.ContainsFunc(literal.Elts, func(e ast.Expr) bool {
		pair, keyed := e.(*ast.KeyValueExpr)
		if !keyed {
			return false
		}
		name, ok := pair.Key.(*ast.Ident)
		return ok && name.Name == "VersionId"
	})
}
