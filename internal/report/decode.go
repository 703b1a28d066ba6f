package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Object is an object as it was read. One of the two lists is empty, by the header's kind.
type Object struct {
	Header     Header
	Selections []Selection
	Outcomes   []Outcome
}

// TornError is an object that is not whole, or not what its name says. Nothing of it counts.
type TornError struct {
	Object string
	Line   int // 1 is the header; 0 where no line is to blame
	Err    error
}

func (e *TornError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("report object %s: %v", e.Object, e.Err)
	}
	return fmt.Sprintf("report object %s, line %d: %v", e.Object, e.Line, e.Err)
}

// Unwrap gives the cause.
func (e *TornError) Unwrap() error { return e.Err }

// Decode reads one object. A name that is not a report object's is ErrForeign, and anything wrong inside is a *TornError: a
// gzip stream that breaks off or does not match its checksum, bytes behind it, a header that contradicts the name, a line that
// lacks what it must have, a last line without an end, more than the bounds allow. Unknown fields are left aside.
func Decode(object string, data []byte) (Object, error) {
	name, err := ParseName(object)
	if err != nil {
		return Object{}, err
	}
	r := &reader{name: name}
	if err := r.read(data); err != nil {
		return Object{}, &TornError{Object: object, Line: r.line, Err: err}
	}
	return r.object, nil
}

type reader struct {
	name   Name
	object Object
	line   int // that is being read
	total  int
}

var (
	errNoHeader = errors.New("no header")
	errBehind   = errors.New("something follows the end of the gzip stream")
	errNoEnd    = errors.New("the line breaks off")
	errLong     = fmt.Errorf("more than %d bytes in one line", MaxLineBytes)
	errMany     = fmt.Errorf("more than %d lines", MaxLines)
	errLarge    = fmt.Errorf("more than %d bytes of text", MaxTextBytes)
	errNotUTF8  = errors.New("the line is not UTF-8")
)

func (r *reader) read(data []byte) error {
	if len(data) > MaxObjectBytes {
		return fmt.Errorf("%d bytes, at most %d are allowed", len(data), MaxObjectBytes)
	}
	packed := bytes.NewReader(data)
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return fmt.Errorf("open gzip: %w", err)
	}
	unpacked.Multistream(false) // an object is one stream: with several, one that was cut off between two would look whole
	lines := bufio.NewReaderSize(unpacked, MaxLineBytes)
	for {
		text, err := lines.ReadSlice('\n')
		switch r.line++; {
		case errors.Is(err, io.EOF) && len(text) == 0:
			return r.end(packed.Len())
		case errors.Is(err, io.EOF):
			return errNoEnd
		case errors.Is(err, bufio.ErrBufferFull):
			return errLong
		case err != nil:
			return fmt.Errorf("unpack: %w", err)
		}
		if err := r.take(text); err != nil {
			return err
		}
	}
}

func (r *reader) end(behind int) error {
	switch {
	case r.line == 1:
		return errNoHeader
	case behind > 0:
		return errBehind
	}
	return nil
}

func (r *reader) take(text []byte) (err error) {
	r.total += len(text)
	switch {
	case r.total > MaxTextBytes:
		return errLarge
	case r.line > MaxLines+1:
		return errMany
	case !utf8.Valid(text): // encoding/json would put U+FFFD in place of what it cannot read, and so name another key
		return errNotUTF8
	case r.line == 1:
		return r.header(text)
	case r.name.Kind == KindSelection:
		var s Selection
		if s, err = readSelection(text); err == nil {
			r.object.Selections = append(r.object.Selections, s)
		}
	default:
		var o Outcome
		if o, err = readOutcome(text); err == nil {
			r.object.Outcomes = append(r.object.Outcomes, o)
		}
	}
	return err
}

func (r *reader) header(text []byte) error {
	h := &r.object.Header
	if err := json.Unmarshal(text, h); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if h.Name != r.name {
		return fmt.Errorf("the header says %+v: the object was renamed", h.Name)
	}
	if err := h.check(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	*h = h.utc()
	return nil
}
