package app

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"callgate/tool"
)

// mcpModule is the module whose config names the MCP servers; the tools of a
// server are the module mcp_<name>.
const mcpModule = "mcp"

// ServerModule is the module of a server's tools.
func ServerModule(server string) string {
	return mcpModule + "_" + strings.ReplaceAll(server, "-", "_")
}

// Server is an MCP server behind an app. Texts may hold {{secret.X}}, which is
// resolved when the server is started.
type Server struct {
	Name         string
	Command      string
	Args         []string
	Env          map[string]string
	Dir          string
	URL          string
	Transport    string // stdio, http or sse; empty: by what is given
	Protocol     string // the version it is spoken to in; empty: the newest that it knows
	Headers      map[string]string
	OAuth        *OAuth
	Timeout      time.Duration // of a call; 0: the default
	StartTimeout time.Duration
	Concurrency  int
	EnvAllow     []string // variables of the kernel's environment that it is given
	Pin          bool     // nothing of it is shown before a human accepted it
	Tools        map[string]ServerTool
}

// OAuth is what a remote server's login needs to know.
type OAuth struct {
	ClientID     string
	ClientSecret string
	CallbackPort int
	Scopes       []string
}

// ServerTool is the app's own word on one tool of a server.
type ServerTool struct {
	Risk       tool.Risk
	SideEffect tool.SideEffect
	Effects    []tool.Effect
	Idempotent bool
	Off        bool
}

var serverName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// isServer reports whether a module is that of a server of this file.
func (d *decoder) isServer(module string) bool {
	return slices.ContainsFunc(d.app.Servers, func(s Server) bool { return ServerModule(s.Name) == module })
}

// mcpBlock reads tools.modules.mcp.
func (d *decoder) mcpBlock(e entry) {
	d.mapping(levelModule, e, map[string]reader{
		"config": func(in entry) {
			d.secrets = true
			defer func() { d.secrets = false }()
			d.mapping(levelConfig, in, map[string]reader{"servers": d.servers})
		},
	})
}

func (d *decoder) servers(e entry) {
	const form = "write one server on each line, such as files: {command: npx, args: [-y, some-server]}"
	for _, in := range d.entries(e, form) {
		if !serverName.MatchString(in.key) {
			d.fail(in.keyAt, "use lower-case letters, digits, - and _, at most 40", "a server cannot be named %s", quote(in.key))
			continue
		}
		if d.isServer(ServerModule(in.key)) {
			d.fail(in.keyAt, "rename one of them", "another server's tools are the module %s already", ServerModule(in.key))
			continue
		}
		d.server(in)
	}
}

func (d *decoder) server(e entry) {
	s := Server{Name: e.key}
	enabled := true
	d.mapping(levelServer, e, map[string]reader{
		"command": d.command(&s), "args": d.plainTexts(&s.Args, "write the arguments as a list, such as [-y, some-server]"),
		"env": d.textMap(&s.Env), "dir": d.textInto(&s.Dir), "url": d.textInto(&s.URL), "headers": d.textMap(&s.Headers),
		"transport": d.choice(&s.Transport, "stdio", "http", "sse"), "type": d.typeKey,
		"protocol": d.protocol(&s.Protocol), "oauth": d.oauth(&s),
		"timeout": d.duration(&s.Timeout), "start_timeout": d.duration(&s.StartTimeout),
		"concurrency": d.number(&s.Concurrency, 1, 256, "write how many calls it may have under way at once"),
		"env_allow":   d.texts(&s.EnvAllow, "name the variables, such as [GITHUB_HOST]"),
		"enabled":     d.boolean(&enabled, "write false to leave the server out for now"),
		"pin":         d.boolean(&s.Pin, "write true to show nothing of it before you accepted it"),
		"tools":       d.serverTools(&s),
	})
	switch {
	case s.Command == "" && s.URL == "":
		d.fail(e.keyAt, "write command: for a program, or url: for a remote server", "the server %s has neither a command nor a url", s.Name)
	case s.Command != "" && s.URL != "":
		d.fail(d.places[e.path+".url"], "keep one of the two", "the server %s has a command and a url", s.Name)
	case s.Command != "" && s.Transport != "" && s.Transport != "stdio", s.URL != "" && s.Transport == "stdio":
		d.fail(d.places[e.path+".transport"], "leave transport out: a command is spoken to over stdio, a url over HTTP", "the transport %s does not fit the server %s", s.Transport, s.Name)
	case s.Transport == "sse" && s.Protocol == protocols[0]:
		d.fail(d.places[e.path+".protocol"], "leave it out, or the transport", "the transport sse does not know the protocol %s", s.Protocol)
	case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "{{"):
		d.fail(d.places[e.path+".url"], "begin it with https://", "the url of %s is %s", s.Name, quote(s.URL))
	}
	if enabled {
		d.app.Servers = append(d.app.Servers, s)
	}
}

// protocols are the versions that servers are spoken to in, newest first.
var protocols = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// protocol reads a version of the protocol.
func (d *decoder) protocol(to *string) reader { return d.choice(to, protocols...) }

// typeKey meets the key that other programs' files have.
func (d *decoder) typeKey(e entry) {
	out := "delete it: a command is spoken to over stdio, a url over HTTP"
	if word, _ := keyText(e.value); word == "sse" {
		out = "write transport: sse"
	}
	d.fail(e.keyAt, out, "%s is written in another way here", e.path)
}

// command reads a program, alone or with its arguments.
func (d *decoder) command(s *Server) reader {
	return func(e entry) {
		if _, list := e.value.(*ast.SequenceNode); !list {
			if text, ok := d.translateVariable(e); ok {
				s.Command = text
			}
			return
		}
		var all []string
		d.plainTexts(&all, "write the program and its arguments")(e)
		if len(all) > 0 {
			s.Command, s.Args = all[0], append(all[1:len(all):len(all)], s.Args...)
		}
	}
}

