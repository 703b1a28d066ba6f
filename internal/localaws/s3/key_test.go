package s3_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// oddKeys are keys that XML 1.0 can carry, by what is odd about them.
func oddKeys() map[string]string {
	return map[string]string{
		"a space": "sp ace", "a plus": "pl+us", "an encoded slash": "en%2Fcoded", "a percent sign": "per%cent",
		"an encoded space": "a%20b", "an encoded plus": "a%2Bb", "two slashes": "a//b", "a leading slash": "/lead",
		"a trailing slash": "trail/", "a dot": "d/./x", "two dots": "d/../x", "a dot alone": ".", "two dots alone": "..",
		"1,024 bytes": strings.Repeat("k", 1024), "1,024 bytes of emoji": strings.Repeat("\U0001F600", 256),
		"an emoji": "emoji-\U0001F600", "a combining accent": "e\u0301", "a precomposed accent": "\u00e9",
		"a newline": "new\nline", "a tab": "tab\tx", "a carriage return": "cr\rx", "delete": "del\x7fx",
		"markup": `xml<&>"'x`, "an entity": "a&amp;b", "a question mark and a hash": "q?u#f", "a backslash": "back\\slash",
		"unreserved marks": "~tilde*!()'", "separators": "col:on;=,@$", "Japanese": "日本語", "a noncharacter": "\U0001FFFE",
		"a slash alone": "/", "two slashes alone": "//", "two trailing slashes": "trail//", "a space alone": " ", "a newline alone": "\n",
		"CR and LF": "crlf\r\nx", "a path out of its bucket": "../../other/x", "an encoded percent sign": "a%252Fb", "a broken escape": "a%zz",
		"a replacement character": "rep\uFFFDx", "a byte order mark": "\uFEFFbom", "a next line": "nel\u0085x", "a zero-width space": "zw\u200Bx",
		"a combining accent alone": "\u0301", "a comment": "<!--", "an end of CDATA": "]]>",
		"spaces around": " both ", "names of subresources": "versions", "a query lookalike": "k?versionId=null",
	}
}

// unspeakable are keys that XML 1.0 cannot carry.
func unspeakable() map[string]string {
	return map[string]string{"U+0001": "ctl\x01x", "U+001F": "ctl\x1fx", "U+FFFE": "non\uFFFEx", "U+FFFF": "non\uFFFFx"}
}

func keyPromises() []promise {
	var ps []promise
	for name, key := range oddKeys() {
		ps = append(ps, promise{sentence: "a key with " + name + " is put, listed, read, deleted by version and absent", kept: func(t testing.TB, s *store) error {
			return lifeOf(t, s, key, func(b string, v item) error {
				out, err := s.removeAll(t, b, false, v)
				must(t, "delete", err)
				return differ("errors", 0, len(out.Errors))
			})
		}})
	}
	for name, key := range unspeakable() {
		ps = append(ps,
			promise{sentence: "a key with " + name + " is put, listed, read, deleted one by one and absent", kept: func(t testing.TB, s *store) error {
				return lifeOf(t, s, key, func(b string, v item) error {
					s.remove(t, b, v.Key, v.ID)
					return nil
				})
			}},
			promise{sentence: "DeleteObjects names another key than one with " + name, kept: func(t testing.TB, s *store) error {
				return wrongName(t, s, key)
			}})
	}
	return append(ps, []promise{
		{sentence: "keys of more than 1,024 bytes are refused", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			_, err := s.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: &b, Key: aws.String(strings.Repeat("é", 512) + "x")})
			return refused(t, "1,025 bytes", "KeyTooLongError", err)
		}},
		{sentence: "EncodingType=url is form encoding with bare slashes, and is echoed", kept: spelling},
		{sentence: "a page-by-page walk over odd keys meets each once", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			var written []item
			for _, keys := range []map[string]string{oddKeys(), unspeakable()} {
				for _, key := range keys {
					written = append(written, item{Key: key, ID: s.put(t, b, key, "1")})
				}
			}
			var got []item
			err := s.walk(t, b, 1, func(p onePage) error {
				got = append(got, p.all()...)
				return nil
			})
			return first(err, differ("keys", []item(sortHistory(written)), got))
		}},
		{sentence: "without an encoding one control character breaks the whole listing", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			s.put(t, b, "good", "")
			s.put(t, b, "ctl\x01x", "")
			_, err := s.ListObjectVersions(t.Context(), &sdk.ListObjectVersionsInput{Bucket: &b})
			if err == nil {
				return fmt.Errorf("the SDK read it")
			}
			return nil
		}},
		{sentence: "keys like a folder and its content live side by side", kept: func(t testing.TB, s *store) error {
			b := s.versioned(t)
			var want []item
			for _, key := range []string{"d", "d/", "d/x", "d/x/y"} {
				want = append(want, item{Key: key, ID: s.put(t, b, key, ""), Latest: true})
			}
			return differ("listing", contentsOf(want), s.everything(t, b))
		}},
	}...)
}

// lifeOf takes a key through its life; only the key itself may be touched.
func lifeOf(t testing.TB, s *store, key string, end func(bucket string, v item) error) error {
	t.Helper()
	b := s.versioned(t)
	v := item{Key: key, ID: s.put(t, b, key, "body of "+key), Latest: true}
	listed := s.everything(t, b)
	body, err := s.body(t.Context(), b, key, v.ID)
	if err := first(differ("listing", contentsOf([]item{v}), listed), refused(t, "reading", "", err), differ("body", "body of "+key, body)); err != nil {
		return err
	}
	return first(end(b, v), differ("at the end", contents{}, s.everything(t, b)))
}

// wrongName shows why such keys are deleted one by one: the SDK writes U+FFFD for what XML cannot
// carry, so DeleteObjects says Deleted about a key that never was and the version stays (case 47).
func wrongName(t testing.TB, s *store, key string) error {
	t.Helper()
	b := s.versioned(t)
	v := item{Key: key, ID: s.put(t, b, key, "1"), Latest: true}
	out, err := s.removeAll(t, b, false, v)
	must(t, "delete", err)
	return first(differ("errors", 0, len(out.Errors)), differ("deleted", 1, len(out.Deleted)),
		differ("remaining", contentsOf([]item{v}), s.everything(t, b)))
}

func spelling(t testing.TB, s *store) error {
	t.Helper()
	b := s.versioned(t)
	want := map[string]string{
		"sp ace": "sp+ace", "pl+us": "pl%2Bus", "per%cent": "per%25cent", "new\nline": "new%0Aline", "a//b": "a//b",
		"a~b": "a%7Eb", "a*b": "a*b", "a-b_c.d": "a-b_c.d", "é": "%C3%A9", "a&b": "a%26b", "(3)": "%283%29",
	}
	got := map[string]string{}
	for key := range want {
		s.put(t, b, key, "")
		out, err := s.ListObjectVersions(t.Context(), ask(b, prefix(key)))
		must(t, "list", err)
		if len(out.Versions) != 1 {
			return fmt.Errorf("%q: %d versions", key, len(out.Versions))
		}
		got[key] = aws.ToString(out.Versions[0].Key)
		if err := first(differ("echo", "url", string(out.EncodingType)), differ("prefix", want[key], aws.ToString(out.Prefix))); err != nil {
			return err
		}
	}
	return differ("spelling", want, got)
}
