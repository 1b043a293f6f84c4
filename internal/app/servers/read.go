package servers

import (
	"regexp"
	"strings"

	"callgate/internal/app/node"
	"callgate/tool"
)

var serverName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// The levels of the file.
const (
	levelServer = "tools.modules.mcp.config.servers.<server>"
	levelOAuth  = levelServer + ".oauth"
	levelTool   = levelServer + ".tools.<tool>"
	levelEffect = levelTool + ".effects"
	levelLock   = levelServer + ".locks.<tool>"
)

// Read reads tools.modules.mcp.config.servers.
func Read(r *node.Reader, e node.Entry) []Server {
	b := &block{Reader: r.WithSecrets()}
	b.list(e)
	return b.servers
}

// block reads the MCP servers.
type block struct {
	*node.Reader
	servers []Server
}

func (b *block) list(e node.Entry) {
	const form = "write one server on each line, such as files: {command: npx, args: [-y, some-server]}"
	for _, in := range b.Entries(e, form) {
		switch {
		case !serverName.MatchString(in.Key):
			b.Fail(in.KeyAt, "use lower-case letters, digits, - and _, at most 40",
				"a server cannot be named %s", node.Quote(in.Key))
		case Has(b.servers, Module(in.Key)):
			b.Fail(in.KeyAt, "rename one of them",
				"another server's tools are the module %s already", Module(in.Key))
		default:
			b.server(in)
		}
	}
}

func (b *block) server(e node.Entry) {
	s := Server{Name: e.Key}
	enabled, cwd := true, ""
	b.Mapping(levelServer, e, map[string]node.Read{
		"command":       b.command(&s),
		"args":          b.plainTexts(&s.Args, "write the arguments as a list, such as [-y, some-server]"),
		"env":           b.textMap(&s.Env),
		"dir":           b.TextInto(&s.Dir),
		"cwd":           b.Choice(&cwd, "own", "workspace"),
		"url":           b.TextInto(&s.URL),
		"headers":       b.textMap(&s.Headers),
		"transport":     b.Choice(&s.Transport, "stdio", "http", "sse"),
		"type":          b.typeKey,
		"protocol":      b.Choice(&s.Protocol, protocols...),
		"oauth":         func(in node.Entry) { s.OAuth = b.oauth(in) },
		"timeout":       b.Duration(&s.Timeout),
		"start_timeout": b.Duration(&s.StartTimeout),
		"concurrency":   b.Number(&s.Concurrency, 1, 256, "write how many calls it may have under way at once"),
		"env_allow":     b.Texts(&s.EnvAllow, "name the variables, such as [GITHUB_HOST]"),
		"isolation":     b.Choice(&s.Isolation.Mode, "contained", "sandboxed", "none"),
		"network":       b.Boolean(&s.Isolation.Network, "write true to give a sandboxed server the network"),
		"readable":      b.Texts(&s.Isolation.Readable, "name files and folders, such as [~/notes]"),
		"writable":      b.Texts(&s.Isolation.Writable, "name files and folders, such as [~/notes]"),
		"enabled":       b.Boolean(&enabled, "write false to leave the server out for now"),
		"pin":           b.Boolean(&s.Pin, "write true to show nothing of it before you accepted it"),
		"tools":         func(in node.Entry) { s.Tools = b.tools(in) },
		"locks":         func(in node.Entry) { s.Locks = b.locks(in) },
	})
	s.InWorkspace = cwd == "workspace"
	b.check(e, s)
	if enabled {
		b.servers = append(b.servers, s)
	}
}