// foreignVariable is a variable as other programs' files write it.
var foreignVariable = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}`)

// translateVariable reads text, and tells how a variable is written here.
func (d *decoder) translateVariable(e entry) (string, bool) {
	text, ok := d.text(e)
	if !ok {
		return "", false
	}
	if m := foreignVariable.FindStringSubmatch(text); m != nil {
		out := "write {{env." + m[1] + "}}"
		if m[2] != "" {
			out = "write {{env." + m[1] + " ?? " + m[2] + "}}"
		}
		d.fail(e.at, out+", or {{secret."+m[1]+"}} for a secret", "%s holds %s, which is not a variable here", e.name(), quote(m[0]))
		return "", false
	}
	return text, true
}

// plainTexts reads a list of texts that may be empty ones, or numbers.
func (d *decoder) plainTexts(to *[]string, out string) reader {
	return func(e entry) {
		for _, in := range d.items(e, "a list", out) {
			if text, ok := scalarText(in.value); ok && (text == "" || !isText(in.value)) {
				*to = append(*to, text)
			} else if text, ok := d.translateVariable(in); ok {
				*to = append(*to, text)
			}
		}
	}
}

func isText(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return true
	}
	return false
}

// textMap reads names and texts.
func (d *decoder) textMap(to *map[string]string) reader {
	return func(e entry) {
		m := map[string]string{}
		for _, in := range d.entries(e, "write one on each line, such as NAME: value") {
			switch text, ok := scalarText(in.value); {
			case ok && (text == "" || !isText(in.value)):
				m[in.key] = text
			default:
				if text, ok := d.translateVariable(in); ok {
					m[in.key] = text
				}
			}
		}
		*to = m
	}
}

// duration reads 30s, 2m, or a number of seconds.
func (d *decoder) duration(to *time.Duration) reader {
	const out = "write a time such as 30s or 2m"
	return func(e entry) {
		var t time.Duration
		if _, whole := e.value.(*ast.IntegerNode); whole {
			n, ok := d.integer(e, out)
			if !ok {
				return
			}
			t = time.Duration(n) * time.Second
		} else {
			text, ok := d.text(e)
			if !ok {
				return
			}
			var err error
			if t, err = time.ParseDuration(text); err != nil {
				d.fail(e.at, out, "%s is %s, which is no time", e.name(), quote(text))
				return
			}
		}
		if t < 100*time.Millisecond || t > 24*time.Hour {
			d.fail(e.at, "write a time from 100ms to 24h", "%s is %v", e.name(), t)
			return
		}
		*to = t
	}
}

func (d *decoder) oauth(s *Server) reader {
	return func(e entry) {
		o := &OAuth{}
		d.mapping(levelOAuth, e, map[string]reader{
			"client_id": d.textInto(&o.ClientID), "client_secret": d.textInto(&o.ClientSecret),
			"callback_port": d.number(&o.CallbackPort, 1, 65535, "write a port, such as 8765"),
			"scopes":        d.texts(&o.Scopes, "name the scopes, such as [read]"),
		})
		s.OAuth = o
	}
}

// serverTools reads the app's own word on tools of a server.
func (d *decoder) serverTools(s *Server) reader {
	return func(e entry) {
		s.Tools = map[string]ServerTool{}
		for _, in := range d.entries(e, "write one tool on each line, such as create_issue: {risk: high}") {
			s.Tools[in.key] = d.serverTool(in)
		}
	}
}

func (d *decoder) serverTool(e entry) (t ServerTool) {
	enabled := true
	d.mapping(levelServerTool, e, map[string]reader{
		"risk":        d.choice((*string)(&t.Risk), "low", "medium", "high"),
		"side_effect": d.choice((*string)(&t.SideEffect), "none", "read", "write", "external"),
		"idempotent":  d.boolean(&t.Idempotent, "write true when running it twice is running it once"),
		"enabled":     d.boolean(&enabled, "write false to leave the tool out"),
		"effects":     func(in entry) { t.Effects = d.effects(in) },
	})
	t.Off = !enabled
	for _, effect := range t.Effects {
		if effect.Mode.Writes() && t.SideEffect != "" && !t.SideEffect.Durable() {
			d.fail(e.keyAt, "say side_effect: write or external, or take the mode S", "%s claims %s on %s, and its side_effect is %s", e.name(), effect.Mode, quote(effect.Resource), t.SideEffect)
		}
	}
	return t
}

func (d *decoder) effects(e entry) []tool.Effect {
	const form = "write each effect as {resource: \"repo:{owner}/{repo}\", mode: X}"
	var list []tool.Effect
	for _, in := range d.items(e, "a list of effects", form) {
		var effect tool.Effect
		var mode string
		d.mapping(levelEffect, in, map[string]reader{
			"resource": d.textInto(&effect.Resource), "mode": d.choice(&mode, "IS", "IX", "S", "U", "X"),
			"when": d.textInto(&effect.When), "unless": d.texts(&effect.Unless, "name the parameters, such as [dry_run]"),
		})
		if effect.Resource == "" || mode == "" {
			d.fail(in.at, form, "%s lacks a resource or a mode", in.name())
			continue
		}
		_ = effect.Mode.UnmarshalText([]byte(mode)) // one of the five
		list = append(list, effect)
	}
	return list
}

// itemPath is the path of an item of a list.
func itemPath(e entry, i int) string { return fmt.Sprintf("%s[%d]", e.path, i) }
