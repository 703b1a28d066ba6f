package dynamodb

import "strings"

// tokenKind tells the words of the expression language apart.
type tokenKind int

const (
	tokenEnd    tokenKind = iota
	tokenWord             // attribute name, keyword or function, told apart by where it stands
	tokenName             // #name
	tokenValue            // :value
	tokenNumber           // digits, in a list index
	tokenSymbol           // ( ) [ ] , . = < <= <> > >= + -
)

type token struct {
	kind tokenKind
	text string
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	blanks  = " \t\r\n"
)

// lex splits an expression. A byte that belongs to no token becomes a symbol of its own, which no rule expects, so the
// parser complains about it at its place.
func lex(s string) []token {
	var out []token
	for s = strings.TrimLeft(s, blanks); s != ""; s = strings.TrimLeft(s, blanks) {
		t := firstToken(s)
		out = append(out, t)
		s = s[len(t.text):]
	}
	return out
}

func firstToken(s string) token {
	switch c := s[0]; {
	case c == '#':
		return token{tokenName, s[:1+leading(s[1:], letters+digits+"_")]}
	case c == ':':
		return token{tokenValue, s[:1+leading(s[1:], letters+digits+"_")]}
	case strings.IndexByte(letters+"_", c) >= 0:
		return token{tokenWord, s[:leading(s, letters+digits+"_")]}
	case strings.IndexByte(digits, c) >= 0:
		return token{tokenNumber, s[:leading(s, digits)]}
	}
	for _, two := range []string{"<=", ">=", "<>"} {
		if strings.HasPrefix(s, two) {
			return token{tokenSymbol, two}
		}
	}
	return token{tokenSymbol, s[:1]}
}

// leading counts the bytes at the beginning that are of the alphabet.
func leading(s, alphabet string) int {
	return len(s) - len(strings.TrimLeft(s, alphabet))
}
