package signature

// MaxIDLength is the longest id, in bytes, which are characters here.
const MaxIDLength = 128

// IDRule says in words what ValidID checks, for messages.
const IDRule = "1 to 128 characters of A-Z a-z 0-9 . _ : -, starting with a letter or digit"

// ValidID reports whether the text is an id: 1 to 128 characters of `A-Z a-z 0-9 . _ : -`, starting with a letter or digit.
// Delivery ids, key ids and the ids inside commands share this alphabet. It has no '/', which ends a prefix, and no '#',
// which separates the parts of an item key; so no id can reach beyond its own place.
func ValidID(s string) bool {
	if len(s) == 0 || len(s) > MaxIDLength || !alphanumeric(s[0]) {
		return false
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) && s[i] != '.' && s[i] != '_' && s[i] != ':' && s[i] != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
