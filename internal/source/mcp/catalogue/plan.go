package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"regexp"
	"strings"

	"callgate/tool"
)

// Server is how a server is run, or where it is called.
type Server struct {
	Name           string
	Command        string
	Args           []string
	Env            map[string]string
	URL, Transport string
	Headers        map[string]string
}

// Plan is what installing a server would have run or called.
type Plan struct {
	Server  Server
	Secrets []Secret // that must be stored for it
	Fixed   []string // names of variables and headers whose values are the catalogue's
	Note    string   // what a person should know of it; empty: nothing

	entry string // its whole name
}

// Secret is one that a server needs.
type Secret struct {
	Name   string `json:"name"`   // of no other entry and input
	Entry  string `json:"entry"`  // whose it is
	Input  string `json:"input"`  // the variable or header that has it
	Former string `json:"former"` // its name in earlier versions, which another entry may have had too
}

// Make makes the plan of an entry. values are those that the person gives, by the names of variables, arguments and
// headers; id is what the server is called here.
func (e Entry) Make(id string, values map[string]string) (Plan, error) {
	var refused error
	for _, p := range e.Packages {
		plan, err := p.plan(Plan{entry: e.Name, Server: Server{Name: id}}, values)
		if err == nil {
			return plan, nil
		}
		refused = first(refused, err)
	}
	for _, r := range e.Remotes {
		plan, err := r.plan(Plan{entry: e.Name, Server: Server{Name: id}}, values)
		if err == nil {
			return plan, nil
		}
		refused = first(refused, err)
	}
	if refused == nil {
		refused = refuse("%s names no package and no address", e.Name)
	}
	return Plan{}, refused
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func refuse(format string, args ...any) *tool.Error {
	return tool.Errorf(op, tool.Denied, "not installed: "+format, args...).
		WithHint("callgate mcp add writes a server by hand, when you know what it runs")
}

// identifiers are the forms of packages' names, by the registry's type.
func identifiers() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"npm":  regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`),
		"pypi": regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`),
		"oci":  regexp.MustCompile(`^[a-z0-9][a-z0-9.:-]*(/[a-z0-9][a-z0-9._-]*)+$|^[a-z0-9][a-z0-9._-]*$`),
	}
}

// versions are the forms of one exact version, by the registry's type. That of an OCI image is a digest, or a tag, of
// which the plan says that it is none.
func versions() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"npm": regexp.MustCompile(`^(0|[1-9]\d{0,15})(\.(0|[1-9]\d{0,15})){2}` +
			`(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z.-]+)?$`),
		"pypi": regexp.MustCompile(`^\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[0-9A-Za-z.]+)?$`),
		"oci":  regexp.MustCompile(`^sha256:[0-9a-f]{64}$|^[0-9A-Za-z][0-9A-Za-z._-]{0,127}$`),
	}
}

func (p Package) plan(plan Plan, values map[string]string) (Plan, error) {
	form, known := identifiers()[p.Type]
	switch {
	case !known:
		return Plan{}, refuse("packages of the type %s are not run", tool.Truncate(quote(p.Type)))
	case len(p.Version) > 128:
		return Plan{}, refuse("the version of %s is too long", quote(p.ID))
	case !form.MatchString(p.ID) || strings.Contains(p.ID, "..") || len(p.ID) > 214:
		return Plan{}, refuse("%s is no name of a package", quote(p.ID))
	case !versions()[p.Type].MatchString(p.Version) || p.Version == "latest":
		return Plan{}, refuse("the version %s of %s is not one exact version", quote(p.Version), p.ID)
	case p.Transport.Type != "" && p.Transport.Type != "stdio":
		return Plan{}, refuse("%s does not speak over its standard streams", p.ID)
	case len(p.Arguments) > maxItems || len(p.Env) > maxItems:
		return Plan{}, refuse("%s has more than %d arguments or variables", p.ID, maxItems)
	}
	for _, a := range p.RuntimeArguments {
		if text := a.Name + a.Value; text != "-y" && text != "-i" && text != "--rm" {
			return Plan{}, refuse("%s wants options of the program that runs it: %s", p.ID, quote(text))
		}
	}
	plan.Server.Env = map[string]string{}
	for _, v := range p.Env {
		if err := plan.take(plan.Server.Env, v, values, variable()); err != nil {
			return Plan{}, err
		}
	}
	args, err := arguments(p.Arguments, values)
	if err != nil {
		return Plan{}, err
	}
	s := &plan.Server
	switch p.Type {
	case "npm":
		s.Command, s.Args = "npx", []string{"-y", p.ID + "@" + p.Version}
	case "pypi":
		s.Command, s.Args = "uvx", []string{p.ID + "@" + p.Version}
	case "oci":
		s.Command, s.Args = "docker", []string{"run", "-i", "--rm"}
		for _, v := range p.Env {
			if _, given := s.Env[v.Name]; given {
				s.Args = append(s.Args, "-e", v.Name)
			}
		}
		if strings.HasPrefix(p.Version, "sha256:") {
			s.Args = append(s.Args, p.ID+"@"+p.Version)
			break
		}
		s.Args = append(s.Args, p.ID+":"+p.Version)
		plan.Note = "the tag " + p.Version + " floats: whoever owns the image can move it; a digest cannot be moved"
	}
	s.Args = append(s.Args, args...)
	return plan, nil
}

