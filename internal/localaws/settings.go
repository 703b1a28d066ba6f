package localaws

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"custody/internal/command"
	"custody/internal/config"
	"custody/internal/localaws/lambda"
)

// settings are what the functions are told, and the key that the webhook takes.
type settings struct {
	values map[string]string
	key    signingKey
}

type signingKey struct{ id, key string }

// localKeyID names the key that each start makes anew.
const localKeyID = "local"

// localDefaults are the names of what the stack makes, and the only settings that differ from the template's defaults.
func localDefaults(key signingKey) map[string]string {
	return map[string]string{
		"CUSTODY_STACK":               "local",
		"CUSTODY_TABLE":               "custody-inbox",
		"CUSTODY_HOLDS_TABLE":         "custody-holds",
		"CUSTODY_RESERVATIONS_TABLE":  "custody-reservations",
		"CUSTODY_BUCKET":              "custody-objects",
		"CUSTODY_BUCKET_OWNER":        lambda.Account, // as in the template: the stack's own account
		"CUSTODY_REPORT_BUCKET":       "custody-reports",
		"CUSTODY_REPORT_BUCKET_OWNER": lambda.Account,
		"CUSTODY_SIGNING_KEYS":        keyring(key),

		"CUSTODY_MIN_OBJECT_AGE": "0s",
		"CUSTODY_DELETE_SCOPES":  "*",
		"CUSTODY_COMMANDS":       allCommands(),
		"CUSTODY_WAKE_AFTER":     "2s",
	}
}

// allCommands is every command type that this version has, the template's default first.
func allCommands() string {
	commands, _ := config.Lookup("CUSTODY_COMMANDS")
	types := slices.DeleteFunc(command.Types(), func(t string) bool { return t == commands.Default })
	return strings.Join(append([]string{commands.Default}, types...), ",")
}

// known lists the names that may be set: the catalogue's, but for the secret's, since there is no Secrets Manager here.
func known() []string {
	var names []string
	for _, setting := range config.Settings() {
		if setting.Name != "CUSTODY_SIGNING_SECRET" {
			names = append(names, setting.Name)
		}
	}
	slices.Sort(names)
	return names
}

// resolve puts the given settings over the local defaults, and names every problem at once.
func resolve(given map[string]string) (settings, error) {
	made := signingKey{localKeyID, randomKey()}
	s := settings{values: localDefaults(made), key: made}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		problems = append(problems, check(name, given[name]))
		s.values[name] = given[name]
	}
	if err := errors.Join(problems...); err != nil {
		return settings{}, err
	}
	var err error
	if keys, ok := given["CUSTODY_SIGNING_KEYS"]; ok {
		s.key, err = keyOf(keys)
	}
	return s, err
}

func check(name, value string) error {
	if !slices.Contains(known(), name) {
		return &UnknownSettingError{Name: name, Known: known()}
	}
	return config.Check(name, value)
}

// UnknownSettingError is a setting that no function of this version has.
type UnknownSettingError struct {
	Name  string
	Known []string
}

func (e *UnknownSettingError) Error() string {
	return fmt.Sprintf("%s is no setting of the local functions; there are: %s", e.Name, strings.Join(e.Known, ", "))
}

// of are a function's own settings as variables.
func (s settings) of(function string) map[string]string {
	env := make(map[string]string)
	for _, setting := range config.For(config.Function(function)) {
		if value, ok := s.values[setting.Name]; ok {
			env[setting.Name] = value
		}
	}
	return env
}

// randomKey is 256 bits, as long as the MAC that is made with it, in the form that a shell can pass on.
func randomKey() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails, by its documentation
	return hex.EncodeToString(b)
}

func keyring(key signingKey) string {
	b, err := json.Marshal(map[string]string{key.id: key.key})
	if err != nil {
		panic(err) // two strings always marshal
	}
	return string(b)
}

// keyOf picks the key that the env file names out of a keyring that was given: the first by id that does not end.
func keyOf(keyring string) (signingKey, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal([]byte(keyring), &keys); err != nil {
		return signingKey{}, errors.New("CUSTODY_SIGNING_KEYS is no JSON object from key id to key")
	}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		var key string
		if json.Unmarshal(keys[id], &key) == nil && strings.TrimSpace(key) != "" {
			return signingKey{id, key}, nil
		}
	}
	return signingKey{}, errors.New("CUSTODY_SIGNING_KEYS has no key without an end")
}
