package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"custody/internal/command"
	"custody/internal/signature"
)

// FuzzDecode holds what is accepted against a second, lenient reader: whatever it reads, it must read the same command.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		good, `{"type":"cleanup.run",` + good[1:], `{"RUN_ID":"r-2",` + good[1:], good + " x", `{"a":{"b":1,"B":2}}`,
		`{"run_id":"\ud800"}`, "{\"x\":\"\xff\"}", `[]`, `null`, strings.Repeat("[", 100),
	} {
		f.Add([]byte(seed))
	}
	d := decoder(f, settings())
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := d.Decode(body)
		if err != nil {
			return
		}
		var lenient struct {
			RunID       string `json:"run_id"`
			WarehouseID string `json:"warehouse_id"`
		}
		if err := json.Unmarshal(body, &lenient); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		if lenient.RunID != got.Run.Key || "warehouse:"+lenient.WarehouseID != got.Scope {
			t.Fatalf("read %+v, another reader %+v", got, lenient)
		}
		for _, p := range got.Selection.Prefixes {
			id := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(p, "pod/"), "labels/"), "/")
			if id != lenient.WarehouseID || !signature.ValidID(id) {
				t.Fatalf("prefix %q for warehouse %q", p, lenient.WarehouseID)
			}
		}
		if got.Selection.Bucket != "pods" || got.Run.Type != command.CleanupRun || got.Selection.Cutoff.Nanosecond() != 0 {
			t.Fatalf("command %+v", got)
		}
	})
}
