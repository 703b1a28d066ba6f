package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Run is one run of the benchmarks: where it ran, what took part, and the figures in the order of the table.
type Run struct {
	At       time.Time         `json:"at"`
	Machine  Machine           `json:"machine"`
	Commit   string            `json:"commit"`   // with "-dirty" where the checkout had changes; empty outside of one
	Versions map[string]string `json:"versions"` // of each peer
	Sizes    map[string]int    `json:"sizes"`    // object versions per round and the like, as they were asked for
	Rounds   int               `json:"rounds"`   // asked for; a figure names its own
	Figures  []Figure          `json:"figures"`
	LeftOut  []string          `json:"left_out"` // who did not take part, each with the reason
}

// Machine is what the figures were measured on.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
}

// The files that Write makes.
const (
	JSONFile     = "bench.json"
	MarkdownFile = "bench.md"
)

// Write writes the run into a folder, which it makes where it is missing.
func (r Run) Write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the results: %w", err)
	}
	for name, content := range map[string][]byte{JSONFile: append(b, '\n'), MarkdownFile: []byte(r.Markdown())} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	return nil
}

// Unmet lists the figures that have a target and do not meet it.
func (r Run) Unmet() []Figure {
	var unmet []Figure
	for _, f := range r.Figures {
		if f.Met != nil && !*f.Met {
			unmet = append(unmet, f)
		}
	}
	return unmet
}
