package server

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"custody/internal/localaws/s3"
)

// Stock says what a bucket is to hold.
type Stock struct {
	Bucket   string   `json:"bucket"`
	Prefixes []string `json:"prefixes"` // each ends in '/'
	Versions int      `json:"versions"` // below each prefix, delete markers included
	PerKey   int      `json:"per_key"`  // the last key of a prefix has what is left
	// MarkerEvery is which keys end in a delete marker in place of a version: every so many, the first of them included; 0 is none.
	MarkerEvery int `json:"marker_every"`
}

func (s Stock) check() error {
	switch {
	case s.Versions < 0 || s.Versions > 20_000_000:
		return fmt.Errorf("versions is %d, must be 0 to 20000000", s.Versions)
	case s.PerKey < 1:
		return fmt.Errorf("per_key is %d, must be 1 or more", s.PerKey)
	case s.MarkerEvery < 0:
		return fmt.Errorf("marker_every is %d, must be 0 or more", s.MarkerEvery)
	case len(s.Prefixes) == 0:
		return fmt.Errorf("there is no prefix")
	}
	for _, p := range s.Prefixes {
		if len(p) < 2 || !strings.HasSuffix(p, "/") {
			return fmt.Errorf("prefix %q does not end in /", p)
		}
	}
	return nil
}

// versions are all that the bucket is to hold, in the order of writing.
func (s Stock) versions() iter.Seq[s3.Written] {
	return func(yield func(s3.Written) bool) {
		for _, prefix := range s.Prefixes {
			if !s.below(prefix, yield) {
				return
			}
		}
		for _, prefix := range s.bystanders() {
			for range 2 { // one of them not current
				if !yield(s3.Written{Key: prefix + "stays"}) {
					return
				}
			}
		}
	}
}

func (s Stock) below(prefix string, yield func(s3.Written) bool) bool {
	for i := range s.Versions {
		key := i / s.PerKey
		last := i == s.Versions-1 || (i+1)/s.PerKey != key
		w := s3.Written{Key: fmt.Sprintf("%s%07d.jpg", prefix, key), Marker: last && s.MarkerEvery > 0 && key%s.MarkerEvery == 0}
		if !yield(w) {
			return false
		}
	}
	return true
}

// bystanders are folders that nobody was told to delete below: in front of all prefixes, behind them, and beside each, where a
// prefix without its slash would reach them.
func (s Stock) bystanders() []string {
	beside := []string{"!/", "~/"}
	for _, p := range s.Prefixes {
		beside = append(beside, strings.TrimSuffix(p, "/")+"-beside/")
	}
	return slices.DeleteFunc(beside, func(b string) bool {
		return slices.ContainsFunc(s.Prefixes, func(p string) bool { return strings.HasPrefix(b, p) })
	})
}
