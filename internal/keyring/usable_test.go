package keyring_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/keyring"
	"custody/internal/signature"
)

func TestKeysThatTheSchemeCannotUseAreNamedAndLeftOut(t *testing.T) {
	t.Parallel()
	const good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for sentence, c := range map[string]struct {
		text string
		want []string
		says []string // parts of the error; none for no error
	}{
		"one that can be used":          {`{"k1":"` + good + `"}`, []string{"k1"}, nil},
		"blank ones beside it":          {`{"k3":"","k2":" ","k1":"` + good + `"}`, []string{"k1"}, nil},
		"one without the prefix":        {`{"k2":"SECRET","k1":"` + good + `"}`, []string{"k1"}, []string{"key 1, k2: must be whsec_"}},
		"a bad one behind":              {`{"k2":"` + good + `","k1":"whsec_SECRET!"}`, []string{"k2"}, []string{"key 2, k1: must be"}},
		"a newline behind it":           {`{"k1":"` + good + `\n"}`, nil, []string{"key 1, k1: must be", "line breaks"}},
		"angle brackets":                {`{"k1":"<` + good + `>"}`, nil, []string{"key 1, k1"}},
		"two bad ones":                  {`{"k2":"SECRET","k1":"SECRET"}`, nil, []string{"key 1, k2: ", "; key 2, k1: "}},
		"a bad one that has ended":      {`{"k1":{"key":"SECRET","not_after":"2020-01-01T00:00:00Z"}}`, nil, []string{"key 1, k1"}},
		"id and key of another scheme":  {`{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaSECRET":"k1"}`, nil, []string{"key 1: must be"}},
		"the longest id that is called": {`{"` + strings.Repeat("k", 31) + `":"x"}`, nil, []string{"key 1, " + strings.Repeat("k", 31)}},
		"no key":                        {`{}`, nil, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			static, err := keyring.NewStatic(c.text, signature.StandardWebhooks{})
			if err != nil {
				t.Fatal(err)
			}
			m, secret := newSecretOf(signature.StandardWebhooks{})
			m.hold(c.text)
			for name, source := range map[string]source{"static": static, "secret": secret} {
				keys, err := source.Active(t.Context(), "", now())
				if diff := cmp.Diff(c.want, ids(keys)); diff != "" || errors.Is(err, keyring.ErrUnusable) != (c.says != nil) {
					t.Errorf("%s: error %v, active keys (-want +got):\n%s", name, err, diff)
				}
				for _, part := range c.says {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%s: error %q does not say %q", name, err, part)
					}
				}
				if err != nil && (strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), good[6:])) {
					t.Errorf("%s: error %q shows a key", name, err)
				}
			}
		})
	}
}

func TestOtherSchemesTakeEveryText(t *testing.T) {
	t.Parallel()
	for _, scheme := range []signature.Scheme{signature.Timestamped{}, signature.Body{}} {
		s, err := keyring.NewStatic(`{"k3":"whsec_x","k2":"<>&\n","k1":"ключ"}`, scheme)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := s.Active(t.Context(), "", now())
		if diff := cmp.Diff([]string{"k3", "k2", "k1"}, ids(keys)); diff != "" || err != nil {
			t.Errorf("%T: error %v, active keys (-want +got):\n%s", scheme, err, diff)
		}
	}
}

// A keyring is a field of what a function is built from, and somebody will print that once.
func TestKeyringsHideTheirKeys(t *testing.T) {
	t.Parallel()
	const text = "correct horse battery staple"
	static, err := keyring.NewStatic(`{"k1":"`+text+`"}`, signature.Timestamped{})
	if err != nil {
		t.Fatal(err)
	}
	m, secret := newSecret()
	m.hold(`{"k1":"` + text + `"}`)
	if keys, err := secret.Active(t.Context(), "", now()); err != nil || len(keys) != 1 {
		t.Fatalf("%d keys, error %v", len(keys), err)
	}
	m.text = nil // the fake's own copy is no part of the keyring
	var out strings.Builder
	for _, ring := range []any{static, *static, secret, struct{ Ring any }{secret}, []any{static}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb, ring)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "ring", ring)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "ring", ring)
	}
	for _, form := range []string{text, fmt.Sprintf("%x", text), strings.Trim(fmt.Sprint([]byte(text)), "[]")} {
		if strings.Contains(out.String(), form) {
			t.Errorf("a keyring shows its key as %.12s…", form)
		}
	}
}
