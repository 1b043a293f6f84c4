package app

import (
	"cmp"
	"slices"
	"strings"

	"callgate/internal/app/apis"
	"callgate/internal/app/credential"
	"callgate/internal/app/middleware"
	"callgate/internal/app/node"
	"callgate/internal/app/rules"
	"callgate/internal/app/servers"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// unbuiltModules are modules that are designed and not built. A module that the
// caller knows is built, whatever this list says.
const unbuiltModules = "rag vector index workspace preview " +
	"web_preview widget lsp queue cron_native dev_tools"

// systemModules are part of every app.
const systemModules = "context_builder llm_provider"

// behaviorModule has no tools where others have it, and is no module here: what it does, other keys say.
const behaviorModule = "behavior"

const mendSetting = "mend the value, or leave the key out to have the module's default"

// moduleBlock reads the modules that are on, with their setups and constraints,
// and the MCP servers, which are modules too.
type moduleBlock struct {
	*node.Reader
	*scope
	modules     []Module
	servers     []Server
	apis        []apis.API
	constraints map[string]policy.Constraint
}

func (b *moduleBlock) read(e node.Entry) {
	entries := b.Entries(e, "write one module on each line, such as filesystem:")
	if len(entries) == 0 {
		b.warn(b.Reader, e.At, "tools.modules lists no module, so none is on; leave the key out to have all of them")
	}
	slices.SortStableFunc(entries, func(a, b node.Entry) int { // the servers come before their modules
		return cmp.Compare(rank(a), rank(b))
	})
	for _, in := range entries {
		b.module(in)
	}
}

func rank(e node.Entry) int {
	if e.Key == mcpModule {
		return 0
	}
	return 1
}

func (b *moduleBlock) module(e node.Entry) {
	known, ok := b.knows(e)
	if !ok {
		return
	}
	m, constraint := Module{Name: e.Key, Named: known.NeedsSettings}, policy.Constraint{}
	mark := b.variables.Mark()
	b.Mapping(levelModule, e, map[string]node.Read{
		"config": func(in node.Entry) { m.Config = b.config(in, known.Config) },
		"setup":  func(in node.Entry) { m.Setup = b.setup(in, e.Key) },
		"constraints": func(in node.Entry) {
			m.Constraints = readSettings(b.Reader, levelConstraints, in, known.Constraints, map[string]node.Read{
				"allowed_actions": b.links.actions(b.Reader, e.Key, false, &constraint.Allowed),
				"blocked_actions": b.links.actions(b.Reader, e.Key, true, &constraint.Blocked),
			})
			m.Constraints = rules.WithStatements(m.Constraints, constraint.Blocked, known.Statements)
		},
		"credential": func(in node.Entry) { m.Credential = credential.Read(b.Reader, in, b.id()) },
		"middleware": func(in node.Entry) { m.Middleware = middleware.OfCalls(b.Reader, in) },
	})
	if m.Credential != "" && !known.Credential {
		b.Fail(b.Position(e.Below("credential")), "delete it; {{secret.NAME}} may stand in its config or its setup",
			"the module %s takes no credential", e.Key)
	}
	if known.Check != nil && (m.Config != nil || m.Constraints != nil) {
		if err := known.Check(m.Config, m.Constraints); err != nil {
			b.Fail(e.KeyAt, mendSetting, "%v", err)
		}
	}
	m.Env = b.variables.Since(mark)
	b.modules = append(b.modules, m)
	b.constraints[e.Key] = constraint
}

// knows returns what is known of a module. It reports false for a module that
// cannot be turned on, and reads the servers where it is the module of servers.
func (b *moduleBlock) knows(e node.Entry) (KnownModule, bool) {
	known, ok := b.known[e.Key]
	switch names := b.known.names(); {
	case e.Key == mcpModule:
		b.readConfig(e, "servers", func(in node.Entry) { b.servers = servers.Read(b.Reader, in) })
	case e.Key == apis.Module:
		b.readConfig(e, "apis", func(in node.Entry) { b.apis = apis.Read(b.Reader, in, b.folder, b.id()) })
	case servers.Has(b.servers, e.Key):
		return KnownModule{}, true
	case ok && !known.AlwaysOn:
		return known, true
	case ok || slices.Contains(strings.Fields(systemModules), e.Key):
		b.Fail(e.KeyAt, "delete it here; tools.capabilities may name it",
			"the module %s is part of every app", e.Key)
	case e.Key == behaviorModule:
		b.Fail(e.KeyAt, "delete it, and write the rules as runtime.hooks, as rules of tools.capabilities, or as the "+
			"behavior of a mode in runtime.modes: callgate help kernel-modules", "behavior is no module here")
	case slices.Contains(strings.Fields(unbuiltModules), e.Key) || strings.HasPrefix(e.Key, mcpModule+"_"):
		b.Fail(e.KeyAt, "delete it for now; the modules are "+strings.Join(names, ", "),
			"the module %s is not built yet", node.Quote(e.Key))
	default:
		b.Fail(e.KeyAt, node.DidYouMean(e.Key, names, "the modules are"), "there is no module %s", node.Quote(e.Key))
	}
	return KnownModule{}, false
}

// config reads a module's own settings.
func (b *moduleBlock) config(e node.Entry, known []Setting) map[string]any {
	if len(known) == 0 && e.Len() > 0 {
		b.Fail(e.At, "delete config", "%s: this module takes no settings", e.Name())
		return nil
	}
	return readSettings(b.WithSecrets(), levelConfig, e, known, map[string]node.Read{})
}

// readSettings reads keys that a module declares, beside those of reads.
func readSettings(
	r *node.Reader, level string, e node.Entry, known []Setting, reads map[string]node.Read,
) map[string]any {
	values := make(map[string]any)
	for _, s := range known {
		reads[s.Key] = func(in node.Entry) {
			value := r.Value(in)
			if s.Validate != nil {
				if err := s.Validate(value); err != nil {
					r.Fail(in.At, mendSetting, "%s: %v", in.Name(), err)
					return
				}
			}
			values[s.Key] = value
		}
	}
	r.Mapping(level, e, reads)
	if len(values) == 0 {
		return nil
	}
	return values
}

// setup reads the calls that set a module up.
func (b *moduleBlock) setup(e node.Entry, module string) []Step {
	const form = "write each step as {action: connect, params: {…}}"
	if e.IsNull() {
		return nil
	}
	var steps []Step
	for _, in := range b.Items(e, "a list of steps", form) {
		step := Step{Params: map[string]any{}}
		b.Mapping(levelStep, in, map[string]node.Read{
			"action": b.TextInto(&step.Action),
			"params": func(p node.Entry) {
				if m, ok := b.WithSecrets().Value(p).(map[string]any); ok {
					step.Params = m
				} else if !p.IsNull() {
					b.TypeError(p, "a mapping of parameters", form)
				}
			},
		})
		if step.Action == "" {
			b.Fail(in.At, form, "%s names no action", in.Name())
			continue
		}
		if _, _, err := tool.ParseDotted(step.Action); err == nil {
			b.Fail(b.Position(in.Below("action")), "leave the module out",
				"an action is named without its module here, and this is %s", node.Quote(step.Action))
			continue
		}
		b.links.Mention(b.Reader, in.Below("action"), module, step.Action, true)
		steps = append(steps, step)
	}
	return steps
}
