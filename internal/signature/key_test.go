package signature_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"

	"custody/internal/signature"
)

// shown reports each form in which the text can be found in the output.
func shown(output, text string) []string {
	var found []string
	for name, form := range map[string]string{
		"as it stands": text, "in hex": hex.EncodeToString([]byte(text)), "in upper hex": fmt.Sprintf("%X", text),
		"as numbers":      strings.Trim(fmt.Sprint([]byte(text)), "[]"),
		"in base64":       strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(text)), "="),
		"as Go bytes":     strings.TrimPrefix(fmt.Sprintf("%#v", []byte(text)), "[]byte"),
		"the first words": text[:min(len(text), 12)],
	} {
		if strings.Contains(output, form) {
			found = append(found, name)
		}
	}
	return found
}

// holder has keys wherever a struct can have them.
type holder struct {
	Open   signature.Key
	hidden signature.Key
	List   signature.Keys
	list   signature.Keys
	Ptr    *signature.Key
	Any    any
	Map    map[string]signature.Key
}

func held(k signature.Key) holder {
	return holder{k, k, signature.Keys{k}, signature.Keys{k}, &k, k, map[string]signature.Key{"a": k}}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	t.Parallel()
	k := key("k2", current)
	h := held(k)
	for verb := range strings.FieldsSeq("%v %+v %#v %s %q %x %X %-x %#x %d %p %T %c %U %b %e %t %50.30s") {
		for _, value := range []any{k, &k, h, &h, h.List, h.list, h.Map, []any{k}, [1]signature.Key{k}, struct{ signature.Key }{k}} {
			if found := shown(fmt.Sprintf(verb, value), current); found != nil {
				t.Errorf("%s of %T shows the key %v", verb, value, found)
			}
		}
	}
	for sentence, err := range map[string]error{
		"wrapped": fmt.Errorf("use %v: %w", k, errors.New("bad")), "quoted": fmt.Errorf("use %q", k),
		"joined": errors.Join(fmt.Errorf("%+v", h)),
	} {
		if found := shown(err.Error(), current); found != nil {
			t.Errorf("an error, %s, shows the key %v", sentence, found)
		}
	}
	if got := fmt.Sprint(k); !strings.Contains(got, "k2") {
		t.Errorf("%q does not name the key, which is what a log is for", got)
	}
}

func TestKeyIsNeverLogged(t *testing.T) {
	t.Parallel()
	k := key("k2", current)
	h := held(k)
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		log := slog.New(handler)
		log.Info("x", "key", k, "holder", h, "pointer_to_holder", &h, "keys", h.List, "pointer", &k, "map", h.Map)
		log.With("key", k).WithGroup("g").Error("y", slog.Group("inner", slog.Any("key", k)), slog.Any("any", []any{k}))
	}
	if found := shown(out.String(), current); found != nil {
		t.Errorf("a log line shows the key %v", found)
	}
	if !strings.Contains(out.String(), "k2") {
		t.Error("no line names the key")
	}
}

func TestKeyIsNeverMarshalled(t *testing.T) {
	t.Parallel()
	marshal := map[string]func(any) ([]byte, error){
		"JSON": json.Marshal, "JSON v2": func(v any) ([]byte, error) { return jsonv2.Marshal(v) }, "XML": xml.Marshal,
		"YAML": yaml.Marshal,
		"gob": func(v any) ([]byte, error) {
			var out bytes.Buffer
			err := gob.NewEncoder(&out).Encode(v)
			return out.Bytes(), err
		},
	}
	k := key("k2", current)
	for name, f := range marshal {
		for _, value := range []any{k, &k, signature.Keys{k}, struct{ Key signature.Key }{k}, struct{ Keys signature.Keys }{signature.Keys{k}}} {
			out, err := f(value)
			if err == nil {
				t.Errorf("%s: %T became %d bytes", name, value, len(out))
			}
			if found := shown(string(out)+fmt.Sprint(err), current); found != nil {
				t.Errorf("%s: %T shows the key %v", name, value, found)
			}
		}
	}
	if text, err := k.MarshalText(); err == nil {
		t.Errorf("text: %d bytes", len(text))
	}
}

// What a request sent is no secret of ours, but whoever reads it in a log within the window can send it again.
func TestEnvelopeKeepsTheSignatureToItself(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		headers := d.signed(d.key("k2", current))
		sig := strings.TrimPrefix(strings.TrimPrefix(headers[d.signature], "sha256="), "v1,")
		e, err := d.scheme.Read(headersOf(headers))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&out, verb+verb, e, &e)
		}
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "envelope", e, "pointer", &e)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "envelope", e, "pointer", &e)
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if found := shown(out.String()+string(text), sig); found != nil {
			t.Errorf("%s: an envelope shows the signature %v", d.name, found)
		}
		if !strings.Contains(out.String(), "d-1") {
			t.Errorf("%s: an envelope does not name the delivery", d.name)
		}
	}
}
