package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

const (
	maxID    = 64
	maxLabel = 200 // bytes of a name or a version
)

// unbuiltKeys are keys whose features are designed and not built, by the level
// they belong to. They are refused by name, never ignored.
var unbuiltKeys = map[string]string{
	levelRoot:         "ui flow schema_version",
	levelRuntime:      "watchers scheduler hooks modes triggers pipeline session_mode max_sessions_per_user default_channel project_memory input output payload_schema",
	levelContext:      "sections",
	levelDev:          "allow_user_skills",
	levelSecurity:     "sandbox content_filter mask_secrets",
	levelApp:          "short_name author tags icon color category attachments attachments_mode quick_prompts",
	levelTools:        "channels llm",
	levelCapabilities: "max_data_classification",
	levelAgent:        "delegate_to skills pool coordination instructions hooks",
	levelBrain:        "vision image_generation image_detail max_images_per_turn",
	levelBrainContext: "sections",
	levelInclude:      "hooks",
}

// The levels of the file.
const (
	levelRoot         = ""
	levelApp          = "app"
	levelRuntime      = "runtime"
	levelContext      = "runtime.context"
	levelSearch       = "search"
	levelEndpoint     = "search.endpoint"
	levelSecurity     = "security"
	levelDev          = "dev"
	levelTools        = "tools"
	levelModule       = "tools.modules.<module>"
	levelConfig       = "tools.modules.<module>.config"
	levelCredential   = "tools.modules.<module>.credential"
	levelStep         = "tools.modules.<module>.setup"
	levelServer       = "tools.modules.mcp.config.servers.<server>"
	levelOAuth        = "tools.modules.mcp.config.servers.<server>.oauth"
	levelServerTool   = "tools.modules.mcp.config.servers.<server>.tools.<tool>"
	levelEffect       = "tools.modules.mcp.config.servers.<server>.tools.<tool>.effects"
	levelConstraints  = "tools.modules.<module>.constraints"
	levelCapabilities = "tools.capabilities"
	levelAgent        = "agents"
	levelPromptFile   = "agents.system_prompt"
	levelLanes        = "agents.lanes"
	levelLane         = "agents.lanes.<lane>"
	levelBrain        = "agents.brain"
	levelBrainConfig  = "agents.brain.config"
	levelBrainContext = "agents.brain.context"
	levelSkill        = "dev.skills"
	levelInclude      = "dev.include"
	levelMiddleware   = "middleware"
	levelRule         = "tools.capabilities.<list>"
)

// keyHomes says where keys belong that are often written elsewhere.
var keyHomes = map[string]string{
	"app_id": levelApp, "modules": levelTools, "capabilities": levelTools,
	"default_policy": levelCapabilities, "max_risk_level": levelCapabilities,
	"grant": levelCapabilities, "approve": levelCapabilities, "deny": levelCapabilities,
	"hidden_modules": levelCapabilities, "hidden_actions": levelCapabilities,
	"rate_limits": levelCapabilities, "approval_timeout": levelCapabilities,
	"dirs": levelTools, "constraints": levelModule, "config": levelModule,
	"allowed_actions": levelConstraints, "blocked_actions": levelConstraints,
	"servers": "tools.modules.mcp.config", "mcpServers": "tools.modules.mcp.config.servers",
	"tool_injection": levelRuntime, "direct_modules": levelRuntime, "variables": levelDev,
	"system_prompt": levelAgent, "brain": levelAgent, "provider": levelBrain, "model": levelBrain, "api_key": levelBrainConfig, "base_url": levelBrainConfig,
	"max_turns": levelRuntime, "entry_agent": levelRuntime,
}

// unbuiltModules are modules that are designed and not built; one that the
// caller knows of is built, whatever stands here.
const unbuiltModules = "agent_spawn behavior rag vector index workspace preview " +
	"web_preview widget channels lsp queue cron_native dev_tools"

// systemModules are part of every app.
const systemModules = "context_builder llm_provider"

// root reads the file. What variables stand for is read first, wherever it is
// written.
func (d *decoder) root(e entry) {
	read := map[string]reader{
		"app": d.appBlock, "tools": d.toolsBlock, "runtime": d.runtimeBlock,
		"search": d.searchBlock, "security": d.securityBlock, "dev": d.devBlock, "agents": d.agentsBlock,
	}
	for _, first := range []string{"dev", "app"} {
		for _, in := range d.entries(e, "its keys are "+strings.Join(slices.Sorted(maps.Keys(read)), ", ")) {
			if in.key == first {
				read[first](in)
				read[first] = func(entry) {}
			}
		}
	}
	d.mapping(levelRoot, e, read)
}

