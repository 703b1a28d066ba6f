package keyring_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"custody/internal/keyring"
	"custody/internal/signature"
)

// FuzzParse holds the decoder against the standard library's: what Parse accepts are exactly the members that are there, and
// each key verifies what was signed with its own text, until it ends, and nothing else.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"k1":"a"}`, `{"k2":"b","k1":{"key":"a","not_after":"2026-12-31T00:00:00Z"}}`, `{"k1":{"key":""}}`, `{"":1}`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := keyring.Parse(text)
		if err != nil {
			if keys != nil || !errors.Is(err, keyring.ErrMalformed) {
				t.Fatalf("%d keys beside the error %v", len(keys), err)
			}
			return
		}
		var plain map[string]any
		if err := json.Unmarshal(text, &plain); err != nil || len(plain) != len(keys) {
			t.Fatalf("%d keys of %d members, error %v", len(keys), len(plain), err)
		}
		active := keys.Active(now())
		for _, k := range keys {
			text, end := member(t, plain, k.ID())
			want := ""
			if !k.Blank() && !end.Before(now()) {
				want = k.ID()
			}
			if got := verifies(t, signature.Keys{k}.Active(now()), text); got != want || (want != "") != active.Has(k.ID()) {
				t.Fatalf("key %q: verified by %q, want %q", k.ID(), got, want)
			}
			if got := verifies(t, signature.Keys{k}, text+"x"); got != "" {
				t.Fatalf("key %q verifies another text", got)
			}
		}
		if got := verifies(t, active, ""); got != "" {
			t.Fatalf("the empty key verifies as %q", got)
		}
	})
}

// member is the text and the end of a key, as the standard library reads them; an end far away for none.
func member(t *testing.T, plain map[string]any, id string) (string, time.Time) {
	t.Helper()
	end := now().AddDate(1000, 0, 0)
	if !signature.ValidID(id) {
		t.Fatalf("key id %q", id)
	}
	switch v := plain[id].(type) {
	case string:
		return v, end
	case map[string]any:
		if written, ends := v["not_after"].(string); ends {
			var err error
			if end, err = time.Parse(time.RFC3339, written); err != nil {
				t.Fatal(err)
			}
		}
		if text, ok := v["key"].(string); ok {
			return text, end
		}
	}
	t.Fatalf("key %q is %T", id, plain[id])
	return "", end
}
