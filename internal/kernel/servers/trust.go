package servers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/launch"
	"callgate/internal/registry"
	"callgate/internal/sandbox"
	"callgate/internal/serverlock"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// source is an MCP server as one app has it: a source of tools in the app's
// scope. Apps that describe a server alike share the server itself.
type source struct {
	*mcp.Server
	set   *Set
	scope string
	pin   bool // nothing of it is shown here before a human accepted it
	locks serverlock.Terms

	fromUser bool // it is in the user's own app file
}

var _ registry.Source = (*source)(nil)

// Name is the source's name: one for each app and server.
func (s *source) Name() string { return s.Server.Name() + " of " + s.scope }

// Tools returns the server's tools that this app may be shown: its pin is no
// other app's.
func (s *source) Tools(context.Context) ([]*tool.Tool, error) {
	tools, _ := s.tools()
	return tools, nil
}

func (s *source) tools() ([]*tool.Tool, []mcp.Problem) {
	vet := func(now []mcp.Definition) []mcp.Definition { return s.set.vet(s.Server, s.pin, now) }
	return s.VettedTools(s.locks, vet)
}

// held returns the tools that wait for a human before this app is shown them.
func (s *source) held() ([]trust.Held, error) {
	var all []trust.Held
	for _, key := range trustKeys(s.Server) {
		held, err := s.set.opt.Trust.Pending(key)
		if err != nil {
			return nil, err
		}
		all = append(all, held...)
		if s.pin {
			unseen, err := s.set.opt.Trust.Unreviewed(key)
			if err != nil {
				return nil, err
			}
			all = append(all, unseen...)
		}
	}
	return all, nil
}

// forAllFolders reports whether a human's word on a server is on every folder that it
// works for. The server is in the user's own file, which no project changes; but where it
// would run what lies in the folder, the word is on that folder.
func forAllFolders(c mcp.Config) bool {
	if !c.Everywhere || c.InDir && c.Isolation.Relaxed {
		return false
	}
	paths, whole := c.Code()
	return len(paths) == 0 && !whole
}

// trustKey is the name under which a human's word on a server is kept.
func trustKey(s *mcp.Server) string {
	c, key := s.Config(), s.Key()
	if forAllFolders(c) {
		c.Dir = ""
		key = c.Key()
	}
	return c.Name + "-" + key[:12]
}

// launchLine is everything that decides what a server runs, or where it is
// reached, as a human is shown it. Secrets and variables of the environment are
// references in it.
func launchLine(c mcp.Config) []string {
	line := launchWords(c)
	for i := range line {
		line[i] = hide(c, line[i])
	}
	return line
}

func hide(c mcp.Config, text string) string {
	if c.Hide == nil {
		return text
	}
	return c.Hide(text)
}

func launchWords(c mcp.Config) []string {
	if c.URL != "" {
		line := []string{"connect", c.URL}
		for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
			line = append(line, name+": "+c.Headers[name])
		}
		if o := c.OAuth; o != nil {
			for _, word := range []struct{ name, value string }{
				{"client_id", o.ClientID}, {"client_secret", o.ClientSecret}, {"issuer", o.Issuer},
				{"scopes", strings.Join(o.Scopes, " ")},
			} {
				if word.value != "" {
					line = append(line, word.name+"="+word.value)
				}
			}
		}
		return line
	}
	folder := c.Dir
	if forAllFolders(c) {
		folder = "{{workdir}}"
	}
	var env []string
	if folder != "" {
		env = []string{"env"}
		if c.InDir {
			env = append(env, "-C", folder)
		}
		env = append(env, launch.WorkspaceVariable+"="+folder)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	for _, name := range slices.Sorted(slices.Values(c.EnvAllow)) {
		env = append(env, name+"=$"+name)
	}
	return slices.Concat(isolation.Words(c.Isolation, sandbox.Probe()), codeWords(c), env, c.WordsIn(folder))
}

// codeWords are the files and folders that a server runs, by their content.
func codeWords(c mcp.Config) []string {
	var words []string
	paths, _ := c.Code()
	for _, path := range paths {
		digest := launch.Digest(path)
		switch digest {
		case "":
			digest = "(not there)"
		case launch.TooLarge:
		default:
			const shown = 40
			digest = "sha256:" + digest[:shown]
		}
		words = append(words, "runs="+path+"="+digest)
	}
	return words
}

// CodeFiles are the files and folders of projects that servers run: no tool writes them
// unasked.
func CodeFiles(declared []app.Server) []string {
	var all []string
	for _, s := range declared {
		paths, _ := config(s, Terms{}).Code()
		all = append(all, paths...)
	}
	return all
}

