package dynamodb

import (
	"slices"
)

// maxChoices is the most operands IN takes (developer guide, "Condition and filter expressions").
const maxChoices = 100

// node is what a rule of the grammar yields: an operand, a condition, or a group of either. Which of them is allowed is
// only known behind a closing parenthesis, since both may stand in one.
type node any

// group is a node in parentheses.
type group struct{ inner node }

// condition parses a whole condition.
func (b *bindings) condition(label, expression string) (condition, error) {
	p := b.parser(label, expression)
	c := p.asCondition(p.disjunction())
	if err := p.end(); err != nil {
		return nil, err
	}
	return c, nil
}

// optionalCondition is nil when there is no expression.
func (b *bindings) optionalCondition(label string, expression *string) (condition, error) {
	if expression == nil {
		return nil, nil
	}
	return b.condition(label, *expression)
}

func (p *parser) disjunction() node {
	left := p.conjunction()
	for p.keyword("OR") {
		left = either{p.asCondition(left), p.asCondition(p.conjunction())}
	}
	return left
}

func (p *parser) conjunction() node {
	left := p.inversion()
	for p.keyword("AND") {
		left = both{p.asCondition(left), p.asCondition(p.inversion())}
	}
	return left
}

func (p *parser) inversion() node {
	if p.keyword("NOT") {
		return negation{p.asCondition(p.inversion())}
	}
	return p.relation()
}

// relation is an operand with what is asked about it, or a condition that stands for itself.
func (p *parser) relation() node {
	left := p.atom()
	switch t := p.peek(); {
	case t.kind == tokenSymbol && slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, t.text):
		p.at++
		return p.compare(t.text, p.asOperand(left), p.asOperand(p.atom()))
	case p.keyword("BETWEEN"):
		low := p.asOperand(p.atom())
		p.expectKeyword("AND")
		return p.between(p.asOperand(left), low, p.asOperand(p.atom()))
	case p.keyword("IN"):
		p.expect("(")
		members := p.arguments()
		if len(members) > maxChoices {
			p.fail("The IN operator takes at most %d operands; number of operands: %d", maxChoices, len(members))
		}
		return oneOf{p.asOperand(left), members}
	}
	return left
}

// atom is a value, a path, a function call or a group.
func (p *parser) atom() node {
	switch t := p.peek(); {
	case p.symbol("("):
		inner := p.disjunction()
		p.expect(")")
		if _, nested := inner.(group); nested {
			p.fail("The expression has redundant parentheses;")
		}
		return group{inner}
	case t.kind == tokenValue:
		return p.literal()
	case t.kind == tokenWord && p.ahead(1) == token{tokenSymbol, "("}:
		p.at += 2
		return p.call(t.text)
	}
	return pathOperand{p.path()}
}

// arguments reads operands up to the closing parenthesis; the opening one is taken already.
func (p *parser) arguments() []operand {
	var out []operand
	for p.err == nil {
		out = append(out, p.asOperand(p.atom()))
		if !p.symbol(",") {
			p.expect(")")
			break
		}
	}
	return out
}

func (p *parser) asCondition(n node) condition {
	if g, ok := n.(group); ok {
		n = g.inner
	}
	c, ok := n.(condition)
	if !ok {
		p.unexpected()
	}
	return c
}

func (p *parser) asOperand(n node) operand {
	if g, ok := n.(group); ok {
		n = g.inner
	}
	o, ok := n.(operand)
	if !ok {
		p.unexpected()
	}
	return o
}

func (p *parser) compare(operator string, left, right operand) node {
	if one, ok := left.(pathOperand); ok {
		if two, ok := right.(pathOperand); ok && one.path.compare(two.path) == 0 {
			p.fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s",
				operator, one.path)
		}
	}
	if operator != "=" && operator != "<>" {
		p.requireOrdered(operator, left, right)
	}
	return comparison{operator, left, right}
}

func (p *parser) requireOrdered(operator string, operands ...operand) {
	for _, o := range operands {
		p.requireLiteral("operator", operator, o, kind.ordered)
	}
}

// requireLiteral checks the kind of an operand that is given by value; what a path leads to is only known later, and then
// a wrong kind makes the condition false.
func (p *parser) requireLiteral(what, name string, o operand, allowed func(kind) bool) {
	if l, ok := o.(literal); ok && !allowed(l.v.kind) {
		p.fail("Incorrect operand type for operator or function; %s: %s, operand type: %s", what, name, l.v.kind)
	}
}

func (p *parser) between(subject, low, high operand) node {
	p.requireOrdered("BETWEEN", subject, low, high)
	l, okLow := low.(literal)
	h, okHigh := high.(literal)
	if okLow && okHigh {
		n, comparable := l.v.compare(h.v)
		switch {
		case !comparable:
			p.fail("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand type: %s, upper bound operand type: %s",
				l.v.kind, h.v.kind)
		case n > 0:
			p.fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: %s, upper bound operand: %s",
				l.v.wireText(), h.v.wireText())
		}
	}
	return between{subject, low, high}
}

// call reads the arguments of a function and builds it. Names of functions are told by case, unlike keywords.
func (p *parser) call(name string) node {
	want, known := map[string]int{
		"attribute_exists": 1, "attribute_not_exists": 1, "size": 1,
		"attribute_type": 2, "begins_with": 2, "contains": 2,
	}[name]
	switch {
	case name == "if_not_exists" || name == "list_append":
		p.fail("The function is not allowed in a condition expression; function: %s", name)
	case !known:
		p.fail("Invalid function name; function: %s", name)
	}
	args := p.arguments()
	if p.err == nil && len(args) != want {
		p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(args))
	}
	if p.err != nil {
		return nil
	}
	return p.function(name, args)
}

func (p *parser) function(name string, args []operand) node {
	switch name {
	case "attribute_exists", "attribute_not_exists":
		return existence{p.pathOf(name, args[0]), name == "attribute_exists"}
	case "size":
		p.requireLiteral("operator or function", name, args[0], func(k kind) bool {
			return k != kindNumber && k != kindBool && k != kindNull
		})
		return sizeOperand{args[0]}
	case "attribute_type":
		return hasType{p.pathOf(name, args[0]), p.typeName(args[1])}
	case "begins_with":
		text := func(k kind) bool { return k == kindString || k == kindBinary }
		p.requireLiteral("operator or function", name, args[0], text)
		p.requireLiteral("operator or function", name, args[1], text)
		return beginsWith{args[0], args[1]}
	}
	return containing{args[0], args[1]}
}

func (p *parser) pathOf(function string, o operand) path {
	at, ok := o.(pathOperand)
	if !ok {
		p.fail("Operator or function requires a document path; operator or function: %s", function)
	}
	return at.path
}

func (p *parser) typeName(o operand) kind {
	l, ok := o.(literal)
	if !ok || l.v.kind != kindString {
		p.fail("Incorrect operand type for operator or function; operator or function: attribute_type, operand type: %s", operandType(o))
		return ""
	}
	k := kind(l.v.text)
	if k.longName() == "" {
		p.fail("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", l.v.text)
	}
	return k
}

func operandType(o operand) string {
	if l, ok := o.(literal); ok {
		return string(l.v.kind)
	}
	return "PATH"
}
