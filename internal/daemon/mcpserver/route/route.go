// Package route finds the MCP server that a name or an address without a prefix
// means.
//
// A name means a server only if no other server has it. An address that no
// server lists means the one server whose template it matches.
package route

import (
	"regexp"
	"strings"
)

// Item is something that a server offers, by the server's own name for it.
type Item struct {
	Server string
	Name   string // of a prompt; of a resource its address, or the template of one
}

// Unique returns the server of each name that only one server has.
func Unique(items []Item) map[string]string {
	owner := map[string]string{}
	shared := map[string]bool{}
	for _, o := range items {
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

// MatchTemplates returns the servers that have a template which an address
// matches, each once, in the order of the templates.
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

// placeholder is a pattern for each kind of expression in a template, by its
// operator (RFC 6570). The patterns are wide: the server checks the values.
var placeholder = map[byte]string{
	0: `[^/?#]*`, '+': `.*`, '#': `(?:#.*)?`, '.': `(?:\.[^/?#]*)?`, '/': `(?:/[^?#]*)?`,
	';': `(?:;[^/?#]*)?`, '?': `(?:\?[^#]*)?`, '&': `(?:&[^#]*)?`,
}

// maxTemplate bounds the length of a template.
const maxTemplate = 4 << 10

// Match reports whether an address matches a template.
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
			return false // not a template
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
