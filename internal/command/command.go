package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"custody/internal/inbox"
)

// Command is one decoded and checked payload.
type Command struct {
	Type string
	Due  time.Time // not to be claimed before this

	// Expiry is the whole effect of a command that starts no run; nil for one that does, and then the rest is of the run.
	Expiry *inbox.Expiry

	Run       inbox.RunKey
	Scope     string
	Selection inbox.Selection
	// Hash is over the type and the command's own fields. The settings of the stack are left out, so that a changed prefix
	// does not turn a true duplicate into a conflict.
	Hash string
}

// Settings is what the stack adds to a payload.
type Settings struct {
	Accepted          []string // command types, from the stack's Commands; the first is that of a payload without `type`
	Bucket            string   // never taken from a payload
	MinObjectAge      time.Duration
	WarehousePrefixes []string // templates with WarehousePlaceholder
	ListingPrefixes   []string // templates with ListingPlaceholder
}

// kind is one command type.
type kind struct {
	// scope is the word that the scopes of its runs begin with; "" where it starts none.
	scope string
	// prefixes are the templates of the key prefixes that the type selects by; nil where it selects no objects.
	prefixes func(Settings) []Template
	// names are the fields of the payload.
	names []string
	// build reads the fields; what is wrong with them it leaves in f.
	build func(f *fields, s Settings) Command
}

// kinds is the registry: a new command type is a file and a line here.
func kinds() map[string]kind {
	return map[string]kind{
		CleanupRun:        cleanupRun(),
		ListingExpire:     listingExpire(),
		ReservationExpire: reservationExpire(),
	}
}

// Types lists every command type there is, in alphabetical order; a stack accepts some of them.
func Types() []string {
	var all []string
	for name := range kinds() {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// RunTypes lists the command types that start a run, in alphabetical order.
func RunTypes() []string {
	return slices.DeleteFunc(Types(), func(name string) bool { return kinds()[name].prefixes == nil })
}

// Decoder turns authentic payloads into commands. It is safe for concurrent use.
type Decoder struct {
	settings Settings
	kinds    map[string]kind
}

// NewDecoder checks what the accepted types need of the settings.
func NewDecoder(s Settings) (*Decoder, error) {
	if err := CheckTypes(s.Accepted); err != nil {
		return nil, fmt.Errorf("commands: %w", err)
	}
	if s.Bucket == "" {
		return nil, fmt.Errorf("bucket: must be the name of the bucket to clean")
	}
	accepted := map[string]kind{}
	var all []Template
	for _, name := range s.Accepted {
		k := kinds()[name]
		accepted[name] = k
		if k.prefixes == nil {
			continue
		}
		own := k.prefixes(s)
		if err := checkTemplates(own); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, own...)
	}
	// Holds are placed per scope, so what a warehouse may delete must be out of a listing's reach, and the other way round.
	if err := checkApart(all); err != nil {
		return nil, err
	}
	return &Decoder{settings: s, kinds: accepted}, nil
}

// Accepts reports whether the stack takes commands of the type.
func (d *Decoder) Accepts(commandType string) bool {
	_, accepted := d.kinds[commandType]
	return accepted
}

// CheckTypes says what is wrong with a stack's list of command types.
func CheckTypes(accepted []string) error {
	if len(accepted) == 0 {
		return fmt.Errorf("must name at least one of %s", strings.Join(Types(), ", "))
	}
	known := kinds()
	for i, name := range accepted {
		if _, ok := known[name]; !ok {
			return fmt.Errorf("%q is no command type: must be of %s", name, strings.Join(Types(), ", "))
		}
		if slices.Contains(accepted[:i], name) {
			return fmt.Errorf("%q is named twice", name)
		}
	}
	return nil
}

// Decode reads one payload. An error is an *Error, and means that the payload is no valid command.
func (d *Decoder) Decode(body []byte) (Command, error) {
	f, err := parse(body)
	if err != nil {
		return Command{}, err
	}
	name := f.kindName(d.settings.Accepted[0])
	k, accepted := d.kinds[name]
	if !accepted {
		f.wrong("type", "one of "+strings.Join(d.settings.Accepted, ", "))
		return Command{}, f.err()
	}
	f.refuseLookalikes(k.names)
	c := k.build(f, d.settings)
	if err := f.err(); err != nil {
		return Command{}, err
	}
	return c, nil
}

// hash is over a canonical form: a JSON array of strings, type first, so that no two commands can run together into one text.
func hash(commandType string, own ...string) string {
	var room [256]byte // for ids and times of the usual length
	text := quoted(append(room[:0], '['), commandType)
	for _, field := range own {
		text = quoted(append(text, ','), field)
	}
	sum := sha256.Sum256(append(text, ']'))
	return hex.EncodeToString(sum[:])
}

func quoted(text []byte, s string) []byte {
	text, err := jsontext.AppendQuote(text, s)
	if err != nil { // strings that came out of a strict decoder can always be quoted
		panic(fmt.Sprintf("canonical form of a command: %v", err))
	}
	return text
}
