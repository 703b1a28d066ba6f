package wirecontract_test

import "testing"

// A path that is configured is compared as it was sent: nothing is decoded, collapsed or completed, so that no proxy's idea of a
// path and the function's can differ.
func TestConfiguredPathIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/hooks/custody", "/hooks/custody/"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := open(t, schemes()[0], "CUSTODY_PATH="+path)
			for _, question := range []string{"", "?", "?a=b", "?/hooks/../x"} {
				m := s.delivery()
				m.target = path + question
				s.expect(t, m.target, m, "204 accepted")
			}
			for _, other := range []string{"/", "/hooks", "/hooks/", "/hooks/custody", "/hooks/custody/", "/hooks/custody//", "//hooks/custody",
				"/hooks//custody", "/hooks/./custody", "/x/../hooks/custody", "/hooks/custody/.", "/Hooks/custody", "/hooks/custod%79",
				"/hooks%2Fcustody", "/hooks/custody%2F", "/hooks/custody%00", "/hooks/custody;x=1", "/hooks/custody%3F", "/hooks/custody%20"} {
				if other == path {
					continue
				}
				m := s.delivery()
				m.target = other
				s.expect(t, other, m, "404 rejected")
				if n := s.gate.callsAbout(m.id); n > 0 {
					t.Errorf("%s: %d store calls", other, n)
				}
			}
		})
	}
}