func (r Remote) plan(plan Plan, values map[string]string) (Plan, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.User != nil || len(r.Variables) > 0 || !safe(r.URL) ||
		u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return Plan{}, refuse("%s is no address that is called: https, without a name or placeholders in it", quote(r.URL))
	}
	plan.Server.URL, plan.Server.Headers = r.URL, map[string]string{}
	switch r.Type {
	case "streamable-http", "http":
		plan.Server.Transport = "http"
	case "sse":
		plan.Server.Transport = "sse"
	default:
		return Plan{}, refuse("the transport %s is not known", quote(r.Type))
	}
	if len(r.Headers) > maxItems {
		return Plan{}, refuse("more than %d headers", maxItems)
	}
	for _, h := range r.Headers {
		if err := plan.take(plan.Server.Headers, h, values, header()); err != nil {
			return Plan{}, err
		}
	}
	return plan, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func headerName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`).MatchString(name)
}

// isEnvName reports whether a text can name a variable.
func isEnvName(name string) bool {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`).MatchString(name)
}

// envName reports whether a catalogue may choose a variable: none that changes which code a program loads.
func envName(name string) bool {
	if !isEnvName(name) {
		return false
	}
	upper := strings.ToUpper(name)
	for _, begin := range strings.Fields("LD_ DYLD_ NODE_ NPM_ PYTHON UV_ DOCKER_ BASH_ CALLGATE_ GIT_") {
		if strings.HasPrefix(upper, begin) {
			return false
		}
	}
	return upper != "PATH" && upper != "HOME" && upper != "ENV" && upper != "SHELL" && upper != "IFS"
}

