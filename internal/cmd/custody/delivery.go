package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"custody/internal/command"
	"custody/internal/producer"
	"custody/internal/signature"

	"github.com/spf13/cobra"
)

// deliveryFlags say what is signed, and how: what sign and send have in common.
type deliveryFlags struct {
	id, body    string
	commandType string
	fields      map[string]*string // by the field's name in the payload
	scheme      string
	keyFile     string
	keyID       string
}

// The variables of a sender. A local stack's env file has the key and its id.
const (
	schemeVariable = "CUSTODY_SIGNATURE_SCHEME"
	keyVariable    = "CUSTODY_SIGNING_KEY"
	keyIDVariable  = "CUSTODY_SIGNING_KEY_ID"
	urlVariable    = "CUSTODY_URL"
)

func (f *deliveryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.id, "delivery-id", "", "`ID` of the delivery (default: a new one)")
	flags.StringVar(&f.body, "body", "", "`FILE` with the body, sent as it is; - for stdin")
	flags.StringVar(&f.commandType, "type", "", "build the body of this command `TYPE`: "+strings.Join(command.Types(), ", "))
	f.fields = map[string]*string{}
	for _, commandType := range command.Types() {
		for _, field := range producer.Fields(commandType) {
			if _, twice := f.fields[field.Name]; !twice {
				f.fields[field.Name] = flags.String(flagName(field.Name), "", fmt.Sprintf("%s: `%s`, %s", commandType, field.Form, field.Means))
			}
		}
	}
	flags.StringVar(&f.scheme, "scheme", "", "`SCHEME`: "+strings.Join(signature.SchemeNames(), ", ")+" (default: "+schemeVariable+")")
	flags.StringVar(&f.keyFile, "key-file", "", "`FILE` with the key, less a line break at its end (default: the key in "+keyVariable+")")
	flags.StringVar(&f.keyID, "key-id", "", "`ID` of the key (default: "+keyIDVariable+"; with --key-file none)")
	flags.SortFlags = false // a command's fields stay together
}

// flagName is a field's name as a flag: run_id and reservationId become run-id and reservation-id.
func flagName(field string) string {
	var b strings.Builder
	for _, r := range field {
		switch {
		case r == '_':
			b.WriteByte('-')
		case unicode.IsUpper(r):
			b.WriteByte('-')
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// signing is a delivery and what signs it.
type signing struct {
	producer.Signer
	producer.Delivery
	scheme, keyID string
	built         bool // the body was made from flags, so nobody has it yet
}

// read collects everything, and signs once to find what the receiver would not take.
func (f *deliveryFlags) read(cmd *cobra.Command, at time.Time) (signing, map[string]string, error) {
	s := signing{scheme: firstOf(f.scheme, os.Getenv(schemeVariable), signature.SchemeNames()[0]), built: f.commandType != ""}
	scheme, err := signature.Named(s.scheme)
	if err != nil {
		return s, nil, usagef("%w; give --scheme, or set %s", err, schemeVariable)
	}
	s.Scheme = scheme
	if s.Body, err = f.readBody(cmd); err != nil {
		return s, nil, err
	}
	if s.Key, err = f.key(cmd.ErrOrStderr()); err != nil {
		return s, nil, err
	}
	s.keyID = s.Key.ID()
	s.ID = firstOf(f.id, producer.NewID())
	headers, err := s.Headers(s.Delivery, at)
	if isA[*producer.KeyError](err) {
		return s, nil, usagef("scheme %s: %w (%s)", s.scheme, err, f.keySource())
	}
	if err != nil {
		return s, nil, usagef("scheme %s: %w", s.scheme, err)
	}
	return s, headers, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// readBody takes the body from a file, from stdin, or from the flags of a command's fields.
func (f *deliveryFlags) readBody(cmd *cobra.Command) ([]byte, error) {
	values := f.values(cmd)
	switch {
	case f.body == "" && f.commandType == "":
		return nil, usagef("which command? Give --type with its fields, or --body FILE (- for stdin)")
	case f.body != "" && (f.commandType != "" || len(values) > 0):
		return nil, usagef("a body and flags that build one are both given: leave out --body, or --type and its fields")
	case f.commandType != "":
		return build(f.commandType, values)
	}
	body, err := readAll(cmd, f.body)
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if len(body) == 0 {
		return nil, usagef("the body is empty: %s has nothing in it", source(f.body))
	}
	return body, nil
}

func readAll(cmd *cobra.Command, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(file)
}

func source(file string) string {
	if file == "-" {
		return "stdin"
	}
	return file
}

// values are the fields that were given, by their names in the payload.
func (f *deliveryFlags) values(cmd *cobra.Command) map[string]string {
	values := map[string]string{}
	for name, value := range f.fields {
		if cmd.Flags().Changed(flagName(name)) {
			values[name] = *value
		}
	}
	return values
}

// build says in flags what is wrong with the fields.
func build(commandType string, values map[string]string) ([]byte, error) {
	body, err := producer.Payload(commandType, values)
	bad, ok := errors.AsType[*command.Error](err)
	if !ok {
		return body, err
	}
	problems := make([]string, len(bad.Problems))
	for i, p := range bad.Problems {
		problems[i] = fmt.Sprintf("--%s must be %s", flagName(p.Field), p.Allowed)
	}
	slices.Sort(problems)
	return nil, usagef("%s", strings.Join(problems, "; "))
}

// key never comes from a flag: everybody on the machine can read those. Its text stays here.
func (f *deliveryFlags) key(warnings io.Writer) (signature.Key, error) {
	text, id := os.Getenv(keyVariable), firstOf(f.keyID, os.Getenv(keyIDVariable))
	if f.keyFile != "" {
		content, err := os.ReadFile(f.keyFile)
		if err != nil {
			return signature.Key{}, fmt.Errorf("read the signing key: %w", err)
		}
		text, id = withoutLineBreak(string(content)), f.keyID
	}
	if text == "" {
		if f.keyFile != "" {
			return signature.Key{}, usagef("the signing key is empty: %s has nothing in it", f.keyFile)
		}
		return signature.Key{}, usagef("which signing key? Set %s, or give --key-file; a local stack's env file sets it: . ./local.env", keyVariable)
	}
	if id != "" && !signature.ValidID(id) {
		return signature.Key{}, usagef("the key's id must be %s; give --key-id, or set %s", signature.IDRule, keyIDVariable)
	}
	if strings.TrimSpace(text) != text {
		fmt.Fprintf(warnings, "custody: warning: the signing key (%s) begins or ends with whitespace, which is part of it\n", f.keySource())
	}
	return signature.NewKey(id, text, time.Time{}), nil
}

func (f *deliveryFlags) keySource() string { return firstOf(f.keyFile, keyVariable) }

// withoutLineBreak takes one off, which editors and echo put at the end of a file. In the variable a key stands as it is.
func withoutLineBreak(text string) string {
	if before, found := strings.CutSuffix(text, "\r\n"); found {
		return before
	}
	return strings.TrimSuffix(text, "\n")
}
