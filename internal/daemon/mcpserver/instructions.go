package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/session"
)

const generalInstructions = "These tools are called through Callgate. " +
	"Arguments of a wrong type are mended where that is safe, and an error says what to change. " +
	"Some calls need a human's approval: one that answers \"waiting for approval\" has not run; " +
	"approvals.collect gives its result once the human has answered."

const compactInstructions = " Tools are listed without their parameters: get_tool tells them, " +
	"and so does the error of a call that lacks one."

// instructions explain to a model what the tools alone do not show.
func (c *client) instructions(ctx context.Context) string {
	s, err := c.open(ctx)
	if err != nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(generalInstructions)
	if plan, err := s.View().Surface(ctx, c.surface()); err == nil {
		switch plan.Mode {
		case surface.Discovery:
			fmt.Fprintf(&b, " Not all tools are listed: %d more are found with search_tools and called with execute_tool.",
				unlisted(plan, func(name string) string { return s.View().FullName(ctx, c.surface(), name) }))
		case surface.CompactDirect:
			b.WriteString(compactInstructions)
		}
	}
	b.WriteString(c.offer(ctx, s))
	if files := s.Loaded().Files.Names(s.Workspace()); len(files) > 0 {
		b.WriteString("\nThe rules are those of " + strings.Join(files, ", ") + ".")
	}
	if c.endpoint.opt.Session.Profile != "" && len(s.Warnings()) > 0 { // they tell of the whole app
		b.WriteString("\nSomething of the app waits for its user: callgate app where tells what.")
		return b.String()
	}
	for _, w := range s.Warnings() {
		b.WriteString("\n" + w)
	}
	return b.String()
}

// offer says what is behind the tools: the servers, and which of the modules
// that ship with the kernel.
func (c *client) offer(ctx context.Context, s *session.Session) string {
	const most = 20
	names := slices.DeleteFunc(c.scope(s).Servers.Names(), func(name string) bool {
		return !s.Caller().Gives(app.ServerModule(name))
	})
	text := "\nOffered are the MCP servers " + strings.Join(names[:min(most, len(names))], ", ")
	profile := c.endpoint.opt.Session.Profile
	switch {
	case len(names) == 0 && profile != "":
		text = "\nNo MCP server is offered"
	case len(names) == 0:
		text = "\nNo MCP server is set up yet: callgate import takes over those of your clients, callgate mcp add adds one"
	case len(names) > most:
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	seen, err := s.View().Modules(ctx)
	if err != nil {
		return text + "."
	}
	var given []string
	for _, m := range seen {
		if slices.Contains(modules.Names(), m.Name) {
			given = append(given, m.Name)
		}
	}
	switch {
	case len(given) == 0 && profile != "":
		return text + ". Only the profile " + profile + " of the app is offered here."
	case len(given) == 0:
		return text + ". Callgate's own modules (" + strings.Join(modules.Names(), ", ") +
			") are not offered here; callgate mcp --builtin, or tools.builtin in callgate.yaml, offers them."
	}
	text += ". Of Callgate's own modules these are offered: " + strings.Join(given, ", ") + "."
	if profile != "" {
		text += " Only the profile " + profile + " of the app is offered here."
	}
	return text
}

// unlisted counts the tools of a plan that are not listed. The kernel's own tools
// are listed, but not among those that the plan counts.
func unlisted(p *surface.Plan, fullName func(string) string) int {
	counted := make(map[string]bool, len(p.PerTool))
	for _, one := range p.PerTool {
		counted[one.Name] = true
	}
	n := len(p.PerTool)
	for _, e := range p.Shown {
		if counted[strings.ReplaceAll(fullName(e.Name), "__", ".")] {
			n--
		}
	}
	return n
}
