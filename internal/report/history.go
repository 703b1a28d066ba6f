package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// History folds the objects of one run, in any order, into one decision per version. The last line about a version wins: by
// its time, then by the name of its object, a selection before the outcome of its own try.
//
// It holds every line until the end, since a line that wins may come in any object: some 340 bytes for a version with a key of
// 60 bytes that was selected and deleted (BenchmarkHistoryBytesPerVersion), about 64 more for each further line. So a run of a
// million versions takes 0.4 GB, of which the collector may hold twice as much. Where that is too much, read the objects several
// times, each time with another Part of the keys; for the lines as they are, Decode alone needs one object at a time.
type History struct {
	commandType, runKey string
	only                func(key string) bool

	objects []member // by the order in which they came
	there   map[string]bool
	tries   map[Name]int // by the name without its kind
	events  map[version][]event
	words   map[string]string
}

// member is an object that counts.
type member struct {
	Header
	object string
	try    int // the same number for a selection and its outcome
}

// version is a version's name. The name "null" can be that of several in turn, see retention.NullID; the last one counts.
type version struct{ key, id string }

// event is a line about a version, without what the version and the object say. Times are Unix microseconds.
type event struct {
	at, modified, size int64
	fate               Fate   // "" for a selection
	word               string // reason or code
	object             int32
	delete, marker     bool
}

// NewHistory is the empty history of a run. With only, lines about other keys are left out.
func NewHistory(commandType, runKey string, only func(key string) bool) *History {
	return &History{
		commandType: commandType, runKey: runKey, only: only,
		there: map[string]bool{}, tries: map[Name]int{}, events: map[version][]event{}, words: map[string]string{},
	}
}

// Part chooses about one n-th of the keys: the i-th, from 0. The parts are disjoint and together they are all keys.
func Part(i, n int) func(key string) bool {
	return func(key string) bool {
		h := uint32(2166136261) // FNV-1a, the same in every process
		for j := range len(key) {
			h = (h ^ uint32(key[j])) * 16777619
		}
		return h%uint32(n) == uint32(i)
	}
}

// Add takes one object. An error means that nothing of it counts: ErrForeign for one that is not of this run, *TornError for
// one that cannot be read; further objects may be added all the same. An object that is there already changes nothing.
func (h *History) Add(object string, data []byte) error {
	name, err := ParseName(object)
	if err != nil {
		return err
	}
	if name.CommandType != h.commandType || name.RunKey != h.runKey {
		return fmt.Errorf("%q belongs to another run than %s/%s: %w", object, h.commandType, h.runKey, ErrForeign)
	}
	if h.there[object] {
		return nil
	}
	o, err := Decode(object, data)
	if err != nil {
		return err
	}
	n := h.enter(object, o.Header)
	for _, s := range o.Selections {
		h.take(s.Key, s.VersionID, event{
			at: s.At.UnixMicro(), modified: s.LastModified.UnixMicro(), size: s.Size, word: s.Reason,
			object: int32(n), delete: s.Decision == DecisionDelete, marker: s.DeleteMarker,
		})
	}
	for _, f := range o.Outcomes {
		h.take(f.Key, f.VersionID, event{
			at: f.At.UnixMicro(), fate: Fate(h.once(string(f.Fate))), word: f.Code,
			object: int32(n), delete: true,
		})
	}
	return nil
}

// enter gives the object its number.
func (h *History) enter(object string, header Header) int {
	try := header.Name
	try.Kind = ""
	if _, known := h.tries[try]; !known {
		h.tries[try] = len(h.tries)
	}
	h.there[object] = true
	h.objects = append(h.objects, member{header, object, h.tries[try]})
	return len(h.objects) - 1
}

func (h *History) take(key, id string, e event) {
	if h.only != nil && !h.only(key) {
		return
	}
	e.word = h.once(e.word)
	v := version{key, id}
	h.events[v] = append(h.events[v], e)
}

// once gives equal words one memory: reasons and codes are few.
func (h *History) once(word string) string {
	if known, ok := h.words[word]; ok {
		return known
	}
	h.words[word] = word
	return word
}

// Headers are those of the objects that were added, in the order of their names.
func (h *History) Headers() []Header {
	sorted := make([]Header, len(h.objects))
	for i, o := range h.objects {
		sorted[i] = o.Header
	}
	slices.SortFunc(sorted, func(a, b Header) int { return compareNames(a.Name, b.Name) })
	return sorted
}

// Prefixes are those of the run's selection, as the headers have them.
func (h *History) Prefixes() []string {
	var all []string
	for _, header := range h.Headers() {
		for _, p := range header.Prefixes {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Len is how many versions there are lines about.
func (h *History) Len() int { return len(h.events) }

// Versions gives one decision for each version, by key and then by version id.
func (h *History) Versions() iter.Seq[Version] {
	return func(yield func(Version) bool) {
		names := make([]version, 0, len(h.events))
		for v := range h.events {
			names = append(names, v)
		}
		slices.SortFunc(names, func(a, b version) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
		selected := map[int]int64{}
		for _, v := range names {
			if !yield(h.conclude(v, h.inOrder(h.events[v], selected))) {
				return
			}
		}
	}
}

// inOrder sorts the lines about one version. An outcome comes after the selection of its own try even where the clock was set
// back between the two.
func (h *History) inOrder(events []event, selected map[int]int64) []event {
	clear(selected)
	for _, e := range events {
		try := h.objects[e.object].try
		if at, known := selected[try]; e.fate == "" && (!known || at < e.at) {
			selected[try] = e.at
		}
	}
	sorted := slices.Clone(events)
	for i, e := range sorted {
		if at, known := selected[h.objects[e.object].try]; known && e.fate != "" {
			sorted[i].at = max(e.at, at)
		}
	}
	slices.SortStableFunc(sorted, func(a, b event) int { // lines of one object came in their order
		return cmp.Or(cmp.Compare(a.at, b.at), compareNames(h.objects[a.object].Name, h.objects[b.object].Name))
	})
	return sorted
}

// compareNames is the order of the objects' names, part by part, with a try's selection before its outcome.
func compareNames(a, b Name) int {
	return cmp.Or(
		cmp.Compare(a.Slice, b.Slice), cmp.Compare(a.LeaseToken, b.LeaseToken), cmp.Compare(a.Scan, b.Scan),
		cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Try, b.Try), -cmp.Compare(a.Kind, b.Kind),
	)
}

func timeOf(micro int64) time.Time { return time.UnixMicro(micro).UTC() }
