package contenders_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/server"
)

// programs builds what the contenders are, as plainly as go does.
func programs(t *testing.T) contenders.Programs {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "custody/functions/cleanup", "custody/functions/webhook",
		"custody/functions/sweeper", "custody/internal/cmd/bench/bareloop", "custody/internal/cmd/bench/barelambda")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	return contenders.Programs{Cleanup: at("cleanup"), Webhook: at("webhook"), Sweeper: at("sweeper"), BareLoop: at("bareloop"),
		BareLambda: at("barelambda")}
}

func serving(t *testing.T) *server.Server {
	t.Helper()
	in, stop := io.Pipe()
	out, said := io.Pipe()
	go func() { _ = server.Serve(context.WithoutCancel(t.Context()), in, said) }()
	t.Cleanup(func() { stop.Close() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	must(t, err)
	var e server.Endpoints
	must(t, json.Unmarshal(line, &e))
	s := server.At(e)
	must(t, contenders.MakeTables(t.Context(), s))
	_, err = s.Fill(t.Context(), server.Stock{Bucket: contenders.ReportBucket, Prefixes: []string{"none/"}, PerKey: 1})
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func with(settings map[string]string, name, value string) map[string]string {
	changed := maps.Clone(settings)
	changed[name] = value
	return changed
}

const versions = 1200 // more than one page

func TestTheBuiltProgramsDoTheWork(t *testing.T) {
	t.Parallel()
	p, s := programs(t), serving(t)
	custody := func(settings map[string]string) contenders.Contender {
		return contenders.Custody{Binary: p.Cleanup, Settings: settings, GCTrace: true}.Contender()
	}
	for _, test := range []struct {
		name  string
		who   contenders.Contender
		left  error            // of the look at what is left
		fails string           // of the contender itself
		asked map[string]int64 // some of what it asked for, exactly
	}{
		{name: "custody as lean as peers", who: custody(contenders.Lean()),
			asked: map[string]int64{"DeleteObjects": 2, "GetObjectTagging": 0, "PutObject": 0}},
		{name: "custody with a report", who: custody(contenders.Reporting()), asked: map[string]int64{"GetObjectTagging": 0}},
		// Every other of the 240 keys ends in a delete marker, which has no tags.
		{name: "custody as shipped", who: custody(contenders.Shipped()), asked: map[string]int64{"GetObjectTagging": versions - 120}},
		{name: "a dry run deletes nothing", who: custody(with(contenders.Lean(), "CUSTODY_DELETE_SCOPES", "")), left: server.ErrLeft},
		{name: "a run that fails", who: custody(with(contenders.Lean(), "CUSTODY_BUCKET_OWNER", "111111111111")), fails: "wrong_owner"},
		{name: "a function that does not start", who: custody(with(contenders.Lean(), "CUSTODY_CHECK_TAGS", "maybe")), fails: "CUSTODY_CHECK_TAGS"},
		{name: "the bare loop", who: contenders.BareLoop("bare", p.BareLoop, 0),
			asked: map[string]int64{"ListObjectVersions": 2, "DeleteObjects": 2, "GetObjectTagging": 0}},
		{name: "the bare loop with tags", who: contenders.BareLoop("bare", p.BareLoop, 32), asked: map[string]int64{"GetObjectTagging": versions - 120}},
		{name: "a program that is not there", who: contenders.BareLoop("bare", p.BareLoop+"x", 0), fails: "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := contenders.Job{Server: s, Bucket: "bench-objects", Prefix: "pod/wh-17/"}
			stocked, err := s.Fill(t.Context(), server.Stock{Bucket: j.Bucket, Prefixes: []string{j.Prefix}, Versions: versions, PerKey: 5, MarkerEvery: 2})
			must(t, err)
			_, err = s.TakeCounts(t.Context())
			must(t, err)
			o, err := test.who.Run(t.Context(), j)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error %v, want one about %s", err, test.fails)
				}
				return
			}
			must(t, err)
			if o.Elapsed <= 0 || o.Elapsed > time.Minute {
				t.Errorf("it took %s", o.Elapsed)
			}
			if err := stocked.Verify(t.Context()); !errors.Is(err, test.left) {
				t.Errorf("what is left: %v, want %v", err, test.left)
			}
			counts, err := s.TakeCounts(t.Context())
			must(t, err)
			for operation, n := range test.asked {
				if counts[operation] != n {
					t.Errorf("%d %s, want %d", counts[operation], operation, n)
				}
			}
		})
	}
	for _, starter := range p.Starters() {
		t.Run("the start of "+starter.Name, func(t *testing.T) {
			if took, err := starter.Start(t.Context(), s); err != nil || took <= 0 || took > time.Minute {
				t.Errorf("%s, %v", took, err)
			}
		})
	}
}
