package architecture_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// formula is an expression of CloudWatch's metric math, over the data points of one period; nil is a missing one.
type formula func(points map[string]*float64) *float64

// readFormula knows what the template's alarms use: numbers, ids, + - * /, comparisons, FILL with a number, and IF. Whatever else is an
// error. An operation on a missing data point gives a missing one, and so does a division by zero (CloudWatch User Guide, "Using math
// expressions").
func readFormula(text string) (formula, error) {
	p := &formulaParser{tokens: formulaTokens.FindAllString(text, -1)}
	if strings.Join(p.tokens, "") != strings.ReplaceAll(text, " ", "") {
		return nil, fmt.Errorf("expression %q: a sign that is not known here", text)
	}
	f, err := p.comparison()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%q is not expected", p.tokens[0])
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return f, nil
}

var formulaTokens = regexp.MustCompile(`[0-9]+(?:\.[0-9]+)?|[A-Za-z][A-Za-z0-9_]*|[<>=!]=|[-+*/(),<>]`)

type formulaParser struct{ tokens []string }

func (p *formulaParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *formulaParser) take() string {
	token := p.peek()
	p.tokens = p.tokens[min(1, len(p.tokens)):]
	return token
}

func (p *formulaParser) want(token string) error {
	if got := p.take(); got != token {
		return fmt.Errorf("%q stands where %q is expected", got, token)
	}
	return nil
}

func (p *formulaParser) comparison() (formula, error) {
	return p.chain([]string{"<", ">", "<=", ">=", "==", "!="}, func() (formula, error) {
		return p.chain([]string{"+", "-"}, func() (formula, error) { return p.chain([]string{"*", "/"}, p.operand) })
	})
}

// chain is operands with operators of one rank between them, worked from the left.
func (p *formulaParser) chain(operators []string, operand func() (formula, error)) (formula, error) {
	left, err := operand()
	for err == nil && slices.Contains(operators, p.peek()) {
		operator, before := p.take(), left
		var right formula
		if right, err = operand(); err != nil {
			break
		}
		left = func(points map[string]*float64) *float64 {
			a, b := before(points), right(points)
			if a == nil || b == nil {
				return nil
			}
			return calculate(operator, *a, *b)
		}
	}
	return left, err
}

func calculate(operator string, a, b float64) *float64 {
	var result float64
	switch truth, compares := map[string]bool{
		"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b, "==": a == b, "!=": a != b,
	}[operator]; {
	case compares && truth:
		result = 1
	case compares:
	case operator == "+":
		result = a + b
	case operator == "-":
		result = a - b
	case operator == "*":
		result = a * b
	case b == 0:
		return nil
	default:
		result = a / b
	}
	return &result
}

func (p *formulaParser) operand() (formula, error) {
	token := p.take()
	switch {
	case token == "(":
		inner, err := p.comparison()
		if err == nil {
			err = p.want(")")
		}
		return inner, err
	case token != "" && token[0] >= '0' && token[0] <= '9':
		number, err := strconv.ParseFloat(token, 64)
		return func(map[string]*float64) *float64 { return &number }, err
	case p.peek() == "(":
		return p.function(token)
	case token != "" && token[0] >= 'a' && token[0] <= 'z': // an id starts with a lower-case letter
		return func(points map[string]*float64) *float64 { return points[token] }, nil
	}
	return nil, fmt.Errorf("%q is no operand", token)
}

func (p *formulaParser) function(name string) (formula, error) {
	arguments, err := p.arguments()
	switch {
	case err != nil:
		return nil, err
	case name == "FILL" && len(arguments) == 2:
		return func(points map[string]*float64) *float64 {
			if v := arguments[0](points); v != nil {
				return v
			}
			return arguments[1](points)
		}, nil
	case name == "IF" && len(arguments) == 3:
		return func(points map[string]*float64) *float64 {
			switch condition := arguments[0](points); {
			case condition == nil:
				return nil
			case *condition != 0:
				return arguments[1](points)
			}
			return arguments[2](points)
		}, nil
	}
	return nil, fmt.Errorf("%s with %d arguments is not known here", name, len(arguments))
}

func (p *formulaParser) arguments() ([]formula, error) {
	var all []formula
	for next := "("; ; next = "," {
		if err := p.want(next); err != nil {
			return nil, err
		}
		argument, err := p.comparison()
		if err != nil {
			return nil, err
		}
		all = append(all, argument)
		if p.peek() == ")" {
			p.take()
			return all, nil
		}
	}
}

func TestMetricMath(t *testing.T) {
	t.Parallel()
	two, six, none := 2.0, 6.0, 0.0
	points := map[string]*float64{"two": &two, "six": &six, "none": &none, "missing": nil}
	for expression, want := range map[string]string{
		"six": "6", "missing": "missing", "two + six": "8", "two + missing": "missing", "missing / 1000": "missing",
		"six - two - two": "2", "six / two / 3": "1", "2 + two * six": "14", "(2 + two) * six": "24",
		"six > 2": "1", "six < 2": "0", "six >= 6": "1", "six == 5": "0", "six != 5": "1", "six <= 5.5": "0",
		"six / none": "missing", "none / none": "missing",
		"FILL(missing, 0)": "0", "FILL(six, 0)": "6", "FILL(missing, 0) + FILL(two, 0)": "2", "FILL(missing, missing)": "missing",
		"IF(six > 0, 100 * two / six, 0)": "33.333333333333336", "IF(none > 0, 100 * two / none, 0)": "0", "IF(missing > 0, 1, 0)": "missing",
		"": "error", "six +": "error", "SUM(six)": "error", "FILL(six)": "error", "IF(six, 1)": "error", "six six": "error", "(six": "error",
		"six % 2": "error", "Six": "error", "FILL(six, 0": "error",
	} {
		got := "error"
		if f, err := readFormula(expression); err == nil {
			got = "missing"
			if v := f(points); v != nil {
				got = fmt.Sprint(*v)
			}
		}
		if got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
}
