package dynamodb

// keyCondition is a key condition expression brought to the two parts a query is made of.
type keyCondition struct {
	partition value
	within    span // codes of the rows the query may meet
}

// keyCondition finds the equality for the partition key and the optional condition for the sort key.
func (k keySchema) condition(c condition) (keyCondition, error) {
	byName := map[string]condition{}
	if err := k.collect(c, byName); err != nil {
		return keyCondition{}, err
	}
	equality, ok := byName[k.partition.name].(comparison)
	if !ok || equality.operator != "=" {
		if byName[k.partition.name] != nil {
			return keyCondition{}, invalid("Query key condition not supported")
		}
		return keyCondition{}, invalid("Query condition missed key schema element: %s", k.partition.name)
	}
	partition, err := k.partition.bound(equality.right)
	if err != nil {
		return keyCondition{}, err
	}
	base := partitionCode(partition)
	out := keyCondition{partition, span{base, after(base)}}
	if k.sort != nil && byName[k.sort.name] != nil {
		out.within, err = k.sort.span(base, byName[k.sort.name])
	}
	return out, err
}

// collect takes the conjunction apart and files each part under its attribute.
func (k keySchema) collect(c condition, byName map[string]condition) error {
	if and, ok := c.(both); ok {
		if err := k.collect(and.left, byName); err != nil {
			return err
		}
		return k.collect(and.right, byName)
	}
	at, ok := subject(c).(pathOperand)
	if !ok || len(at.path) != 1 {
		return invalid("Invalid operator used in KeyConditionExpression, or the key attribute is not its first operand")
	}
	name := at.path[0].name
	if !k.has(name) {
		missed := k.partition.name
		if byName[missed] != nil && k.sort != nil {
			missed = k.sort.name
		}
		return invalid("Query condition missed key schema element: %s", missed)
	}
	if byName[name] != nil {
		return invalid("KeyConditionExpressions must only contain one condition per key")
	}
	byName[name] = c
	return nil
}

// subject is the operand a key condition asks about; nil for conditions a key may not have.
func subject(c condition) operand {
	switch c := c.(type) {
	case comparison:
		if c.operator != "<>" {
			return c.left
		}
	case between:
		return c.subject
	case beginsWith:
		return c.subject
	}
	return nil
}

// bound is the value a key is compared with: a literal of the key's type.
func (a attribute) bound(o operand) (value, error) {
	l, ok := o.(literal)
	if !ok {
		return value{}, invalid("Invalid KeyConditionExpression: a key can only be compared with an expression attribute value; key: %s", a.name)
	}
	if l.v.kind != a.kind {
		return value{}, badParameter("Condition parameter type does not match schema type")
	}
	if l.v.kind != kindNumber && l.v.text == "" {
		return value{}, invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s",
			emptyWord(a.kind), a.name)
	}
	return l.v, nil
}

// span turns a condition on the sort key into a range of codes behind the partition's.
func (a attribute) span(base string, c condition) (span, error) {
	end := after(base)
	switch c := c.(type) {
	case comparison:
		v, err := a.bound(c.right)
		code := base + keyCode(v)
		return map[string]span{
			"=":  {code, after(code)},
			"<":  {base, code},
			"<=": {base, after(code)},
			">":  {after(code), end},
			">=": {code, end},
		}[c.operator], err
	case between:
		low, err := a.bound(c.low)
		if err != nil {
			return span{}, err
		}
		high, err := a.bound(c.high)
		return span{base + keyCode(low), after(base + keyCode(high))}, err
	case beginsWith:
		v, err := a.bound(c.prefix)
		if err == nil && a.kind == kindNumber {
			err = invalid("Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N")
		}
		code := base + textCode(v.text)
		return span{code, after(code)}, err
	}
	return span{}, invalid("Query key condition not supported")
}

// pathsIn lists the paths a condition reads.
func pathsIn(c condition) []path {
	switch c := c.(type) {
	case both:
		return append(pathsIn(c.left), pathsIn(c.right)...)
	case either:
		return append(pathsIn(c.left), pathsIn(c.right)...)
	case negation:
		return pathsIn(c.of)
	case existence:
		return []path{c.path}
	case hasType:
		return []path{c.path}
	case comparison:
		return operandPaths(c.left, c.right)
	case between:
		return operandPaths(c.subject, c.low, c.high)
	case oneOf:
		return operandPaths(append(c.members[:len(c.members):len(c.members)], c.subject)...)
	case beginsWith:
		return operandPaths(c.subject, c.prefix)
	case containing:
		return operandPaths(c.subject, c.part)
	}
	return nil
}

func operandPaths(operands ...operand) []path {
	var out []path
	for _, o := range operands {
		switch o := o.(type) {
		case pathOperand:
			out = append(out, o.path)
		case sizeOperand:
			out = append(out, operandPaths(o.of)...)
		}
	}
	return out
}
