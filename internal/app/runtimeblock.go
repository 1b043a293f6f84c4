package app

import (
	"maps"
	"path/filepath"

	"callgate/internal/app/contract"
	"callgate/internal/app/middleware"
	"callgate/internal/app/modes"
	"callgate/internal/app/node"
	"callgate/internal/app/pipeline"
	"callgate/internal/app/sections"
	"callgate/internal/app/triggers"
)

// runtimeBlock reads how an app's agents run, and how they are shown their
// tools.
type runtimeBlock struct {
	*node.Reader
	*scope
	runtime    Runtime
	surface    Surface
	middleware []Middleware
	memory     string // see SkillSet
}

func (b *runtimeBlock) read(e node.Entry) {
	keys := map[string]node.Read{
		"sandbox":        b.sandbox,
		"strict":         b.Boolean(&b.runtime.Strict, "write true: one bad manifest fails the start, calls in text are refused"),
		"tool_injection": b.injection,
		"direct_modules": b.directModules,
		"pinned_tools":   b.Texts(&b.surface.Pinned, "name the tools, such as [filesystem.read]"),
		"primitives":     b.primitives,
		"context": func(in node.Entry) {
			models := b.models(b.Reader)
			models.Sections = func(of node.Entry) {
				at := sections.Place{Folder: b.folder, Workdir: b.variables.Workdir, FromUser: b.isUser}
				b.runtime.Sections = sections.Read(b.Reader, of, at)
			}
			b.runtime.Context = models.Context(levelContext, in, &b.surface.Window)
		},
		"entry_agent": b.TextInto(&b.runtime.Entry),
		"max_turns": b.Number(&b.runtime.MaxTurns, 1, 10_000,
			"write how often a model is asked within one turn, such as 50"),
		"timeout": b.Seconds(&b.runtime.Timeout, 1, 86_400,
			"write how many seconds of a model's time one turn may take, such as 3600"),
		"max_cost": b.Decimal(&b.runtime.MaxCost, 0.000001, 1_000_000),
		"max_cost_tokens": b.Number(&b.runtime.MaxCostTokens, 1, 1_000_000_000,
			"write how many tokens one turn may take, read and written, such as 2000000"),
		"project_instructions": func(in node.Entry) {
			read := true
			b.Boolean(&read, "write false: no AGENTS.md is read, of the project or of the user")(in)
			b.runtime.NoInstructions = !read
		},
		"project_memory":        b.projectMemory,
		"scheduler":             b.scheduler,
		"default_channel":       b.WithoutEnv().TextInto(&b.runtime.DefaultChannel),
		"watchers":              b.Boolean(&b.runtime.Watchers, "write true: agents may start watchers"),
		"workdir":               b.TextInto(&b.runtime.Workdir),
		"workdir_mode":          b.Choice(&b.runtime.WorkdirMode, "none", "required", "fixed", "auto"),
		"session_mode":          b.Choice(&b.runtime.Sessions.Mode, "multi", "mono"),
		"max_sessions_per_user": b.Number(&b.runtime.Sessions.Max, 1, 10_000, "write how many may be open at once, such as 10"),
		"modes":                 func(in node.Entry) { b.runtime.Modes = modes.Read(b.Reader, in, b.links) },
		"hooks":                 func(in node.Entry) { b.readHooks(b.Reader, in, "") },
		"middleware":            func(in node.Entry) { b.middleware = middleware.OfTexts(b.Reader, in) },
	}
	maps.Copy(keys, b.starts())
	b.Mapping(levelRuntime, e, keys)
	b.checkSteps()
	if b.runtime.WorkdirMode == "fixed" && b.runtime.Workdir == "" {
		b.Fail(b.Position("runtime.workdir_mode"), "write runtime.workdir: and the folder",
			"runtime.workdir_mode is fixed, and no folder is named")
	}
}

