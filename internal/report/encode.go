package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
)

// Bounds of an object. A batch has at most 1,000 versions to delete (DeleteObjects); the rest is room for those kept on the way.
const (
	MaxLines = 10_000 // without the header
	// MaxLineBytes is for the header, whose prefixes may be 1,024 bytes each. A key of 1,024 control characters takes 6 KiB.
	MaxLineBytes = 64 << 10
	MaxTextBytes = 64 << 20 // before compression; 10,000 such keys take 61 MiB
	// MaxObjectBytes is what readers need to take. Keys of random bytes, which gzip cannot shorten, stay below it.
	MaxObjectBytes = 32 << 20
)

// Encoder makes report objects. It keeps the buffers for the next one: a gzip writer alone takes most of a megabyte. The zero
// value is ready, and it is safe for concurrent use.
type Encoder struct {
	presses sync.Pool // of *press
}

// Selection makes the selection object of a try and its name.
func (e *Encoder) Selection(h Header, lines iter.Seq[Selection]) (object string, data []byte, err error) {
	h.Kind = KindSelection
	return encode(e, h, lines, Selection.check, func(p *press, s Selection) error {
		p.selection = s.line()
		return p.line(&p.selection)
	})
}

// Outcome makes the outcome object of a try and its name.
func (e *Encoder) Outcome(h Header, lines iter.Seq[Outcome]) (object string, data []byte, err error) {
	h.Kind = KindOutcome
	return encode(e, h, lines, Outcome.check, func(p *press, o Outcome) error {
		p.outcome = o.line()
		return p.line(&p.outcome)
	})
}

func encode[L any](e *Encoder, h Header, lines iter.Seq[L], check func(L) error, write func(*press, L) error) (string, []byte, error) {
	h.Format = Format
	object, err := h.Object()
	if err != nil {
		return "", nil, fmt.Errorf("name a report object: %w", err)
	}
	if err := h.check(); err != nil {
		return "", nil, fmt.Errorf("encode %s: %w", object, err)
	}
	p, kept := e.presses.Get().(*press)
	if !kept {
		p = newPress()
	}
	defer e.presses.Put(p)
	p.reset()
	if err := p.line(h.utc()); err != nil {
		return "", nil, fmt.Errorf("encode %s, header: %w", object, err)
	}
	n := 0
	for l := range lines {
		n++
		err := check(l)
		if err == nil {
			err = write(p, l)
		}
		if err != nil {
			return "", nil, fmt.Errorf("encode %s, version %d: %w", object, n, err)
		}
	}
	data, err := p.finish(n)
	if err != nil {
		return "", nil, fmt.Errorf("encode %s: %w", object, err)
	}
	return object, data, nil
}

// press is what making one object takes.
type press struct {
	packed bytes.Buffer
	gzip   *gzip.Writer
	text   bytes.Buffer // one line
	json   *json.Encoder
	total  int

	selection selectionLine // here and not on the stack, since what is passed to the JSON encoder escapes
	outcome   outcomeLine
}

func newPress() *press {
	p := &press{}
	// A third of the time of the default level for 8 % more bytes; a function of 512 MB has a third of a processor.
	p.gzip, _ = gzip.NewWriterLevel(&p.packed, gzip.BestSpeed) // only a level that there is not is an error
	p.json = json.NewEncoder(&p.text)
	p.json.SetEscapeHTML(false)
	return p
}

func (p *press) reset() {
	p.packed.Reset()
	p.gzip.Reset(&p.packed)
	p.total = 0
}

func (p *press) line(v any) error {
	p.text.Reset()
	if err := p.json.Encode(v); err != nil {
		return err
	}
	if p.text.Len() > MaxLineBytes {
		return fmt.Errorf("%d bytes, at most %d are allowed", p.text.Len(), MaxLineBytes)
	}
	p.total += p.text.Len()
	_, err := p.gzip.Write(p.text.Bytes())
	return err
}

func (p *press) finish(lines int) ([]byte, error) {
	if err := p.gzip.Close(); err != nil {
		return nil, err
	}
	switch {
	case lines > MaxLines:
		return nil, fmt.Errorf("%d lines, at most %d are allowed", lines, MaxLines)
	case p.total > MaxTextBytes:
		return nil, fmt.Errorf("%d bytes of text, at most %d are allowed", p.total, MaxTextBytes)
	case p.packed.Len() > MaxObjectBytes:
		return nil, fmt.Errorf("%d bytes, at most %d are allowed", p.packed.Len(), MaxObjectBytes)
	}
	return bytes.Clone(p.packed.Bytes()), nil
}
