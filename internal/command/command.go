package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"custody/internal/inbox"
)

// Command is one decoded and checked payload.
type Command struct {
	Run       inbox.RunKey
	Scope     string
	Selection inbox.Selection
	Due       time.Time // not to be claimed before this
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
}

// kind is one command type.
type kind struct {
	// check says what of the settings the type cannot work with.
	check func(Settings) error
	// names are the fields of the payload.
	names []string
	// build reads the fields; what is wrong with them it leaves in f.
	build func(f *fields, s Settings) Command
}

// kinds is the registry: a new command type is a file and a line here.
func kinds() map[string]kind {
	return map[string]kind{CleanupRun: cleanupRun()}
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
	for _, name := range s.Accepted {
		k := kinds()[name]
		if err := k.check(s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		accepted[name] = k
	}
	return &Decoder{settings: s, kinds: accepted}, nil
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
	text, err := json.Marshal(append([]string{commandType}, own...))
	if err != nil { // strings that came out of a strict decoder always marshal
		panic(fmt.Sprintf("canonical form of %s: %v", commandType, err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