// mayStart returns an error for a server that no human has let run.
func (s *Set) mayStart(server *mcp.Server) error {
	line, name := launchLine(server.Config()), server.Config().Name
	if _, whole := server.Config().Code(); whole && server.Config().Isolation.Mode != mcp.Sandboxed {
		return tool.Errorf("servers.start", tool.Denied,
			"the MCP server %s runs the folder %s itself, which tools may write, so it must be sandboxed", name, server.Config().Dir).
			WithHint("write isolation: sandboxed below it in the app file, and accept it again: callgate mcp trust %s", name)
	}
	err := s.opt.Trust.MayLaunch(trustKey(server), line)
	if tool.KindOf(err) != tool.Denied {
		return err
	}
	const text = "nobody has accepted that the MCP server %s may be used; it would run: %s"
	return tool.Errorf("servers.start", tool.Denied, text, name, trust.Shell(line)).
		WithHint("a human looks at it, and accepts it with: callgate mcp trust %s", name)
}

// vet returns the definitions of a server that may be shown, to an app that
// wants a human to have seen all of them (strict) or to one that does not.
func (s *Set) vet(server *mcp.Server, strict bool, now []mcp.Definition) []mcp.Definition {
	definitions := make([]trust.Definition, len(now))
	for i, d := range now {
		definitions[i] = trust.Definition{
			Name: d.Name, Title: d.Title, Description: d.Description,
			Input: d.Input, Output: d.Output, Annotations: d.Annotations,
		}
	}
	name, log := server.Config().Name, s.opt.Log
	options := trust.Options{Strict: strict, Others: s.otherNames(server)}
	review, err := s.opt.Trust.Review(trustKey(server), definitions, options)
	if err != nil {
		log.Error("the definitions of an MCP server cannot be reviewed, so none is shown", "server", name, "error", err)
		return nil
	}
	for _, h := range review.Held {
		log.Warn("a tool of an MCP server is held back until a human accepts it",
			"server", name, "tool", h.Definition.Name, "why", h.Reason)
	}
	var shown []mcp.Definition
	for _, d := range now {
		if slices.ContainsFunc(review.Published, func(p trust.Definition) bool { return p.Name == d.Name }) {
			shown = append(shown, d)
		}
	}
	return shown
}

// otherNames are the names of the tools of all other servers, as models know
// them.
func (s *Set) otherNames(except *mcp.Server) []string {
	var names []string
	for _, server := range s.manager.Servers() {
		if server != except {
			names = append(names, server.ToolNames()...)
		}
	}
	return names
}

// Word is a human's word on a server.
type Word struct {
	Launch         string // what it runs, as it was shown; empty: the word is not about that
	Accept, Reject []trust.DefinitionRef
	By             string
}

// Accept takes a human's word on a server. The caller has checked that it is a
// human's.
func (v Scoped) Accept(name string, w Word) error {
	if v.isAPI(name) {
		return v.set.apis.Accept(v.scope, name, w.By, w.Accept, w.Reject)
	}
	server, err := v.Get(name)
	if err != nil {
		return err
	}
	key, store := trustKey(server), v.set.opt.Trust
	if w.Launch != "" {
		line := launchLine(server.Config())
		if shown := trust.Shell(line); shown != w.Launch {
			const text = "the server %s now runs something else than was shown: %s"
			return tool.Errorf("servers.Accept", tool.Conflict, text, name, shown).WithHint("look at it again")
		}
		if err := store.AcceptLaunch(key, line, w.By); err != nil {
			return err
		}
	}
	if err := v.set.decide(server, w.By, w.Accept, store.Accept); err != nil {
		return err
	}
	if err := v.set.decide(server, w.By, w.Reject, store.Reject); err != nil {
		return err
	}
	v.set.changed(server)
	return nil
}

// Warnings is what a session's user should know of its servers.
func (v Scoped) Warnings() []string {
	var waiting, unknown, held []string
	for _, one := range v.set.sources(v.scope) {
		name := one.Config().Name
		switch pending, err := one.held(); {
		case v.set.mayStart(one.Server) != nil:
			waiting = append(waiting, name)
		case one.Status().Fetched.IsZero():
			unknown = append(unknown, name)
		case err == nil && len(pending) > 0:
			held = append(held, name)
		}
	}
	var list []string
	for _, w := range []struct {
		names []string
		text  string
	}{
		{waiting, "MCP servers that nobody has accepted yet are not used: %s (callgate mcp trust NAME, or --all)"},
		{unknown, "the tools of these MCP servers are not known yet, and are being fetched: %s " +
			"(callgate mcp refresh NAME waits for them)"},
		{held, "MCP servers have tools that a human must look at first: %s (callgate mcp trust NAME)"},
	} {
		if len(w.names) > 0 {
			list = append(list, fmt.Sprintf(w.text, strings.Join(w.names, ", ")))
		}
	}
	return append(list, v.set.apis.Warnings(v.scope)...)
}
