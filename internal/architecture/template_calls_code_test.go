package architecture_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"custody/internal/cleanup"
	"custody/internal/sweeper"
	"custody/internal/webhook"
)

// seam is where a function meets an adapter: the type that its main puts in, and the methods that the feature can call of it.
type seam struct {
	function, adapter string
	methods           []string
}

func seams() []seam {
	return []seam{
		{"webhook", "dynamostore.Store", methods(reflect.TypeFor[webhook.Store]())},
		{"webhook", "dynamostore.Reservations", methods(reflect.TypeFor[webhook.Reservations]())},
		{"webhook", "keyring.Static", methods(reflect.TypeFor[webhook.Keys]())},
		{"webhook", "keyring.Secret", methods(reflect.TypeFor[webhook.Keys]())},
		{"cleanup", "dynamostore.Store", methods(reflect.TypeOf(cleanup.New).In(0))},
		{"cleanup", "dynamostore.Holds", methods(reflect.TypeOf(cleanup.New).In(1))},
		{"cleanup", "s3versions.Client", methods(reflect.TypeOf(cleanup.New).In(2))},
		{"cleanup", "s3report.Client", methods(reflect.TypeFor[cleanup.Reports]())},
		{"sweeper", "dynamostore.Store", methods(reflect.TypeFor[sweeper.Runs]())},
		{"sweeper", "dynamostore.Reservations", methods(reflect.TypeFor[sweeper.Reservations]())},
	}
}

func methods(of reflect.Type) []string {
	var names []string
	for i := range of.NumMethod() {
		names = append(names, of.Method(i).Name)
	}
	return names
}

// targets says of each place in the code that calls AWS, and that a function can reach, what it calls about. A new place is a line
// here, and a scenario that comes by it.
func targets() map[string][]string {
	const (
		inbox, holds, reservations   = "custody-inbox", "custody-holds", "custody-reservations"
		open, overdue                = inbox + "/index/open", reservations + "/index/status-expires_at"
		bucket, versions, reportings = "custody-objects", "custody-objects/*", "custody-reports/*"
	)
	return map[string][]string{
		"webhook by dynamostore.Store.transact: TransactWriteItems":              {inbox, reservations},
		"webhook by dynamostore.Store.Alias: PutItem":                            {inbox},
		"webhook by keyring.Secret.read: GetSecretValue":                         {"secret"},
		"cleanup by dynamostore.Store.Move: UpdateItem":                          {inbox},
		"cleanup by dynamostore.Holds.partition: Query":                          {holds},
		"cleanup by s3versions.Client.versioning: GetBucketVersioning":           {bucket},
		"cleanup by s3versions.Client.hasObjectLock: GetObjectLockConfiguration": {bucket},
		"cleanup by s3versions.Client.Page: ListObjectVersions":                  {bucket},
		"cleanup by s3versions.Client.tagHold: GetObjectTagging":                 {versions},
		"cleanup by s3versions.Client.legalHold: GetObjectLegalHold":             {versions},
		"cleanup by s3versions.Client.retainUntil: GetObjectRetention":           {versions},
		"cleanup by s3versions.deletion.deleteObjects: DeleteObjects":            {bucket},
		"cleanup by s3versions.deletion.deleteObject: DeleteObject":              {versions},
		"cleanup by s3report.Client.Write: PutObject":                            {reportings},
		"sweeper by dynamostore.Store.rowPage: Query":                            {open},
		"sweeper by dynamostore.Store.Move: UpdateItem":                          {inbox},
		"sweeper by dynamostore.Reservations.OldestHeld: Query":                  {overdue},
	}
}

// sdkOperations are the methods of a client that are requests.
func sdkOperations(clients ...reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, client := range clients {
		for i := range client.NumMethod() {
			m := client.Method(i)
			if t := m.Type; t.NumIn() == 4 && t.NumOut() == 2 && t.In(1) == reflect.TypeFor[context.Context]() {
				names[m.Name] = true
			}
		}
	}
	return names
}

func allOperations() map[string]bool {
	return sdkOperations(reflect.TypeFor[*dynamodb.Client](), reflect.TypeFor[*s3.Client](), reflect.TypeFor[*secretsmanager.Client]())
}

// code is who calls whom within one package, and which functions call AWS.
type code struct {
	calls      map[string][]string // by "package.Type.method"
	operations map[string][]string
	makes      map[string]string // what a function without a receiver returns first: "package.Type"
}

// nothing imports nothing: what a package calls of itself is found without knowing what it calls of others.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) { return nil, errors.New(path) }

func readCode(t *testing.T, folder string) code {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range filesOf(t, folder) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(root, folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	_, _ = config.Check(folder, fset, files, info) // the imports are errors, as they are meant to be
	c := code{calls: map[string][]string{}, operations: map[string][]string{}, makes: map[string]string{}}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Body != nil {
				c.read(filepath.Base(folder), f, info)
			}
		}
	}
	return c
}

