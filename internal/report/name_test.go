package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"custody/internal/report"
)

func aName() report.Name {
	return report.Name{
		Kind: report.KindSelection, CommandType: "cleanup.run", RunKey: "r-1", Slice: 3, LeaseToken: "TOKEN", Scan: 2, Batch: 17, Try: 1,
	}
}

func TestNamesSayWhichTryOfWhichBatch(t *testing.T) {
	t.Parallel()
	n := aName()
	for kind, want := range map[report.Kind]string{
		report.KindSelection: "custody/cleanup.run/r-1/000003-TOKEN/0002-000017-01-selection.jsonl.gz",
		report.KindOutcome:   "custody/cleanup.run/r-1/000003-TOKEN/0002-000017-01-outcome.jsonl.gz",
	} {
		n.Kind = kind
		got, err := n.Object()
		if err != nil || got != want {
			t.Errorf("name %q, error %v, want %q", got, err, want)
		}
		if back, err := report.ParseName(got); err != nil || back != n {
			t.Errorf("%q reads back as %+v, error %v", got, back, err)
		}
	}
}

func TestNamesSortAsTheirNumbersDo(t *testing.T) {
	t.Parallel()
	var names []string
	for _, slice := range []int{0, 9, 10, 99, 100, 999_999} {
		for _, scan := range []int{1, 2, 10, 9_999} {
			for _, batch := range []int{1, 9, 10, 100, 999_999} {
				for _, try := range []int{1, 9, 10, 99} {
					n := aName()
					n.Slice, n.Scan, n.Batch, n.Try = slice, scan, batch, try
					object, err := n.Object()
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, object)
				}
			}
		}
	}
	if !slices.IsSorted(names) {
		t.Error("the names of rising numbers do not rise")
	}
}

func TestAPrefixHoldsNoOtherRun(t *testing.T) {
	t.Parallel()
	prefix, err := report.Prefix("cleanup.run", "r-1")
	if err != nil || !strings.HasPrefix(prefix, report.Root) {
		t.Fatalf("prefix %q, error %v", prefix, err)
	}
	for _, key := range []string{"r-10", "r-1-", "r-1:x", "r"} {
		n := aName()
		n.RunKey = key
		object, err := n.Object()
		if err != nil || strings.HasPrefix(object, prefix) {
			t.Errorf("%q lies under %q, error %v", object, prefix, err)
		}
	}
}

func TestWhatCannotStandInANameIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		change func(*report.Name)
		field  string
	}{
		"no command type":               {func(n *report.Name) { n.CommandType = "" }, "command_type"},
		"a command type with a slash":   {func(n *report.Name) { n.CommandType = "a/b" }, "command_type"},
		"no run key":                    {func(n *report.Name) { n.RunKey = "" }, "run_key"},
		"a run key with a slash":        {func(n *report.Name) { n.RunKey = "r/1" }, "run_key"},
		"a run key that climbs":         {func(n *report.Name) { n.RunKey = ".." }, "run_key"},
		"a run key with a space":        {func(n *report.Name) { n.RunKey = "r 1" }, "run_key"},
		"a run key of 257 bytes":        {func(n *report.Name) { n.RunKey = strings.Repeat("r", 257) }, "run_key"},
		"a run key beyond ASCII":        {func(n *report.Name) { n.RunKey = "ré" }, "run_key"},
		"no lease token":                {func(n *report.Name) { n.LeaseToken = "" }, "lease_token"},
		"a lease token with a slash":    {func(n *report.Name) { n.LeaseToken = "a/b" }, "lease_token"},
		"a slice below zero":            {func(n *report.Name) { n.Slice = -1 }, "slice"},
		"a slice of 7 digits":           {func(n *report.Name) { n.Slice = 1_000_000 }, "slice"},
		"a scan of 5 digits":            {func(n *report.Name) { n.Scan = 10_000 }, "scan"},
		"a batch of 7 digits":           {func(n *report.Name) { n.Batch = 1_000_000 }, "batch"},
		"a try of 3 digits":             {func(n *report.Name) { n.Try = 100 }, "try"},
		"a kind that there is not":      {func(n *report.Name) { n.Kind = "plan" }, "kind"},
		"a small number that is padded": {func(n *report.Name) { n.Try = -9 }, "try"},
	} {
		n := aName()
		c.change(&n)
		if object, err := n.Object(); err == nil || !strings.HasPrefix(err.Error(), c.field+" ") {
			t.Errorf("%s: name %q, error %v, want one of %s", sentence, object, err, c.field)
		}
	}
	if _, err := report.Prefix("cleanup.run", "../r-2"); err == nil {
		t.Error("a run key that climbs has a prefix")
	}
}

func TestOnlyWhatCustodyNamesIsAReportObject(t *testing.T) {
	t.Parallel()
	const good = "custody/cleanup.run/r-1/000003-T/0002-000017-01-selection.jsonl.gz"
	if _, err := report.ParseName(good); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{good, ""}, {"custody/", ""}, {"custody/", "/custody/"}, {"custody/", "other/"}, {"r-1", ""}, {"r-1/", "r-1/x/"}, {"000003", "3"},
		{"000003", "0000003"}, {"000003", "+00003"}, {"000003", "00000x"}, {"0002", "2"}, {"-01-", "-1-"}, {"-01-", "-"},
		{"selection", "Selection"}, {"selection", ""}, {".gz", ""}, {".gz", ".gz/"}, {".gz", ".gz.gz"}, {"-T/", "/"}, {"-T/", "-/"},
		{"cleanup.run", "clean up"}, {"r-1", ".."}, {"-selection", "-x-selection"},
	} {
		object := strings.Replace(good, change[0], change[1], 1)
		if n, err := report.ParseName(object); !errors.Is(err, report.ErrForeign) {
			t.Errorf("%q reads as %+v, error %v", object, n, err)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("custody/cleanup.run/r-1/000003-T-x/0002-000017-01-selection.jsonl.gz")
	f.Add("custody/a/b/000000-0/0000-000000-00-outcome.jsonl.gz")
	f.Add(fmt.Sprintf("custody/%s/b/000000-0/0000-000000-00-outcome.jsonl.gz", strings.Repeat("x", 64)))
	f.Fuzz(func(t *testing.T, object string) {
		n, err := report.ParseName(object)
		if err != nil {
			return
		}
		if again, err := n.Object(); err != nil || again != object {
			t.Errorf("%q is named again %q, error %v", object, again, err)
		}
		if len(object) > 1024 {
			t.Errorf("a name of %d bytes, S3 allows 1,024", len(object))
		}
	})
}
