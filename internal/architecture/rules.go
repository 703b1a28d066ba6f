package architecture

import "strings"

// Group is a set of packages that stand at the same place of the layout.
type Group string

// The groups, from the outside to the inside.
const (
	GroupFunction Group = "function" // builds from settings and starts, nothing else
	GroupTool     Group = "tool"     // stands where the functions stand, for people
	GroupLocal    Group = "localaws" // development only: what stands in for AWS
	GroupFeature  Group = "feature"  // what the functions do
	GroupAdapter  Group = "adapter"  // how the outside is reached
	GroupPart     Group = "part"     // of an adapter: what two of them would otherwise each have
	GroupStack    Group = "stack"    // how people reach a deployed stack: more than any function may
	GroupDomain   Group = "domain"   // what is true without any outside
	GroupSupport  Group = "support"  // the domain's help for tests, so that no group may import it
	GroupProof    Group = "proof"    // the whole product, for tests
	GroupGuard    Group = "guard"    // checks on the module itself
)

// Place says which packages form a group and which groups of this module they may import.
type Place struct {
	Group    Group
	Packages []string // below the module's path; "/..." at the end stands for whatever is below
	May      []Group
}

// Places is the layout. A package that is in none of them is a violation, so a new one is thought about.
func Places() []Place {
	return []Place{
		{GroupFunction, []string{"functions/..."}, []Group{GroupFeature, GroupAdapter, GroupDomain}},
		{GroupTool, []string{"internal/cmd/..."},
			[]Group{GroupTool, GroupLocal, GroupFeature, GroupAdapter, GroupStack, GroupDomain}},
		// The local stack makes the tables and passes the settings, so it may know the adapters' names for them; with
		// a feature in it, it would no longer test the functions but itself.
		{GroupLocal, []string{"internal/localaws/..."}, []Group{GroupLocal, GroupAdapter, GroupDomain}},
		// Not one another: what two features share is domain.
		{GroupFeature, []string{"internal/webhook", "internal/cleanup", "internal/sweeper", "internal/operator",
			"internal/producer"},
			[]Group{GroupDomain}},
		// Not one another: mains put them together.
		{GroupAdapter, []string{"internal/dynamostore", "internal/keyring", "internal/telemetry", "internal/config"}, []Group{GroupDomain}},
		// These two talk to S3, whose codes must mean the same to both: a code that only one of them knew would fail a run for
		// good in one place and be retried in the other. What follows from a code each decides by itself.
		{GroupAdapter, []string{"internal/s3versions", "internal/s3report"}, []Group{GroupDomain, GroupPart}},
		{GroupPart, []string{"internal/s3errors"}, []Group{GroupDomain}},
		// No function may import it: it knows a delete without a version id, for a marker over a canary of its own.
		{GroupStack, []string{"internal/deployed"}, []Group{GroupDomain}},
		{GroupDomain, []string{"internal/inbox", "internal/command", "internal/signature", "internal/retention",
			"internal/report"}, []Group{GroupDomain}},
		{GroupSupport, []string{"internal/inbox/inboxtest", "internal/inbox/explore"}, []Group{GroupDomain}},
		{GroupProof, []string{"internal/invariants/...", "internal/wirecontract", "internal/runbook", "internal/nights"},
			[]Group{GroupProof, GroupLocal, GroupFeature, GroupAdapter, GroupDomain, GroupSupport}},
		{GroupGuard, []string{"internal/architecture"}, nil},
	}
}

// Vendor is a set of packages of others that only some groups may import. What is in no Vendor is free.
type Vendor struct {
	Name   string
	Paths  []string // and whatever is below; of two that fit, the longer one counts
	Groups []Group
	// Deep vendors must not be reached through other vendors' packages either.
	Deep bool
}

// Vendors is the rule for what others wrote.
func Vendors() []Vendor {
	return []Vendor{
		{"the AWS SDK", []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"},
			[]Group{GroupAdapter, GroupPart, GroupFunction, GroupTool, GroupStack, GroupLocal, GroupProof}, true},
		{"the Lambda runtime", []string{"github.com/aws/aws-lambda-go"},
			[]Group{GroupAdapter, GroupFunction, GroupTool, GroupLocal, GroupProof}, true},
		// Plain data, and the very types that Lambda decodes: a copy of ours could only be wrong.
		{"Lambda's event types", []string{"github.com/aws/aws-lambda-go/events"},
			[]Group{GroupFeature, GroupAdapter, GroupFunction, GroupTool, GroupLocal, GroupProof}, true},
		// In a function these would only lengthen its cold start.
		{"a terminal library", []string{"github.com/spf13", "github.com/schollz/progressbar", "golang.org/x/term"},
			[]Group{GroupTool}, true},
		// The protocol suites are packages that tests of several engines share.
		{"a test library", []string{"github.com/google/go-cmp", "pgregory.net/rapid"}, []Group{GroupLocal}, true},
	}
}

// groupOf is the place of a package, by its path below the module.
func groupOf(path string) (Place, bool) {
	for _, place := range Places() {
		for _, p := range place.Packages {
			if folder, below := strings.CutSuffix(p, "/..."); path == p || below && within(path, folder) {
				return place, true
			}
		}
	}
	return Place{}, false
}

func vendorOf(path string) (found Vendor, restricted bool) {
	longest := -1
	for _, vendor := range Vendors() {
		for _, p := range vendor.Paths {
			if within(path, p) && len(p) > longest {
				found, longest = vendor, len(p)
			}
		}
	}
	return found, longest >= 0
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
