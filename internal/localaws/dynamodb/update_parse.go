package dynamodb

import "strings"

// update parses a whole update expression.
func (b *bindings) update(expression string) (update, error) {
	p := b.parser("UpdateExpression", expression)
	var u update
	seen := map[string]bool{}
	for p.err == nil && p.peek().kind != tokenEnd {
		section := strings.ToUpper(p.peek().text)
		if seen[section] {
			p.fail(`The "%s" section can only be used once in an update expression;`, section)
			break
		}
		seen[section] = true
		p.section(section, &u)
	}
	if p.err == nil {
		p.checkClashes(u.paths())
	}
	return u, p.end()
}

// section reads one of the four parts, which come in any order.
func (p *parser) section(name string, u *update) {
	read := map[string]func(){
		"SET":    func() { u.sets = append(u.sets, p.assignment()) },
		"REMOVE": func() { u.removes = append(u.removes, p.path()) },
		"ADD": func() {
			u.adds = append(u.adds, p.member("ADD", func(k kind) bool { return k == kindNumber || k.isSet() }))
		},
		"DELETE": func() { u.deletes = append(u.deletes, p.member("DELETE", kind.isSet)) },
	}[name]
	if read == nil || p.peek().kind != tokenWord {
		p.unexpected()
		return
	}
	p.at++
	for read(); p.symbol(","); {
		read()
	}
}

func (p *parser) assignment() assignment {
	target := p.path()
	p.expect("=")
	return assignment{target, p.setValue()}
}

// setValue is a term, or the sum or difference of two.
func (p *parser) setValue() term {
	left := p.term()
	sign := p.peek().text
	if !p.symbol("+") && !p.symbol("-") {
		return left
	}
	right := p.term()
	p.requireTerm(sign, kindNumber, left, right)
	return sum{sign == "-", left, right}
}

func (p *parser) term() term {
	switch t := p.peek(); {
	case p.symbol("("):
		inner := p.setValue()
		p.expect(")")
		return inner
	case t.kind == tokenValue:
		return p.literal()
	case t.kind == tokenWord && p.ahead(1) == token{tokenSymbol, "("}:
		p.at += 2
		return p.setFunction(t.text)
	}
	return pathOperand{p.path()}
}

// setFunction reads the two functions of SET; both take two arguments.
func (p *parser) setFunction(name string) term {
	if name != "if_not_exists" && name != "list_append" {
		p.setFunctionUnknown(name)
		return nil
	}
	args := []term{p.setValue()}
	for p.symbol(",") {
		args = append(args, p.setValue())
	}
	p.expect(")")
	if p.err == nil && len(args) != 2 {
		p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(args))
	}
	if p.err != nil {
		return nil
	}
	if name == "list_append" {
		p.requireTerm(name, kindList, args...)
		return listAppend{args[0], args[1]}
	}
	at, ok := args[0].(pathOperand)
	if !ok {
		p.fail("Operator or function requires a document path; operator or function: if_not_exists")
	}
	return ifNotExists{at.path, args[1]}
}

func (p *parser) setFunctionUnknown(name string) {
	switch name {
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size":
		p.fail("The function is not allowed in an update expression; function: %s", name)
	default:
		p.fail("Invalid function name; function: %s", name)
	}
}

func (p *parser) requireTerm(name string, want kind, terms ...term) {
	for _, t := range terms {
		if l, ok := t.(literal); ok && l.v.kind != want {
			p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", name, l.v.kind)
		}
	}
}

// member reads path :value.
func (p *parser) member(section string, allowed func(kind) bool) member {
	target := p.path()
	if p.peek().kind != tokenValue {
		p.unexpected()
		return member{}
	}
	v := p.literal().v
	if p.err == nil && !allowed(v.kind) {
		p.fail("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_%s_OPERAND",
			section, v.kind.longName(), section)
	}
	return member{target, v}
}