func (d *decoder) devBlock(e entry) {
	later := []entry{}
	d.mapping(levelDev, e, map[string]reader{
		"variables": d.variablesBlock,
		"skills":    func(in entry) { later = append(later, in) },
		"include":   func(in entry) { later = append(later, in) },
	})
	for _, in := range later { // what they say may hold variables
		if in.key == "skills" {
			d.skillsBlock(in)
		} else {
			d.includeBlock(in)
		}
	}
}

// modeWord reads how an app runs.
func (d *decoder) modeWord(e entry) {
	if word, ok := scalarText(e.value); ok && (word == "background" || word == "pipeline") {
		d.fail(e.at, "write conversation or one_shot", "the mode %s is not built yet", word)
		return
	}
	d.choice(&d.app.Runtime.Mode, "conversation", "one_shot")(e)
}

func (d *decoder) runtimeBlock(e entry) {
	seconds := 300
	d.mapping(levelRuntime, e, map[string]reader{
		"sandbox": func(in entry) {
			word, ok := d.text(in)
			if ok && word != "full" && word != "relaxed" {
				d.fail(in.at, "write full, or relaxed to run where this machine cannot put up every wall", "runtime.sandbox is %s", quote(word))
			}
			d.app.Relaxed = word == "relaxed"
		},
		"strict": func(in entry) {
			b, ok := in.value.(*ast.BoolNode)
			if !ok {
				d.typeError(in, "true or false", "write true to have one bad manifest in tools.dirs fail the start")
				return
			}
			d.app.Strict = b.Value
		},
		"tool_injection": func(in entry) {
			d.choice(&d.app.Surface.Mode, "auto", "direct", "compact_direct", "discovery")(in)
			if d.app.Surface.Mode == "auto" {
				d.app.Surface.Mode = ""
			}
		},
		"direct_modules": d.directModules,
		"pinned_tools":   d.texts(&d.app.Surface.Pinned, "name the tools, such as [filesystem.read]"),
		"primitives":     d.primitives,
		"context":        d.contextBlock,
		"mode":           d.modeWord,
		"entry_agent":    d.textInto(&d.app.Runtime.Entry),
		"max_turns":      d.number(&d.app.Runtime.MaxTurns, 1, 10_000, "write how often a model is asked within one turn, such as 50"),
		"timeout":        d.number(&seconds, 1, 86_400, "write how many seconds one turn may take, such as 300"),
		"workdir":        d.textInto(&d.app.Runtime.Workdir),
		"workdir_mode":   d.choice(&d.app.Runtime.WorkdirMode, "none", "required", "fixed", "auto"),
		"middleware":     func(in entry) { d.app.Middleware = d.middleware(in, d.textMiddleware()) },
	})
	d.app.Runtime.Timeout = time.Duration(seconds) * time.Second
	if r := d.app.Runtime; r.WorkdirMode == "fixed" && r.Workdir == "" {
		d.fail(d.places["runtime.workdir_mode"], "write runtime.workdir: and the folder", "runtime.workdir_mode is fixed, and no folder is named")
	}
}

func (d *decoder) appBlock(e entry) {
	d.mapping(levelApp, e, map[string]reader{
		"app_id":      d.appID,
		"name":        d.label(&d.app.Name),
		"version":     d.label(&d.app.Version),
		"description": d.textInto(&d.app.Description),
	})
}

func (d *decoder) appID(e entry) {
	id, ok := d.text(e)
	if !ok {
		return
	}
	if len(id) > maxID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || id[0] == '-' || id[0] == '_' {
		d.fail(e.at, "write app_id: "+slug(id)+" and keep the text as the name", "app_id %s must be at most %d lower-case letters, digits, - and _", quote(id), maxID)
		return
	}
	d.app.ID = id
}

// label reads one short line.
func (d *decoder) label(to *string) reader {
	return func(e entry) {
		s, ok := d.text(e)
		if ok && (len(s) > maxLabel || strings.ContainsFunc(s, unicode.IsControl)) {
			d.fail(e.at, "shorten it; description takes longer text", "%s must be one line of at most %d bytes", e.name(), maxLabel)
			return
		}
		*to = s
	}
}

