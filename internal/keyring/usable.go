package keyring

import (
	"errors"
	"fmt"
	"strings"

	"custody/internal/signature"
)

// ErrUnusable is a key that stands in the keyring and is none for the stack's scheme. Which one, and what it must be, stands
// beside it.
var ErrUnusable = errors.New("unusable signing key")

// usableBy parts the keys that the scheme can use from the rest, which the error names: the others go on, and somebody must
// mend these. Blank keys are left out in silence.
func usableBy(scheme signature.Scheme, all signature.Keys) (signature.Keys, error) {
	var keys signature.Keys
	var problems []string
	for place, k := range all {
		switch err := scheme.CheckKey(k); {
		case k.Blank():
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s: %s", call(k.ID(), place), err))
		default:
			keys = append(keys, k)
		}
	}
	if len(problems) == 0 {
		return keys, nil
	}
	return keys, fmt.Errorf("%w: %s", ErrUnusable, strings.Join(problems, "; "))
}

// call is what an error calls a key: by its id, unless that may be a key that was put in its place.
func call(id string, place int) string {
	if signature.MayBeSecret(id) {
		return fmt.Sprintf("key %d", place+1)
	}
	return fmt.Sprintf("key %d, %s", place+1, id)
}
