package dynamodb

import (
	"strconv"
	"strings"
)

// maxExpression bounds an expression (developer guide, "Quotas": 4 KB). It also bounds how deep the parser can recurse.
const maxExpression = 4096

// parser reads one expression. The first error stays and moves the parser to the end, so that the rules need not check
// after every step; what they return after an error is never used.
type parser struct {
	bound  *bindings
	label  string // the request parameter, as DynamoDB names it in "Invalid ConditionExpression: ..."
	tokens []token
	at     int
	err    error
}

func (b *bindings) parser(label, expression string) *parser {
	b.any = true
	p := &parser{bound: b, label: label}
	switch {
	case len(expression) > maxExpression:
		p.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(expression))
	case strings.Trim(expression, blanks) == "":
		p.fail("The expression can not be empty;")
	default:
		p.tokens = lex(expression)
	}
	return p
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = invalid("Invalid "+p.label+": "+format, args...)
	}
	p.at = len(p.tokens)
}

// unexpected is a syntax error at the next token, shown with its neighbours.
func (p *parser) unexpected() {
	at := min(p.at, len(p.tokens))
	var near []string
	for _, t := range p.tokens[max(0, at-1):min(len(p.tokens), at+2)] {
		near = append(near, t.text)
	}
	text := p.peek().text
	if p.peek().kind == tokenEnd {
		text = "<EOF>"
	}
	p.fail("Syntax error; token: %q, near: %q", text, strings.Join(near, " "))
}

// end checks that nothing is left.
func (p *parser) end() error {
	if p.err == nil && p.at < len(p.tokens) {
		p.unexpected()
	}
	return p.err
}

func (p *parser) peek() token { return p.ahead(0) }

func (p *parser) ahead(n int) token {
	if p.at+n >= len(p.tokens) {
		return token{}
	}
	return p.tokens[p.at+n]
}

func (p *parser) take() token {
	t := p.peek()
	p.at++
	return t
}

// symbol takes the symbol if it is next.
func (p *parser) symbol(text string) bool {
	if t := p.peek(); t.kind != tokenSymbol || t.text != text {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(symbol string) {
	if !p.symbol(symbol) {
		p.unexpected()
	}
}

// keyword takes the keyword if it is next, in any case of letters.
func (p *parser) keyword(text string) bool {
	if t := p.peek(); t.kind != tokenWord || !strings.EqualFold(t.text, text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expectKeyword(text string) {
	if !p.keyword(text) {
		p.unexpected()
	}
}

// path reads a document path: a name, then names behind dots and indexes in brackets.
func (p *parser) path() path {
	out := path{p.name()}
	for p.err == nil {
		switch {
		case p.symbol("."):
			out = append(out, p.name())
		case p.symbol("["):
			out = append(out, p.position())
			p.expect("]")
		default:
			return out
		}
	}
	return out
}

func (p *parser) name() step {
	t := p.peek()
	switch t.kind {
	case tokenName:
		p.at++
		return step{name: p.resolveName(t.text)}
	case tokenWord:
		p.at++
		if p.bound.reserved[strings.ToUpper(t.text)] {
			p.fail("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		return step{name: t.text}
	}
	p.unexpected()
	return step{}
}

func (p *parser) resolveName(alias string) string {
	name, ok := p.bound.names[alias]
	if !ok {
		p.fail("An expression attribute name used in the document path is not defined; attribute name: %s", alias)
	}
	p.bound.usedNames[alias] = true
	return name
}

func (p *parser) position() step {
	t := p.take()
	n, err := strconv.Atoi(t.text)
	if t.kind != tokenNumber || err != nil {
		p.at--
		p.unexpected()
	}
	return step{index: n, isIndex: true}
}

// literal reads a :value.
func (p *parser) literal() literal {
	alias := p.take().text
	v, ok := p.bound.values[alias]
	if !ok {
		p.fail("An expression attribute value used in expression is not defined; attribute value: %s", alias)
	}
	p.bound.usedValues[alias] = true
	return literal{v}
}
