package architecture

import (
	"fmt"
	"slices"
	"strings"
)

// Violation is one import that the rule forbids, or a package without a place.
type Violation struct {
	Package string
	Import  string // "" for a package without a place
	Reason  string
}

func (v Violation) String() string {
	if v.Import == "" {
		return v.Package + " " + v.Reason
	}
	return v.Package + " imports " + v.Import + ": " + v.Reason
}

// Check holds every package of the module against the rule. Test files are free, with one exception that needs no rule:
// what they import is in no binary.
func Check(g Graph) []Violation {
	var found []Violation
	for _, path := range g.own() {
		place, known := groupOf(g.below(path))
		if !known {
			found = append(found, Violation{Package: path, Reason: "has no place in the layout (architecture.Places)"})
			continue
		}
		for _, imported := range g.Imports[path] {
			if reason := g.objection(place, path, imported); reason != "" {
				found = append(found, Violation{path, imported, reason})
			}
		}
	}
	return found
}

// objection says why a package at that place may not import the other, or "".
func (g Graph) objection(place Place, path, imported string) string {
	if !within(imported, g.Module) {
		return g.vendorObjection(place, imported)
	}
	target, known := groupOf(g.below(imported))
	switch {
	case !known:
		return "" // named as a package without a place
	case slices.Contains(place.May, target.Group):
		return ""
	case target.Group == place.Group:
		return fmt.Sprintf("one %s may not import another", place.Group)
	}
	return fmt.Sprintf("%s may not import %s", place.Group, target.Group)
}

func (g Graph) vendorObjection(place Place, imported string) string {
	if vendor, restricted := vendorOf(imported); restricted {
		if slices.Contains(vendor.Groups, place.Group) {
			return ""
		}
		return fmt.Sprintf("%s may not see %s", place.Group, vendor.Name)
	}
	chain, vendor := g.chain(imported, func(v Vendor) bool { return v.Deep && !slices.Contains(v.Groups, place.Group) })
	if chain == nil {
		return ""
	}
	return fmt.Sprintf("%s may not see %s, which is reached by %s", place.Group, vendor.Name, strings.Join(chain, " > "))
}

// chain is the shortest way from a package of others to one that is not wanted.
func (g Graph) chain(from string, unwanted func(Vendor) bool) ([]string, Vendor) {
	before := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		if vendor, restricted := vendorOf(queue[0]); restricted && unwanted(vendor) {
			var way []string
			for p := queue[0]; p != ""; p = before[p] {
				way = append(way, p)
			}
			slices.Reverse(way)
			return way, vendor
		}
		for _, next := range g.Imports[queue[0]] {
			if _, seen := before[next]; !seen {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil, Vendor{}
}