func (c code) read(pkg string, f *ast.FuncDecl, info *types.Info) {
	own, _ := info.Defs[f.Name].(*types.Func)
	name := nameOf(pkg, own)
	if results := own.Signature().Results(); own.Signature().Recv() == nil && results.Len() > 0 {
		c.makes[name] = pkg + "." + typeName(results.At(0).Type())
	}
	operations := allOperations()
	ast.Inspect(f.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		callee, local := info.Uses[id].(*types.Func)
		if local && (callee.Signature().Recv() == nil || !types.IsInterface(callee.Signature().Recv().Type())) {
			c.calls[name] = append(c.calls[name], nameOf(pkg, callee))
			return true
		}
		operation := strings.TrimSuffix(strings.TrimPrefix(id.Name, "New"), "Paginator")
		if _, defined := info.Defs[id]; !defined && info.Uses[id] == nil || local {
			if operations[operation] && !slices.Contains(c.operations[name], operation) {
				c.operations[name] = append(c.operations[name], operation)
			}
		}
		return true
	})
}

func nameOf(pkg string, f *types.Func) string {
	if recv := f.Signature().Recv(); recv != nil {
		return pkg + "." + typeName(recv.Type()) + "." + f.Name()
	}
	return pkg + "." + f.Name()
}

func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name()
	}
	return t.String()
}

// reached lists the places that call AWS behind one function of the code, as "package.Type.method: Operation".
func (c code) reached(from string) []string {
	seen := map[string]bool{from: true}
	var places []string
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, operation := range c.operations[queue[0]] {
			places = append(places, queue[0]+": "+operation)
		}
		for _, callee := range c.calls[queue[0]] {
			if !seen[callee] {
				seen[callee] = true
				queue = append(queue, callee)
			}
		}
	}
	return places
}

// reachable lists every place of the adapters that calls AWS and that a function can come by: "FUNCTION by PLACE".
func reachable(t *testing.T) map[string]bool {
	t.Helper()
	packages := map[string]code{}
	places := map[string]bool{}
	for _, s := range seams() {
		pkg, _, _ := strings.Cut(s.adapter, ".")
		if _, read := packages[pkg]; !read {
			packages[pkg] = readCode(t, "internal/"+pkg)
		}
		for _, method := range s.methods {
			for _, place := range packages[pkg].reached(s.adapter + "." + method) {
				places[s.function+" by "+place] = true
			}
		}
	}
	return places
}

func TestCodeCallsAWSAtTheKnownPlaces(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for place := range targets() {
		want[place] = true
	}
	if diff := cmp.Diff(want, reachable(t)); diff != "" {
		t.Errorf("places that call AWS (-targets +code); a new one needs a line in targets and a scenario:\n%s", diff)
	}
}

// The seams are all there are: what a main builds of the adapters stands in the list, and it calls nothing of AWS itself.
func TestCodeMeetsTheAdaptersAtTheKnownSeams(t *testing.T) {
	t.Parallel()
	want, got := map[string]bool{}, map[string]bool{}
	makes := map[string]string{}
	for _, s := range seams() {
		want[s.function+" with "+s.adapter] = true
		pkg, _, _ := strings.Cut(s.adapter, ".")
		for name, made := range readCode(t, "internal/"+pkg).makes {
			makes[name] = made
		}
	}
	operations := allOperations()
	for _, function := range functionIDs() {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "functions", function, "main.go"), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if made := makes[fmt.Sprint(selector.X)+"."+selector.Sel.Name]; strings.HasPrefix(selector.Sel.Name, "New") && made != "" {
				got[function+" with "+made] = true
			}
			if operations[selector.Sel.Name] {
				t.Errorf("the main of the %s calls %s itself", function, selector.Sel.Name)
			}
			return true
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seams (-seams +mains):\n%s", diff)
	}
}

// untold names what the code can call and no scenario called, and what a scenario called and the code does not say.
func untold(touched map[string]map[touch]bool) []string {
	want := map[string]map[touch]string{}
	for place, about := range targets() {
		function, rest, _ := strings.Cut(place, " by ")
		_, operation, _ := strings.Cut(rest, ": ")
		if want[function] == nil {
			want[function] = map[touch]string{}
		}
		for _, target := range about {
			want[function][touch{operation, target}] = rest
		}
	}
	var found []string
	for function, touches := range want {
		for at, place := range touches {
			if !touched[function][at] {
				found = append(found, fmt.Sprintf("no scenario makes the %s call %s on %s, which it can by %s", function, at.Operation, at.Target, place))
			}
		}
	}
	for function, touches := range touched {
		for at := range touches {
			if want[function][at] == "" {
				found = append(found, fmt.Sprintf("the %s calls %s on %s, which stands at no place in targets", function, at.Operation, at.Target))
			}
		}
	}
	slices.Sort(found)
	return found
}