// starts are the keys that say how a turn starts, and with what.
func (b *runtimeBlock) starts() map[string]node.Read {
	return map[string]node.Read{
		"mode": b.Choice(&b.runtime.Mode, "conversation", "one_shot", "background", pipeline.Mode),
		"pipeline": func(in node.Entry) {
			b.runtime.Contract.Steps = pipeline.Read(b.Reader, in, b.links, func(path, id string) {
				b.links.agents = append(b.links.agents, agentRef{b.Reader, b.Position(path), id})
			})
		},
		"input":          contract.Schema(b.Reader, &b.runtime.Contract.Input),
		"payload_schema": contract.Schema(b.Reader, &b.runtime.Contract.Payload),
		"max_concurrent_activations": b.Number(&b.runtime.Sessions.Activations, 1, 1000,
			"write how many turns that events start may run at a time, such as 4"),
		"output": contract.Schema(b.Reader, &b.runtime.Contract.Output),
		"triggers": func(in node.Entry) {
			b.runtime.Triggers = triggers.Read(b.Reader, in, b.id())
		},
	}
}

// checkSteps checks that an app has steps if its mode says so, what they refer to, and that
// its conversations can go on if they are to.
func (b *runtimeBlock) checkSteps() {
	steps, runs := b.runtime.Contract.Steps, b.runtime.Mode == pipeline.Mode
	switch at := b.Nearest("runtime.pipeline"); {
	case runs && len(steps) == 0 && at == b.Nearest("runtime"):
		b.Fail(b.Position("runtime.mode"), "write runtime.pipeline: and its steps",
			"runtime.mode is pipeline, and there are no steps")
	case !runs && len(steps) > 0:
		b.Fail(at, "write runtime.mode: pipeline", "there are steps, and runtime.mode is not pipeline")
	}
	pipeline.Check(b.Reader, steps, b.runtime.Contract.Input)
	if mode := b.runtime.Mode; b.runtime.Sessions.Mode == "mono" && (mode == "one_shot" || runs) {
		b.Fail(b.Position("runtime.session_mode"), "delete one of the two",
			"runtime.session_mode is mono, and with runtime.mode %s nothing goes on", mode)
	}
}

// projectMemory reads auto, none, or the name of a file in the app's folder.
func (b *runtimeBlock) projectMemory(e node.Entry) {
	const remedy = "write auto, none, or a file in the app's folder such as notes/project.md"
	word, ok := b.WithoutEnv().Text(e)
	switch name := filepath.FromSlash(word); {
	case !ok || word == "auto":
	case word == "none" || word == "off":
		b.memory = MemoryNone
	case !filepath.IsLocal(name):
		b.Fail(e.At, remedy, "%s is %s, which is not in the app's folder", e.Name(), node.Quote(word))
	default:
		b.memory = filepath.Join(b.folder, name)
	}
}

func (b *runtimeBlock) sandbox(e node.Entry) {
	word, ok := b.Text(e)
	if ok && word != "full" && word != "relaxed" {
		b.Fail(e.At, "write full, or relaxed to run where this machine cannot put up every wall",
			"runtime.sandbox is %s", node.Quote(word))
	}
	b.runtime.Relaxed = word == "relaxed"
}

// injection reads how tools are shown to a model.
func (b *runtimeBlock) injection(e node.Entry) {
	b.Choice(&b.surface.Mode, "auto", "direct", "compact_direct", "discovery")(e)
	if b.surface.Mode == "auto" {
		b.surface.Mode = ""
	}
}

func (b *runtimeBlock) directModules(e node.Entry) {
	b.Texts(&b.surface.DirectModules, "name the modules, such as [filesystem]")(e)
	for i, name := range b.surface.DirectModules {
		b.links.Mention(b.Reader, e.Item(i), name, "", true)
	}
}

// primitives reads all, none, or the names of some.
func (b *runtimeBlock) primitives(e node.Entry) {
	if e.IsList() {
		b.Texts(&b.surface.Primitives, "name the tools, or write all or none")(e)
		return
	}
	var word string
	b.Choice(&word, "all", "none")(e)
	if word == "none" {
		b.surface.Primitives = []string{}
	}
}
