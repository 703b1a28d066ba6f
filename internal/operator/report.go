package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"custody/internal/inbox"
	"custody/internal/report"
)

// Reports is the report bucket.
type Reports interface {
	// Read gives the objects of a run. An error beside a name is about that object alone, and the others follow; an error
	// without a name is the last.
	Read(ctx context.Context, commandType, runKey string) iter.Seq2[report.Stored, error]
}

// Shelf keeps the objects of a report while they are read in several goes, such as a temporary file.
type Shelf interface {
	io.Writer
	io.ReaderAt
}

// rangeLines is how many lines are folded at once: some 80 MB where each version has two.
const rangeLines = 200_000

// sampledEvery is how many lines stand for one when the keys are divided, see report.Divider.
const sampledEvery = 256

// leftOutNamed bounds the errors that an audit keeps.
const leftOutNamed = 20

// Audit is what the report objects of one run say. Memory is bounded: it holds a few bytes for each object, and of the versions
// those that are being folded.
type Audit struct {
	report.Outline
	// LeftOut counts the objects that are torn: what they say is missing, so that a version may be in another state, or be
	// missing altogether. Problems names the first of them.
	LeftOut  int
	Problems []error
	// Foreign are objects among those of the run that Custody did not name. They are left aside, and the first are named.
	Foreign      int
	ForeignNames []string

	key     inbox.RunKey
	shelf   Shelf
	books   []book
	divider report.Divider
	lines   int // for each range
}

// book is an object on the shelf.
type book struct {
	name   string
	at     int64
	size   int
	span   report.Span
	filled bool
}

// ReadAudit takes all objects of the run to the shelf. A run without any gives an audit without any. An error is one of the
// bucket; an object that is torn is none.
func ReadAudit(ctx context.Context, r Reports, key inbox.RunKey, shelf Shelf) (*Audit, error) {
	a := &Audit{key: key, shelf: shelf, divider: report.Divider{Every: sampledEvery}, lines: rangeLines}
	return a, a.read(ctx, r, a.keep)
}

// ReadKey reads the history of one key: its versions, the newest first as S3 lists them, with all the lines about them. Nothing is kept
// on a shelf.
func ReadKey(ctx context.Context, r Reports, key inbox.RunKey, objectKey string) (*Audit, []report.Version, error) {
	a := &Audit{key: key}
	h := report.NewHistory(key.Type, key.Key, func(k string) bool { return k == objectKey })
	err := a.read(ctx, r, func(s report.Stored, _ report.Object) error { return h.Add(s.Name, s.Data) })
	var versions []report.Version
	for v := range h.Versions() {
		versions = append(versions, v)
	}
	// Versions of one second, and those of which no line tells the time, stay in the order of their ids.
	slices.SortStableFunc(versions, func(a, b report.Version) int { return b.LastModified.Compare(a.LastModified) })
	return a, versions, err
}

func (a *Audit) read(ctx context.Context, r Reports, take func(report.Stored, report.Object) error) error {
	for stored, err := range r.Read(ctx, a.key.Type, a.key.Key) {
		var object report.Object
		if err == nil {
			object, err = report.Decode(stored.Name, stored.Data)
		}
		switch {
		case err == nil:
			a.Add(object)
			if err := take(stored, object); err != nil {
				return err
			}
		case errors.Is(err, report.ErrForeign):
			a.foreign(stored.Name)
		case stored.Name == "" || isA[*inbox.Failure](err): // the bucket's error and not the object's: others would follow
			return err
		default:
			a.leaveOut(err)
		}
	}
	return nil
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func (a *Audit) foreign(name string) {
	if a.Foreign++; a.Foreign <= leftOutNamed {
		a.ForeignNames = append(a.ForeignNames, name)
	}
}

func (a *Audit) leaveOut(err error) {
	if a.LeftOut++; a.LeftOut <= leftOutNamed {
		a.Problems = append(a.Problems, err)
	}
}

// keep puts the object on the shelf.
func (a *Audit) keep(s report.Stored, o report.Object) error {
	b := book{name: s.Name, size: len(s.Data)}
	if n := len(a.books); n > 0 {
		b.at = a.books[n-1].at + int64(a.books[n-1].size)
	}
	if _, err := a.shelf.Write(s.Data); err != nil {
		return fmt.Errorf("keep %s for a moment: %w", s.Name, err)
	}
	b.span, b.filled = o.Span()
	o.Keys(a.divider.Add)
	a.books = append(a.books, b)
	return nil
}

// Versions gives one decision for each version, by key and then by version id. An error is the last.
func (a *Audit) Versions(ctx context.Context) iter.Seq2[report.Version, error] {
	return func(yield func(report.Version, error) bool) {
		for _, r := range a.divider.Ranges(a.lines) {
			h, err := a.fold(ctx, r)
			if err != nil {
				yield(report.Version{}, err)
				return
			}
			for v := range h.Versions() {
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

// fold takes the objects that meet the range from the shelf. Batches follow the keys, so these are few.
func (a *Audit) fold(ctx context.Context, r report.Range) (*report.History, error) {
	h := report.NewHistory(a.key.Type, a.key.Key, r.Has)
	for _, b := range a.books {
		if !b.filled || !r.Meets(b.span) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		data := make([]byte, b.size)
		if _, err := a.shelf.ReadAt(data, b.at); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s again: %w", b.name, err)
		}
		if err := h.Add(b.name, data); err != nil {
			return nil, fmt.Errorf("read %s again: %w", b.name, err)
		}
	}
	return h, nil
}