func (d *decoder) toolsBlock(e entry) {
	d.mapping(levelTools, e, map[string]reader{
		"modules":      d.modules,
		"capabilities": d.capabilities,
		"dirs":         d.texts(&d.app.Dirs, "write one folder on each line, such as - tools"),
	})
}

func (d *decoder) modules(e entry) {
	d.listed = true
	d.constraints = make(map[string]policy.Constraint)
	entries := d.entries(e, "write one module on each line, such as filesystem:")
	if len(entries) == 0 {
		d.warn(e.at, "tools.modules lists no module, so none is on; leave the key out to have all of them")
	}
	slices.SortStableFunc(entries, func(a, b entry) int { // the servers, before the modules that they are
		return cmp.Compare(btoi(b.key == mcpModule), btoi(a.key == mcpModule))
	})
	for _, in := range entries {
		d.module(in)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *decoder) module(e entry) {
	known, ok := d.known[e.key]
	switch names := d.known.names(); {
	case e.key == mcpModule:
		d.mcpBlock(e)
		return
	case d.isServer(e.key):
		known = KnownModule{}
	case ok && !known.AlwaysOn:
	case ok || slices.Contains(strings.Fields(systemModules), e.key):
		d.fail(e.keyAt, "delete it here; tools.capabilities may name it", "the module %s is part of every app", e.key)
		return
	case slices.Contains(strings.Fields(unbuiltModules), e.key) || strings.HasPrefix(e.key, "mcp_"):
		d.fail(e.keyAt, "delete it for now; the modules are "+strings.Join(names, ", "), "the module %s is not built yet", quote(e.key))
		return
	default:
		d.fail(e.keyAt, didYouMean(e.key, names, "the modules are"), "there is no module %s", quote(e.key))
		return
	}
	m, constraint := Module{Name: e.key}, policy.Constraint{}
	readers := map[string]reader{
		"config": func(in entry) { m.Config = d.config(in, known.Config) },
		"setup":  func(in entry) { m.Setup = d.setup(in, e.key) },
		"constraints": func(in entry) {
			m.Constraints = d.settings(levelConstraints, in, known.Constraints, map[string]reader{
				"allowed_actions": d.actions(e.key, &constraint.Allowed),
				"blocked_actions": d.actions(e.key, &constraint.Blocked),
			})
		},
		"credential": func(in entry) { m.Credential = d.credential(in) },
		"middleware": func(in entry) { m.Middleware = d.middleware(in, d.callMiddleware()) },
	}
	d.mapping(levelModule, e, readers)
	if m.Credential != "" && !known.Credential {
		d.fail(d.places[e.path+".credential"], "delete it; {{secret.NAME}} may stand in its config or its setup", "the module %s takes no credential", e.key)
	}
	if known.Check != nil && (m.Config != nil || m.Constraints != nil) {
		if err := known.Check(m.Config, m.Constraints); err != nil {
			d.fail(e.keyAt, "mend the value, or leave the key out to have the module's default", "%v", err)
		}
	}
	d.app.Modules = append(d.app.Modules, m)
	d.constraints[e.key] = constraint
}

// config reads a module's own settings.
func (d *decoder) config(e entry, known []Setting) map[string]any {
	if m, ok := e.value.(*ast.MappingNode); ok && len(known) == 0 && len(m.Values) > 0 {
		d.fail(e.at, "delete config", "%s: this module takes no settings", e.name())
		return nil
	}
	d.secrets = true
	defer func() { d.secrets = false }()
	return d.settings(levelConfig, e, known, map[string]reader{})
}

// settings reads keys that a module declares, beside those that have readers.
func (d *decoder) settings(level string, e entry, known []Setting, readers map[string]reader) map[string]any {
	values := make(map[string]any)
	for _, s := range known {
		readers[s.Key] = func(in entry) {
			value := d.value(in)
			if s.Validate != nil {
				if err := s.Validate(value); err != nil {
					d.fail(in.at, "mend the value, or leave the key out to have the module's default", "%s: %v", in.name(), err)
					return
				}
			}
			values[s.Key] = value
		}
	}
	d.mapping(level, e, readers)
	if len(values) == 0 {
		return nil
	}
	return values
}

// actions reads a list of actions of one module.
func (d *decoder) actions(module string, to *[]string) reader {
	read := d.texts(to, "name the actions, such as [read], or leave the key out")
	return func(e entry) {
		read(e)
		for i, action := range *to {
			d.mention(fmt.Sprintf("%s[%d]", e.path, i), module, action, true)
		}
	}
}

func (d *decoder) capabilities(e entry) {
	c := &policy.Capabilities{}
	d.block = c
	d.mapping(levelCapabilities, e, map[string]reader{
		"default_policy":   d.textInto((*string)(&c.DefaultPolicy)),
		"max_risk_level":   d.textInto((*string)(&c.MaxRisk)),
		"grant":            d.rules(&c.Grant, true),
		"approve":          d.rules(&c.Approve, true),
		"deny":             d.rules(&c.Deny, false),
		"hidden_modules":   d.hiddenModules,
		"hidden_actions":   d.hiddenActions,
		"rate_limits":      d.rateLimits,
		"approval_timeout": d.approvalTimeout,
	})
}

// rules reads a grant, approve or deny list. One that permits something means
// little for a module that is off.
func (d *decoder) rules(to *[]policy.Entry, permits bool) reader {
	return func(e entry) {
		if e.null() {
			return // every rule below it is commented out
		}
		for _, in := range d.items(e, "a list of rules", ruleForm) {
			rule := d.rule(in)
			d.mention(in.path+".module", rule.Module, "", permits)
			for i, action := range rule.Actions {
				d.mention(fmt.Sprintf("%s.actions[%d]", in.path, i), rule.Module, action, permits)
			}
			*to = append(*to, rule)
		}
	}
}

const ruleForm = "write each rule as {module: filesystem, actions: [read]}"

func (d *decoder) rule(e entry) (rule policy.Entry) {
	if _, ok := e.value.(ast.MapNode); !ok {
		out := ruleForm
		if s, ok := keyText(e.value); ok {
			if module, action, err := tool.ParseDotted(s); err == nil {
				out = fmt.Sprintf("write {module: %s, actions: [%s]}", tool.TruncateTo(module, 60), tool.TruncateTo(action, 60))
			}
		}
		d.typeError(e, "a rule", out)
		return rule
	}
	named := false
	d.mapping(levelRule, e, map[string]reader{
		"module": func(in entry) {
			named = true
			d.textInto(&rule.Module)(in)
		},
		"actions": d.texts(&rule.Actions, "name the actions, such as [read], or leave the key out for all of them"),
		"reason":  d.textInto(&rule.Reason),
	})
	if !named {
		d.fail(e.at, `add module: and its name, or module: "*" for every module`, "%s names no module", e.name())
	}
	return rule
}

func (d *decoder) hiddenModules(e entry) {
	d.texts(&d.block.HiddenModules, "name the modules, such as [filesystem], or leave the key out")(e)
	for i, name := range d.block.HiddenModules {
		d.mention(fmt.Sprintf("%s[%d]", e.path, i), name, "", false)
	}
}

func (d *decoder) hiddenActions(e entry) {
	d.texts(&d.block.HiddenActions, "name the actions, such as [filesystem.write], or leave the key out")(e)
	for i, name := range d.block.HiddenActions {
		if module, action, err := tool.ParseDotted(name); err == nil {
			d.mention(fmt.Sprintf("%s[%d]", e.path, i), module, action, false)
		}
	}
}

const rateForm = "write how many calls a minute may hold, such as filesystem.write: 30"

func (d *decoder) rateLimits(e entry) {
	d.block.RateLimits = make(map[string]int)
	for _, in := range d.entries(e, rateForm) {
		n, ok := d.integer(in, rateForm)
		if !ok {
			continue
		}
		d.block.RateLimits[in.key] = n
		d.places[in.path] = in.keyAt
		if _, known := d.known[in.key]; known {
			continue // also when its name has a dot
		}
		if module, action, err := tool.ParseDotted(in.key); err == nil {
			d.mention(in.path, module, action, false)
		} else {
			d.mention(in.path, strings.TrimSuffix(in.key, ".*"), "", false)
		}
	}
}

func (d *decoder) approvalTimeout(e entry) {
	out := fmt.Sprintf("write a number of seconds from %d to %d", policy.MinTimeout/time.Second, policy.MaxTimeout/time.Second)
	n, ok := d.integer(e, out)
	if ok && n == 0 { // which policy reads as not given
		d.fail(e.at, out, "%s is 0", e.name())
	}
	d.block.ApprovalTimeout = time.Duration(n) * time.Second
}
