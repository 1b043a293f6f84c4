package surface

import (
	"net/url"
	"strconv"
	"strings"
)

// hiddenMark is the keyword of a parameter that is accepted but not shown.
const hiddenMark = "x-hidden"

// hidden lists the hidden parameters of a schema and of its branches that apply to
// the same object.
func (p *pruner) hidden(i int, names []string) []string {
	if !p.hides || p.nodes[i].kind != '{' {
		return names
	}
	for k, v := range p.members(i) {
		switch string(p.str(k)) {
		case "properties":
			for name, schema := range p.members(v) {
				if p.marked(schema) {
					names = append(names, string(p.str(name)))
				}
			}
		case "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			names = p.hidden(v, names)
			for branch := range p.elements(v) {
				names = p.hidden(branch, names)
			}
		case "dependentSchemas", "dependencies":
			for _, branch := range p.members(v) {
				names = p.hidden(branch, names)
			}
		}
	}
	return names
}

// marked reports whether a parameter's schema marks it as hidden.
func (p *pruner) marked(i int) bool {
	v := p.member(i, hiddenMark)
	return v >= 0 && p.nodes[v].kind == 't'
}

// leadsToHidden reports whether a $ref points to a hidden parameter, or into
// one.
func (p *pruner) leadsToHidden(ref string) bool {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return false
	}
	at, above := 0, ""
	for step := range strings.SplitSeq(pointer, "/") {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next := p.member(at, step)
		if p.nodes[at].kind == '[' {
			next = p.element(at, step)
		}
		if next < 0 {
			return false
		}
		if above == "properties" && p.marked(next) {
			return true
		}
		at, above = next, step
	}
	return false
}

// element returns the element of an array at a decimal index, or -1.
func (p *pruner) element(i int, index string) int {
	n, err := strconv.Atoi(index)
	if err != nil {
		return -1
	}
	for v := range p.elements(i) {
		if n == 0 {
			return v
		}
		n--
	}
	return -1
}
