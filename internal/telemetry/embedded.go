package telemetry

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// The names of the members are those of the "Specification: Embedded metric format" in the CloudWatch user guide.
type metadata struct {
	Timestamp         int64       `json:"Timestamp"` // Unix milliseconds
	CloudWatchMetrics []directive `json:"CloudWatchMetrics"`
}

type directive struct {
	Namespace  string       `json:"Namespace"`
	Dimensions [][]string   `json:"Dimensions"`
	Metrics    []definition `json:"Metrics"`
}

type definition struct {
	Name string `json:"Name"`
	Unit Unit   `json:"Unit"`
}

// sample is one value of one metric.
type sample struct {
	name  string
	value float64
}

func count(name string, n int) sample { return sample{name, float64(n)} }

// seconds never goes below zero: clocks of two machines differ, and a negative age would hide a positive one in an average.
func seconds(name string, d time.Duration) sample { return sample{name, max(0, d.Seconds())} }

func milliseconds(name string, d time.Duration) sample {
	return sample{name, max(0, float64(d)/float64(time.Millisecond))}
}

// dimensions are the values of a document's dimensions, by name. An empty value leaves out the sets that need it.
type dimensions map[string]string

// embed makes the root members of an embedded metric document: the metadata, then each dimension and each value that the
// metadata refers to. A metric that is not in the catalogue is left out, which a test would notice.
func embed(catalogue map[string]Metric, now time.Time, dims dimensions, samples []sample) []slog.Attr {
	meta := metadata{Timestamp: now.UnixMilli()}
	used := map[string]bool{}
	var values []slog.Attr
	for _, s := range samples {
		m, known := catalogue[s.name]
		sets := dims.complete(m.Dimensions)
		if !known || len(sets) == 0 {
			continue
		}
		meta.add(sets, definition{Name: m.Name, Unit: m.Unit})
		values = append(values, slog.Float64(s.name, s.value))
		for _, set := range sets {
			for _, name := range set {
				used[name] = true
			}
		}
	}
	if len(values) == 0 {
		return nil
	}
	attrs := []slog.Attr{slog.Any("_aws", meta)} //nolint:sloglint // the name is of the format
	for _, name := range slices.Sorted(maps.Keys(used)) {
		attrs = append(attrs, slog.String(name, dims.value(name)))
	}
	return append(attrs, values...)
}

// add puts the definition into the directive with the same dimension sets.
func (m *metadata) add(sets [][]string, d definition) {
	for i, have := range m.CloudWatchMetrics {
		if slices.EqualFunc(have.Dimensions, sets, slices.Equal[[]string]) {
			m.CloudWatchMetrics[i].Metrics = append(have.Metrics, d)
			return
		}
	}
	m.CloudWatchMetrics = append(m.CloudWatchMetrics, directive{Namespace: Namespace, Dimensions: sets, Metrics: []definition{d}})
}

// complete keeps the sets whose every dimension has a value.
func (d dimensions) complete(sets [][]string) [][]string {
	var kept [][]string
	for _, set := range sets {
		if !slices.ContainsFunc(set, func(name string) bool { return d[name] == "" }) {
			kept = append(kept, set)
		}
	}
	return kept
}

// otherWord stands for a value that is no word of a closed list.
const otherWord = "other"

// value is the dimension's value. All but the stack's name are words; whatever else comes along, such as the reason that a
// foreign system wrote into a hold, becomes "other" and never a metric of its own.
func (d dimensions) value(name string) string {
	if name == DimStack {
		return d[name]
	}
	return word(d[name])
}

func word(s string) string {
	if s == "" || len(s) > 40 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return otherWord
	}
	return s
}

// maxReasons bounds the lines that one slice writes for its retained versions. The closed list is far shorter.
const maxReasons = 20

// byReason sums the counts under words, in alphabetical order, with what goes beyond maxReasons under "other".
func byReason(counts map[string]int64) map[string]int64 {
	sums := map[string]int64{}
	for _, reason := range slices.SortedFunc(maps.Keys(counts), strings.Compare) {
		name := word(reason)
		if _, have := sums[name]; !have && len(sums) >= maxReasons {
			name = otherWord
		}
		sums[name] += counts[reason]
	}
	return sums
}