// check reports keys of a server that do not fit each other.
func (b *block) check(e node.Entry, s Server) {
	switch {
	case s.Command == "" && s.URL == "":
		b.Fail(e.KeyAt, "write command: for a program, or url: for a remote server",
			"the server %s has neither a command nor a url", s.Name)
	case s.Command != "" && s.URL != "":
		b.Fail(b.Position(e.Below("url")), "keep one of the two", "the server %s has a command and a url", s.Name)
	case s.Command != "" && s.Transport != "" && s.Transport != "stdio", s.URL != "" && s.Transport == "stdio":
		b.Fail(b.Position(e.Below("transport")),
			"leave transport out: a command is spoken to over stdio, a url over HTTP",
			"the transport %s does not fit the server %s", s.Transport, s.Name)
	case s.Transport == "sse" && s.Protocol == protocols[0]:
		b.Fail(b.Position(e.Below("protocol")), "leave it out, or the transport",
			"the transport sse does not know the protocol %s", s.Protocol)
	case s.URL != "" && !isZero(s.Isolation):
		b.Fail(e.KeyAt, "leave out isolation, network, readable and writable: nothing of it runs here",
			"the server %s has a url, and is isolated by being elsewhere", s.Name)
	case s.Isolation.Network && s.Isolation.Mode != "" && s.Isolation.Mode != "sandboxed":
		b.Fail(b.Position(e.Below("network")), "leave it out, or write isolation: sandboxed",
			"the server %s has the network already: it is %s", s.Name, isolationText(s.Isolation.Mode))
	case s.InWorkspace && s.URL != "":
		b.Fail(b.Position(e.Below("cwd")), "leave it out: nothing of it runs here", "the server %s has a url and a cwd", s.Name)
	case s.InWorkspace && s.Isolation.Mode != "" && s.Isolation.Mode != "sandboxed":
		b.Fail(b.Position(e.Below("cwd")),
			"write isolation: sandboxed, or leave cwd out and name the workspace as {{workdir}} in args",
			"the server %s would start in the workspace, where tools can put code, and is %s", s.Name,
			isolationText(s.Isolation.Mode))
	case s.Isolation.Mode == "none" && len(s.Isolation.Readable)+len(s.Isolation.Writable) > 0:
		b.Fail(b.Position(e.Below("isolation")), "leave out readable and writable, or isolation: none",
			"the server %s can read and write everything already", s.Name)
	case s.URL != "" && !isWebAddress(s.URL) && !strings.HasPrefix(s.URL, "{{"):
		b.Fail(b.Position(e.Below("url")), "begin it with https://", "the url of %s is %s", s.Name, node.Quote(s.URL))
	case s.OAuth != nil && s.OAuth.Issuer != "" && !isWebAddress(s.OAuth.Issuer) && !strings.HasPrefix(s.OAuth.Issuer, "{{"):
		b.Fail(b.Position(e.Below("oauth")), "begin it with https://, as the issuer names itself",
			"the issuer of %s is %s", s.Name, node.Quote(s.OAuth.Issuer))
	}
}

// isZero reports an isolation of which nothing is said.
func isZero(i Isolation) bool {
	return i.Mode == "" && !i.Network && len(i.Readable) == 0 && len(i.Writable) == 0
}

// isolationText is a mode as it follows "it is".
func isolationText(mode string) string {
	if mode == "none" {
		return "not isolated"
	}
	return mode
}

// protocols are the versions of the protocol, newest first.
var protocols = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// typeKey reports the key by which other programs' files name the transport.
func (b *block) typeKey(e node.Entry) {
	remedy := "delete it: a command is spoken to over stdio, a url over HTTP"
	if word, _ := e.Plain(); word == "sse" {
		remedy = "write transport: sse"
	}
	b.Fail(e.KeyAt, remedy, "%s is written in another way here", e.Path)
}

// command reads a program, alone or with its arguments.
func (b *block) command(s *Server) node.Read {
	return func(e node.Entry) {
		if !e.IsList() {
			if text, ok := b.text(e); ok {
				s.Command = text
			}
			return
		}
		var all []string
		b.plainTexts(&all, "write the program and its arguments")(e)
		if len(all) > 0 {
			s.Command, s.Args = all[0], append(all[1:len(all):len(all)], s.Args...)
		}
	}
}

// foreignVariable is a variable as other programs' files write it.
var foreignVariable = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

