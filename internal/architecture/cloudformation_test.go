package architecture_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// object is a mapping of the template, with its intrinsic functions in the long form: !Ref X is {"Ref": "X"}.
type object = map[string]any

// template is template.yaml.
type template struct {
	Parameters, Conditions, Resources, Outputs, Mappings, Globals, Metadata, Rules object
}

func readTemplate(t *testing.T) template {
	t.Helper()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(readRoot(t, "template.yaml")), &document); err != nil {
		t.Fatal(err)
	}
	whole := plain(t, document.Content[0]).(object)
	section := func(name string) object { return whole[name].(object) }
	return template{section("Parameters"), section("Conditions"), section("Resources"), section("Outputs"), section("Mappings"),
		section("Globals"), section("Metadata"), section("Rules")}
}

func readRoot(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// plain turns a node into values as encoding/json would have them, save that numbers may be ints.
func plain(t *testing.T, node *yaml.Node) any {
	t.Helper()
	switch node.Kind {
	case yaml.AliasNode:
		// SAM resolves aliases on the developer's machine; CloudFormation itself takes none.
		t.Fatalf("template.yaml line %d: CloudFormation does not support YAML aliases", node.Line)
	case yaml.MappingNode:
		m := object{}
		for i := 0; i < len(node.Content); i += 2 {
			m[node.Content[i].Value] = plain(t, node.Content[i+1])
		}
		return intrinsic(node, m)
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range node.Content {
			list = append(list, plain(t, item))
		}
		return intrinsic(node, list)
	}
	if function := strings.TrimPrefix(node.Tag, "!"); isIntrinsic(node) {
		return object{longName(function): node.Value}
	}
	var scalar any
	if err := node.Decode(&scalar); err != nil {
		t.Fatalf("template.yaml line %d: %v", node.Line, err)
	}
	return scalar
}

func intrinsic(node *yaml.Node, arguments any) any {
	if !isIntrinsic(node) {
		return arguments
	}
	return object{longName(strings.TrimPrefix(node.Tag, "!")): arguments}
}

func isIntrinsic(node *yaml.Node) bool {
	return strings.HasPrefix(node.Tag, "!") && !strings.HasPrefix(node.Tag, "!!")
}

func longName(function string) string {
	if function == "Ref" || function == "Condition" {
		return function
	}
	return "Fn::" + function
}

// of lists the resources of one type, sorted by their logical ids.
func (tpl template) of(kind string) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for id := range tpl.Resources {
			if tpl.resource(id)["Type"] == kind && !yield(id) {
				return
			}
		}
	})
}

func (tpl template) resource(id string) object {
	resource, _ := tpl.Resources[id].(object)
	return resource
}

func (tpl template) properties(id string) object {
	properties, _ := tpl.resource(id)["Properties"].(object)
	return properties
}

// environment is what a function finds in its environment: the variables of Globals and its own.
func (tpl template) environment(function string) object {
	variables := object{}
	for _, holder := range []object{tpl.Globals["Function"].(object), tpl.properties(function)} {
		maps.Copy(variables, at(holder, "Environment", "Variables").(object))
	}
	return variables
}

// at follows the keys, and is nil where there is nothing.
func at(value any, keys ...string) any {
	for _, key := range keys {
		m, _ := value.(object)
		value = m[key]
	}
	return value
}

// text writes a value as one line: references in the form of Fn::Sub, the branches of an Fn::If with a bar between them.
func text(value any) string {
	m, isObject := value.(object)
	if !isObject {
		return fmt.Sprint(value)
	}
	switch {
	case m["Ref"] != nil:
		return fmt.Sprintf("${%v}", m["Ref"])
	case m["Fn::GetAtt"] != nil:
		return fmt.Sprintf("${%v}", m["Fn::GetAtt"])
	case m["Fn::Sub"] != nil:
		return fmt.Sprint(m["Fn::Sub"])
	case m["Fn::If"] != nil:
		branches := m["Fn::If"].([]any)
		return text(branches[1]) + " | " + text(branches[2])
	}
	return fmt.Sprint(m)
}

// branches are what a value may turn out to be: those of an Fn::If, without the one that leaves it out.
func branches(value any) []any {
	alternatives, _ := at(value, "Fn::If").([]any)
	if alternatives == nil {
		return []any{value}
	}
	var found []any
	for _, one := range alternatives[1:] {
		if text(one) != noValue {
			found = append(found, one)
		}
	}
	return found
}

// list is the value as a list: IAM takes one item without brackets.
func list(value any) []any {
	if items, ok := value.([]any); ok {
		return items
	}
	if value == nil {
		return nil
	}
	return []any{value}
}
