// Package route tells which of several MCP servers a name or an address means,
// when they are not told apart by a prefix.
//
// A name means a server only when that one alone has it. An address that nobody
// lists means the one server of whose templates it could be made.
package route

import (
	"regexp"
	"strings"
)

// Item is something that a server has, by its own name for it.
type Item struct {
	Server string
	Name   string // of a prompt; of a resource its address, or the template of one
}

// Unique returns the server of each name that one server alone has.
func Unique(offers []Item) map[string]string {
	owner := map[string]string{}
	shared := map[string]bool{}
	for _, o := range offers {
		if before, ok := owner[o.Name]; ok && before != o.Server {
			shared[o.Name] = true
		}
		owner[o.Name] = o.Server
	}
	for name := range shared {
		delete(owner, name)
	}
	return owner
}

// MatchTemplates returns the servers of whose templates an address could be made, each
// once, in the order they come.
func MatchTemplates(templates []Item, address string) []string {
	var servers []string
	seen := map[string]bool{}
	for _, t := range templates {
		if !seen[t.Server] && Match(t.Name, address) {
			seen[t.Server] = true
			servers = append(servers, t.Server)
		}
	}
	return servers
}

// What each kind of expression of a template stands for, by its operator
// (RFC 6570). Values are taken widely: which of them a server accepts is its to
// say.
var placeholder = map[byte]string{
	0: `[^/?#]*`, '+': `.*`, '#': `(?:#.*)?`, '.': `(?:\.[^/?#]*)?`, '/': `(?:/[^?#]*)?`,
	';': `(?:;[^/?#]*)?`, '?': `(?:\?[^#]*)?`, '&': `(?:&[^#]*)?`,
}

// maxTemplate bounds what is taken for a template.
const maxTemplate = 4 << 10

// Match reports whether an address could be made of a template.
func Match(template, address string) bool {
	if len(template) > maxTemplate || !strings.Contains(template, "{") {
		return template == address
	}
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	rest := template
	for {
		before, after, ok := strings.Cut(rest, "{")
		pattern.WriteString(regexp.QuoteMeta(before))
		if !ok {
			break
		}
		expression, tail, ok := strings.Cut(after, "}")
		if !ok || expression == "" {
			return false // it is no template
		}
		operator := expression[0]
		if placeholder[operator] == "" || operator == 0 {
			operator = 0
		}
		pattern.WriteString(placeholder[operator])
		rest = tail
	}
	pattern.WriteString(`\z`)
	matcher, err := regexp.Compile(`(?s)` + pattern.String())
	return err == nil && matcher.MatchString(address)
}
