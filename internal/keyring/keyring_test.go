package keyring_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/keyring"
	"custody/internal/signature"
)

func now() time.Time { return time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC) }

// ids of the keys, in their order.
func ids(keys signature.Keys) []string {
	var out []string
	for _, k := range keys {
		out = append(out, k.ID())
	}
	return out
}

// verifies reports which key of the ring accepts what was signed with the text.
func verifies(t *testing.T, keys signature.Keys, text string) string {
	t.Helper()
	var scheme signature.Timestamped
	headers := scheme.Sign(signature.NewKey("", text, time.Time{}), "d-1", now(), []byte("x"))
	e, err := scheme.Read(func(name string) (string, bool) { v, ok := headers[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	id, _ := scheme.Verify(e, []byte("x"), keys)
	return id
}

func TestParse(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		text string
		want []string // ids that are active at now
	}{
		"one key":                        {`{"k1":"a"}`, []string{"k1"}},
		"two keys, in their order":       {`{"k2":"b","k1":"a"}`, []string{"k2", "k1"}},
		"a long form without an end":     {`{"k1":{"key":"a"}}`, []string{"k1"}},
		"a key that ends later":          {`{"k2":"b","k1":{"key":"a","not_after":"2026-12-31T00:00:00Z"}}`, []string{"k2", "k1"}},
		"a key that ends now":            {`{"k1":{"key":"a","not_after":"2026-09-01T02:00:00+02:00"}}`, []string{"k1"}},
		"a key that ended":               {`{"k2":"b","k1":{"key":"a","not_after":"2026-08-31T23:59:59.999Z"}}`, []string{"k2"}},
		"no key":                         {`{}`, nil},
		"blank keys beside a good one":   {`{"k4":"\u0000","k3":"","k2":" \n","k1":"a","k0":{"key":""}}`, []string{"k1"}},
		"ids that differ in case only":   {`{"K1":"b","k1":"a"}`, []string{"K1", "k1"}},
		"whitespace around":              {"\n {\"k1\":\"a\"}\n", []string{"k1"}},
		"a key in another script":        {`{"k1":"ключ🗝"}`, []string{"k1"}},
		"the same key under two ids":     {`{"k2":"a","k1":"a"}`, []string{"k2", "k1"}},
		"a secret's own long random key": {`{"k1":"` + strings.Repeat("x", 4000) + `"}`, []string{"k1"}},
	} {
		got, err := keyring.Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", sentence, err)
		}
		if diff := cmp.Diff(c.want, ids(got.Active(now()))); diff != "" {
			t.Errorf("%s: active keys (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestKeyBytesAreTheTextBehindTheJSON(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Parse([]byte(`{"k1":"<a>&\u00fc\n","k2":{"key":"two"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"<a>&ü\n": "k1", "two": "k2", "<a>&ü": "", `<a>&\u00fc\n`: "", "": ""} {
		if got := verifies(t, keys, text); got != want {
			t.Errorf("key text %q: verified by %q, want %q", text, got, want)
		}
	}
}

func TestParseRefusesWithoutShowingAnything(t *testing.T) {
	t.Parallel()
	for sentence, text := range map[string]string{
		"nothing":                        ``,
		"a bare key":                     `SECRET`,
		"a key in quotes":                `"SECRET"`,
		"a list":                         `["SECRET"]`,
		"null":                           `null`,
		"broken JSON":                    `{"k1":"SECRET`,
		"trailing data":                  `{"k1":"SECRET"} SECRET`,
		"an id twice":                    `{"SECRET":"SECRET","SECRET":"x"}`,
		"an id twice, escaped":           `{"k1":"SECRET","\u006b1":"x"}`,
		"id and key swapped":             `{"SECRET/+=":"k1"}`,
		"an empty id":                    `{"":"SECRET"}`,
		"a webhook secret for an id":     `{"whsec_SECRETSECRETSECRETSECRETSECRETSE":"k1"}`,
		"a null key":                     `{"SECRET":null}`,
		"a number":                       `{"SECRET":1}`,
		"a list of keys":                 `{"SECRET":["SECRET"]}`,
		"an empty long form":             `{"k1":{}}`,
		"a long form without its key":    `{"k1":{"not_after":"2026-12-31T00:00:00Z"}}`,
		"a null in the long form":        `{"k1":{"key":null}}`,
		"a number in the long form":      `{"k1":{"key":1}}`,
		"a misspelt end":                 `{"k1":{"key":"SECRET","notAfter":"2026-12-31T00:00:00Z"}}`,
		"an end in another case":         `{"k1":{"key":"SECRET","Not_After":"2026-12-31T00:00:00Z"}}`,
		"an end twice":                   `{"k1":{"key":"SECRET","not_after":"2026-12-31T00:00:00Z","not_after":"2027-12-31T00:00:00Z"}}`,
		"a null end":                     `{"k1":{"key":"SECRET","not_after":null}}`,
		"an empty end":                   `{"k1":{"key":"SECRET","not_after":""}}`,
		"an end without an offset":       `{"k1":{"key":"SECRET","not_after":"2026-12-31T00:00:00"}}`,
		"an end that is a date":          `{"k1":{"key":"SECRET","not_after":"2026-12-31"}}`,
		"an end in Unix seconds":         `{"k1":{"key":"SECRET","not_after":1798675200}}`,
		"invalid UTF-8":                  "{\"k1\":\"SECRET\xff\"}",
		"a lone surrogate":               `{"k1":"\ud800SECRET"}`,
		"a byte order mark":              "\ufeff" + `{"k1":"SECRET"}`,
		"a good key before a broken one": `{"k1":"SECRET","k2":false}`,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			keys, err := keyring.Parse([]byte(text))
			if !errors.Is(err, keyring.ErrMalformed) || keys != nil {
				t.Fatalf("%d keys and error %v, want a malformed keyring", len(keys), err)
			}
			if strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "must") {
				t.Errorf("error %q shows the text, or no rule", err)
			}
		})
	}
}

func TestStaticKeyringServesWhatIsInForce(t *testing.T) {
	t.Parallel()
	s, err := keyring.NewStatic(`{"k2":"b","k1":{"key":"a","not_after":"2026-08-31T00:00:00Z"}}`, signature.Timestamped{})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := s.Active(t.Context(), "k9", now())
	if diff := cmp.Diff([]string{"k2"}, ids(keys)); diff != "" || err != nil {
		t.Errorf("error %v, active keys (-want +got):\n%s", err, diff)
	}
	if _, err := keyring.NewStatic("SECRET", signature.Timestamped{}); !errors.Is(err, keyring.ErrMalformed) {
		t.Errorf("error %v, want a malformed keyring", err)
	}
}