// text reads a text, and reports a variable of another program's form.
func (b *block) text(e node.Entry) (string, bool) {
	text, ok := b.Text(e)
	if !ok {
		return "", false
	}
	if m := foreignVariable.FindStringSubmatch(text); m != nil {
		remedy := "write {{env." + m[1] + "}}"
		if m[2] != "" {
			remedy = "write {{env." + m[1] + " ?? " + m[2] + "}}"
		}
		b.Fail(e.At, remedy+", or {{secret."+m[1]+"}} for a secret",
			"%s holds %s, which is not a variable here", e.Name(), node.Quote(m[0]))
		return "", false
	}
	return text, true
}

// plainText reads a text that may be empty, or a number.
func (b *block) plainText(e node.Entry) (string, bool) {
	if text, ok := e.Scalar(); ok && (text == "" || !e.IsText()) {
		return text, true
	}
	return b.text(e)
}

// plainTexts reads a list of texts that may be empty, or numbers.
func (b *block) plainTexts(to *[]string, remedy string) node.Read {
	return func(e node.Entry) {
		for _, in := range b.Items(e, "a list", remedy) {
			if text, ok := b.plainText(in); ok {
				*to = append(*to, text)
			}
		}
	}
}

// textMap reads names and texts.
func (b *block) textMap(to *map[string]string) node.Read {
	return func(e node.Entry) {
		m := map[string]string{}
		for _, in := range b.Entries(e, "write one on each line, such as NAME: value") {
			if text, ok := b.plainText(in); ok {
				m[in.Key] = text
			}
		}
		*to = m
	}
}

func (b *block) oauth(e node.Entry) *OAuth {
	o := &OAuth{}
	b.Mapping(levelOAuth, e, map[string]node.Read{
		"client_id":     b.TextInto(&o.ClientID),
		"client_secret": b.TextInto(&o.ClientSecret),
		"issuer":        b.TextInto(&o.Issuer),
		"callback_port": b.Number(&o.CallbackPort, 1, 65535, "write a port, such as 8765"),
		"scopes":        b.Texts(&o.Scopes, "name the scopes, such as [read]"),
	})
	return o
}

// tools reads the app's own word on tools of a server.
func (b *block) tools(e node.Entry) map[string]Tool {
	tools := map[string]Tool{}
	for _, in := range b.Entries(e, "write one tool on each line, such as create_issue: {risk: high}") {
		tools[in.Key] = b.tool(in)
	}
	return tools
}

func (b *block) tool(e node.Entry) (t Tool) {
	enabled := true
	b.Mapping(levelTool, e, map[string]node.Read{
		"risk":        b.Choice((*string)(&t.Risk), "low", "medium", "high"),
		"side_effect": b.Choice((*string)(&t.SideEffect), "none", "read", "write", "external"),
		"idempotent":  b.Boolean(&t.Idempotent, "write true when running it twice is running it once"),
		"enabled":     b.Boolean(&enabled, "write false to leave the tool out"),
		"effects":     func(in node.Entry) { t.Effects = b.effects(in) },
	})
	t.Off = !enabled
	for _, effect := range t.Effects {
		if effect.Mode.Writes() && t.SideEffect != "" && !t.SideEffect.Durable() {
			b.Fail(e.KeyAt, "say side_effect: write or external, or take the mode S",
				"%s claims %s on %s, and its side_effect is %s", e.Name(), effect.Mode, node.Quote(effect.Resource), t.SideEffect)
		}
	}
	return t
}

func (b *block) effects(e node.Entry) []tool.Effect {
	const form = "write each effect as {resource: \"repo:{owner}/{repo}\", mode: X}"
	var list []tool.Effect
	for _, in := range b.Items(e, "a list of effects", form) {
		var effect tool.Effect
		var mode string
		b.Mapping(levelEffect, in, map[string]node.Read{
			"resource": b.TextInto(&effect.Resource),
			"mode":     b.Choice(&mode, "IS", "IX", "S", "U", "X"),
			"when":     b.TextInto(&effect.When),
			"unless":   b.Texts(&effect.Unless, "name the parameters, such as [dry_run]"),
		})
		if effect.Resource == "" || mode == "" {
			b.Fail(in.At, form, "%s lacks a resource or a mode", in.Name())
			continue
		}
		_ = effect.Mode.UnmarshalText([]byte(mode)) // one of the five
		list = append(list, effect)
	}
	return list
}

func isWebAddress(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}
