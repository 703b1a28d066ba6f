package architecture_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/architecture"
)

// root is the module's folder as seen from this package's.
const root = "../.."

func TestImportsFollowTheRule(t *testing.T) {
	t.Parallel()
	graph, err := architecture.Load(t.Context(), root, "", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range architecture.Check(graph) {
		t.Error(violation)
	}
}

// A violation of each kind is planted in the module as it is, by an overlay, and must be named.
func TestImportsNamePlantedViolations(t *testing.T) {
	t.Parallel()
	const (
		sdk    = "github.com/aws/aws-sdk-go-v2/service/s3"
		smithy = "github.com/aws/smithy-go"
		events = "github.com/aws/aws-lambda-go/events"
		lambda = "github.com/aws/aws-lambda-go/lambda"
	)
	for name, test := range map[string]struct {
		folder, imports string
		want            string // the reason, or "" where the import is right
	}{
		"the domain imports the SDK":                {"internal/inbox", sdk, "domain may not see the AWS SDK"},
		"the domain imports the SDK's base":         {"internal/retention", smithy, "domain may not see the AWS SDK"},
		"the domain imports event types":            {"internal/command", events, "domain may not see Lambda's event types"},
		"the domain imports an adapter":             {"internal/inbox", "custody/internal/config", "domain may not import adapter"},
		"the domain imports a feature":              {"internal/signature", "custody/internal/webhook", "domain may not import feature"},
		"a feature imports an adapter":              {"internal/webhook", "custody/internal/dynamostore", "feature may not import adapter"},
		"a feature imports another feature":         {"internal/sweeper", "custody/internal/cleanup", "one feature may not import another"},
		"a feature imports the SDK":                 {"internal/cleanup", sdk, "feature may not see the AWS SDK"},
		"a feature imports the runtime":             {"internal/cleanup", lambda, "feature may not see the Lambda runtime"},
		"a feature imports the local stack":         {"internal/webhook", "custody/internal/localaws/s3", "feature may not import localaws"},
		"a feature imports a terminal library":      {"internal/sweeper", "github.com/spf13/cobra", "feature may not see a terminal library"},
		"an adapter imports a feature":              {"internal/telemetry", "custody/internal/webhook", "adapter may not import feature"},
		"an adapter imports another adapter":        {"internal/keyring", "custody/internal/config", "one adapter may not import another"},
		"an adapter imports the local stack":        {"internal/dynamostore", "custody/internal/localaws/dynamodb", "adapter may not import localaws"},
		"an adapter of something else than S3":      {"internal/keyring", "custody/internal/s3errors", "adapter may not import part"},
		"a feature imports a part of an adapter":    {"internal/cleanup", "custody/internal/s3errors", "feature may not import part"},
		"a function imports a part of an adapter":   {"functions/cleanup", "custody/internal/s3errors", "function may not import part"},
		"the domain imports a part of an adapter":   {"internal/report", "custody/internal/s3errors", "domain may not import part"},
		"a part imports its adapter":                {"internal/s3errors", "custody/internal/s3versions", "part may not import adapter"},
		"a part imports the Lambda runtime":         {"internal/s3errors", lambda, "part may not see the Lambda runtime"},
		"a function imports the local stack":        {"functions/webhook", "custody/internal/localaws/lambda", "function may not import localaws"},
		"a function imports a part of the tool":     {"functions/sweeper", "custody/internal/cmd/planted", "function may not import tool"},
		"a function imports the way to a stack":     {"functions/cleanup", "custody/internal/deployed", "function may not import stack"},
		"an adapter imports the way to a stack":     {"internal/s3versions", "custody/internal/deployed", "adapter may not import stack"},
		"the way to a stack imports a feature":      {"internal/deployed", "custody/internal/operator", "stack may not import feature"},
		"the tool may import the way to a stack":    {"internal/cmd/custody", "custody/internal/deployed", ""},
		"a function imports the guards":             {"functions/cleanup", "custody/internal/architecture", "function may not import guard"},
		"a function imports the domain's test help": {"functions/sweeper", "custody/internal/inbox/inboxtest", "function may not import support"},
		"the domain imports its own test help":      {"internal/command", "custody/internal/inbox/inboxtest", "domain may not import support"},
		"a function imports a terminal library":     {"functions/cleanup", "github.com/schollz/progressbar/v3", "function may not see a terminal library"},
		"a function imports a test library":         {"functions/cleanup", "github.com/google/go-cmp/cmp", "function may not see a test library"},
		"the local stack imports a feature":         {"internal/localaws/s3", "custody/internal/cleanup", "localaws may not import feature"},
		"the tool imports a part of a function":     {"internal/cmd/custody", "custody/functions/planted", "tool may not import function"},
		"a package stands beside the layout":        {"internal/helpers", "fmt", "has no place in the layout (architecture.Places)"},
		"a feature may import event types":          {"internal/webhook", events, ""},
		"a feature may import the domain":           {"internal/sweeper", "custody/internal/inbox", ""},
		"an adapter may import the SDK":             {"internal/s3versions", sdk, ""},
		"S3's adapters may import its part":         {"internal/s3report", "custody/internal/s3errors", ""},
		"a part may import the SDK":                 {"internal/s3errors", sdk, ""},
		"a function may import features and Lambda": {"functions/webhook", lambda, ""},
		"the tool may import the local stack":       {"internal/cmd/custody", "custody/internal/localaws/s3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			graph := plant(t, map[string]string{test.folder + "/planted.go": test.imports})
			var got []string
			for _, v := range architecture.Check(graph) {
				if v.Package == "custody/"+test.folder && (v.Import == "" || v.Import == test.imports) {
					got = append(got, v.Reason)
				}
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImportsOfTestFilesAreFree(t *testing.T) {
	t.Parallel()
	graph := plant(t, map[string]string{"internal/inbox/planted_test.go": "custody/internal/localaws/dynamodb"})
	for _, v := range architecture.Check(graph) {
		if v.Package == "custody/internal/inbox" {
			t.Error(v)
		}
	}
}

// No library that is here today hides the SDK, so this kind is planted in a graph of its own.
func TestImportsNameWhatIsReachedThroughOthers(t *testing.T) {
	t.Parallel()
	graph := architecture.Graph{Module: "custody", Imports: map[string][]string{
		"custody/internal/inbox":                 {"example.com/queue", "fmt"},
		"example.com/queue":                      {"example.com/queue/store"},
		"example.com/queue/store":                {"github.com/aws/aws-sdk-go-v2/service/sqs"},
		"custody/internal/dynamostore":           {"example.com/queue"},
		"github.com/aws/aws-sdk-go-v2/service/x": nil,
	}}
	want := []architecture.Violation{{
		Package: "custody/internal/inbox", Import: "example.com/queue",
		Reason: "domain may not see the AWS SDK, which is reached by " +
			"example.com/queue > example.com/queue/store > github.com/aws/aws-sdk-go-v2/service/sqs",
	}}
	if diff := cmp.Diff(want, architecture.Check(graph)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func TestImportsOfACodeThatCannotBeListedAreAnError(t *testing.T) {
	t.Parallel()
	_, err := architecture.Load(t.Context(), root, overlay(t, map[string]string{
		"internal/inbox/planted.go": "custody/internal/nowhere"}), "./internal/inbox")
	if err == nil || !strings.Contains(err.Error(), "custody/internal/nowhere") {
		t.Errorf("got error %v, want one that names the missing package", err)
	}
}

// plant is the graph of the folders in which files with one import each were planted.
func plant(t *testing.T, imports map[string]string) architecture.Graph {
	t.Helper()
	var folders []string
	for file, imported := range imports {
		folders = append(folders, "./"+filepath.Dir(file))
		if strings.HasSuffix(imported, "/planted") { // a package that must come to be, too
			imports[strings.TrimPrefix(imported, "custody/")+"/planted.go"] = "fmt"
		}
	}
	graph, err := architecture.Load(t.Context(), root, overlay(t, imports), folders...)
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

// overlay makes a file for -overlay that adds Go files to the module, each with one import.
func overlay(t *testing.T, imports map[string]string) string {
	t.Helper()
	absolute, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for file, imported := range imports {
		source := filepath.Join(dir, strings.ReplaceAll(file, "/", "+"))
		write(t, source, "package "+packageName(file)+"\n\nimport _ \""+imported+"\"\n")
		replace[filepath.Join(absolute, file)] = source
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	write(t, path, string(content))
	return path
}

// packageName is the name of the package in the file's folder: that of the folder, save for programs.
func packageName(file string) string {
	folder := filepath.Dir(file)
	name := filepath.Base(folder)
	if name != "planted" && (strings.HasPrefix(folder, "functions/") || strings.HasPrefix(folder, "internal/cmd/")) {
		name = "main"
	}
	if strings.HasSuffix(file, "_test.go") {
		name += "_test"
	}
	return name
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
