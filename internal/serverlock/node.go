package serverlock

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/tool"
)

// serverClaims returns the claims on the server itself of a call that holds these
// locks. Where the locks say by arguments what each call touches, the claims are on
// those things in the server: two calls of different things then touch nothing in
// common, and a call of which nothing is known, on the server as a whole, still
// meets them all. Every argument must be required: a call that could leave one out
// could touch anything.
func (t Terms) serverClaims(locks []Lock, of Tool, mode tool.Mode) []tool.Effect {
	whole := []tool.Effect{{Resource: t.Node(), Mode: mode}}
	if len(locks) == 0 {
		return whole
	}
	required := required(of.Input)
	var things []tool.Effect
	for _, l := range locks {
		names, _ := Params(l.Resource)
		absent := func(name string) bool { return !slices.Contains(required, name) }
		if len(names) == 0 || slices.ContainsFunc(names, absent) {
			return whole
		}
		kind, rest, _ := strings.Cut(l.Resource, ":")
		if kind != own {
			rest = kind + "/" + rest
		}
		things = append(things, tool.Effect{Resource: t.Node() + "/" + rest, Mode: mode})
	}
	return things
}

// required returns the names of the arguments that a tool cannot be called without.
func required(input json.RawMessage) []string {
	var schema struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(input, &schema) != nil {
		return nil
	}
	return schema.Required
}