// checkFixed refuses a variable that a catalogue fixes if it could make a genuine package load foreign code or send its
// data elsewhere. The shape decides, not a list of variables: the value must be one word, so it is no path, address or
// option, and the name must not end like the names of variables for which one word is a file, a folder, a host or an
// option (PERL5LIB, RUBYOPT, OPENSSL_CONF, HTTPS_PROXY).
func checkFixed(name, value string) error {
	isWord := regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_ ,.+-]{0,254}[A-Za-z0-9_])?$`).MatchString(value)
	isFile := regexp.MustCompile(`\.[A-Za-z][A-Za-z0-9]*$`).MatchString(value) // or the name of a host
	leads := regexp.MustCompile(`(?i)(PATHS?|LIBS?|OPTS?|OPTIONS?|FLAGS?|ARGS?|PROXY|PROXIES|CONF|CONFIG|RC|HOME|DIRS?|` +
		`DIRECTORY|FOLDER|ROOT|CERTS?|BUNDLE|FILES?|PRELOAD|LOADER|STARTUP|INIT|IMPORTS?|REQUIRE|MODULES?|PLUGINS?|` +
		`EXTENSIONS?|INDEX|REGISTRY|MIRROR|URLS?|URI|HOSTS?|HOSTNAME|SERVER|ADDR|ADDRESS|ENDPOINT|BASE|SOCK|SOCKET|` +
		`SHELL|COMMAND|CMD|EXEC|EDITOR|PAGER|BROWSER|ASKPASS)$`).MatchString(name)
	if isWord && !leads && (!isFile || isNumber(value)) {
		return nil
	}
	return refuse("the catalogue fixes the variable %s to %s, which may be a path, an address or an option", name,
		quote(value)).WithHint("if the server is to have it, say so yourself: --set %s=%s", name, tool.Truncate(value))
}

func isNumber(value string) bool { return regexp.MustCompile(`^[0-9.]+$`).MatchString(value) }

// take puts a value where a server has it: what the person gave, a reference to a secret, or what the catalogue says.
func (p *Plan) take(to map[string]string, in Input, values map[string]string, kind inputKind) error {
	if !kind.isName(in.Name) {
		return refuse("%s is not set for a server", quote(in.Name))
	}
	if given, ok := values[in.Name]; ok {
		to[in.Name] = given
		return nil
	}
	if !kind.mayChoose(in.Name) {
		return refuse("%s is not set for a server", quote(in.Name))
	}
	text, said := said(in)
	switch {
	case in.Secret && (in.Required || said):
		secret := p.secret(in.Name)
		to[in.Name], p.Secrets = "{{secret."+secret.Name+"}}", append(p.Secrets, secret)
	case !said && in.Required:
		return missing(in.Name)
	case said && !safe(text):
		return refuse("the value of %s is not taken over: %s", in.Name, quote(text))
	case said:
		if err := kind.checkFixed(in.Name, text); err != nil {
			return err
		}
		to[in.Name], p.Fixed = text, append(p.Fixed, in.Name)
	}
	return nil
}

// inputKind is what an input of an entry becomes.
type inputKind struct {
	isName     func(string) bool
	mayChoose  func(string) bool // a catalogue may, without a person who gives the value
	checkFixed func(name, value string) error
}

func variable() inputKind { return inputKind{isEnvName, envName, checkFixed} }

func header() inputKind {
	return inputKind{headerName, headerName, func(string, string) error { return nil }}
}

// maxSecretName is how long the name of a secret may be.
const maxSecretName = 128

// secret names a secret after the whole entry and its input. Signs that names of secrets do not have become _, so the
// name ends with a hash of both: no two entries have the same one.
func (p *Plan) secret(input string) Secret {
	former := regexp.MustCompile(`[^a-z0-9_]`).ReplaceAllString(strings.ToLower("mcp_"+p.entry+"_"+input), "_")
	sum := sha256.Sum256([]byte(p.entry + "\x00" + input))
	end := "_" + hex.EncodeToString(sum[:8])
	return Secret{
		Name: former[:min(len(former), maxSecretName-len(end))] + end, Entry: p.entry, Input: input, Former: former,
	}
}

func missing(name string) error {
	return tool.Errorf(op, tool.Invalid, "the server needs a value for %s", quote(name)).
		WithHint("give it with --set %s=VALUE", tool.Truncate(name))
}

// said is what a catalogue says of a value.
func said(in Input) (string, bool) {
	if in.Value != "" {
		return in.Value, true
	}
	return in.Default, in.Default != ""
}

func arguments(list []Argument, values map[string]string) (all []string, err error) {
	for _, a := range list {
		name := a.Name
		if a.Type == "positional" {
			name = a.ValueHint
		}
		text, known := values[name]
		if !known {
			if text, known = said(a.Input); known && !safe(text) || a.Secret {
				return nil, refuse("the argument %s is not taken over: %s", quote(name), quote(text))
			}
		}
		switch {
		case !known && a.Required && (a.Type == "positional" || len(a.Choices) > 0):
			return nil, missing(name)
		case a.Type == "positional" && known:
			all = append(all, text)
		case a.Type == "named" && (known || a.Required):
			if !regexp.MustCompile(`^--?[A-Za-z0-9][A-Za-z0-9_.-]*$`).MatchString(a.Name) {
				return nil, refuse("%s is no name of an option", quote(a.Name))
			}
			if all = append(all, a.Name); known {
				all = append(all, text)
			}
		case a.Type != "positional" && a.Type != "named":
			return nil, refuse("%s is no kind of argument", quote(a.Type))
		}
	}
	return all, nil
}

// safe reports whether a text means the same to everybody: nothing to a shell, to our templates, or to a terminal.
func safe(text string) bool {
	return plain(text) && !strings.ContainsAny(text, "`$;|&<>{}\\\"'")
}

func quote(text string) string { return `"` + strings.Map(visibleRune, tool.Truncate(text)) + `"` }

func visibleRune(r rune) rune {
	if plain(string(r)) {
		return r
	}
	return '�'
}
