package importer

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/app"
	"callgate/internal/importer/configtree"
	"callgate/internal/importer/hide"
	"callgate/internal/importer/translate"
)

// entryReader reads a server's entry in a client's config.
type entryReader struct {
	*draft
	command []string // the program and its arguments, if they are one list
	kind    string   // the transport that is named
}

// server reads one entry. It reports whether there is something to import.
func (r *reader) server(m configtree.Member) (FoundServer, bool) {
	e := &entryReader{draft: r.draft(m.Name, m.Name, m.At)}
	if m.Value.Kind != configtree.Object {
		e.fail(m.Value.From, "its entry should be an object, and it is %s", m.Value.Kind)
		return FoundServer{}, false
	}
	if twice, ok := m.Value.Duplicate(); ok {
		e.fail(twice.At, "%q stands here a second time; keep one of the two", twice.Name)
		return FoundServer{}, false
	}
	if e.tooMany("it", &m.Value) {
		return FoundServer{}, false
	}
	for i := range m.Value.Members {
		e.field(&m.Value.Members[i])
	}
	e.transport()
	if e.isSelf() {
		p := r.problem(m.At, "the server %s is Callgate itself, so it is not imported", quote(m.Name))
		p.Harmless = true
		r.problems = append(r.problems, *p)
		return FoundServer{}, false
	}
	if e.bad {
		return FoundServer{}, false
	}
	e.normalize()
	return e.found(), !e.bad
}

// field reads one key of an entry.
func (e *entryReader) field(m *configtree.Member) {
	v := &m.Value
	if v.Kind == configtree.Null || e.process(m.Name, v) || e.remote(m.Name, v) || e.limits(m.Name, v) {
		return
	}
	switch m.Name {
	case "description", "name", "title", "$schema", "version", "gallery", "icon", "alwaysLoad", "required",
		"supports_parallel_tool_calls", "dev":
		// they mean nothing here
	case "trust", "autoApprove", "alwaysAllow", "default_tools_approval_mode":
		e.Note("%s is not carried over: what runs unasked is said in tools.capabilities", m.Name)
	case "envFile":
		e.Note("its variables also came from the file %s: write those that it needs into env", quote(v.Text))
	case "headersHelper":
		e.Note("a program made its headers (%s): write them into headers", quote(v.Text))
	default:
		e.Note("%s is not carried over", quote(m.Name))
	}
}

// process reads the keys of a program.
func (e *entryReader) process(key string, v *configtree.Value) bool {
	switch key {
	case "command":
		if v.Kind == configtree.List {
			e.command = e.texts(key, v)
		} else {
			e.s.Command = e.text(key, v)
		}
	case "args":
		e.s.Args = e.texts(key, v)
	case "env", "environment":
		e.s.Env = e.textMap("env", v)
	case "cwd":
		e.s.Dir = e.text(key, v)
	case "env_vars":
		for i := range v.Items {
			item := &v.Items[i]
			if name := item.Get("name"); name != nil {
				item = name
			}
			e.s.EnvAllow = append(e.s.EnvAllow, item.Text)
		}
	default:
		return false
	}
	return true
}

// remote reads the keys of a server that is reached over HTTP.
func (e *entryReader) remote(key string, v *configtree.Value) bool {
	switch key {
	case "type", "transport":
		e.kind = strings.ToLower(v.Text)
		if v.Kind != configtree.Text {
			e.fail(v.From, "%s should be a text, and it is %s", key, v.Kind)
		}
	case "url", "serverUrl", "httpUrl":
		if e.s.URL != "" {
			e.fail(v.From, "it has more than one url")
		}
		e.s.URL = e.text(key, v)
		e.positions["url"] = v.From
		if key == "httpUrl" {
			e.s.Transport = "http"
		}
	case "headers", "http_headers":
		for name, value := range e.textMap("headers", v) {
			e.header(name, value)
		}
	case "env_http_headers":
		for name, variable := range e.textMap("headers", v) {
			if hide.IsSecretName(name) || hide.IsSecretName(variable) {
				e.header(name, "{{secret."+hide.Name(variable)+"}}")
			} else {
				e.header(name, "{{env."+variable+"}}")
			}
		}
	case "bearer_token_env_var":
		name := hide.Name(e.text(key, v))
		e.NeedSecret(name, "its token was taken from that variable")
		e.header("Authorization", "Bearer {{secret."+name+"}}")
	case "oauth", "auth":
		e.oauth(v)
	case "scopes":
		e.login().Scopes = e.texts(key, v)
	default:
		return false
	}
	return true
}

func (e *entryReader) login() *app.OAuth {
	if e.s.OAuth == nil {
		e.s.OAuth = &app.OAuth{}
	}
	return e.s.OAuth
}

func (e *entryReader) oauth(v *configtree.Value) {
	if v.Kind == configtree.Bool {
		return
	}
	if v.Kind != configtree.Object {
		e.fail(v.From, "its login should be an object, and it is %s", v.Kind)
		return
	}
	for i := range v.Members {
		m := &v.Members[i]
		switch strings.ToLower(strings.ReplaceAll(m.Name, "_", "")) {
		case "clientid":
			e.login().ClientID = e.text(m.Name, &m.Value)
		case "clientsecret":
			e.login().ClientSecret = e.text(m.Name, &m.Value)
			e.positions["client_secret"] = m.Value.From
		case "callbackport":
			port, err := strconv.Atoi(m.Value.Text)
			if err != nil || port < 1 || port > 65535 {
				e.fail(m.Value.From, "the callback port %s is none", quote(m.Value.Text))
			}
			e.login().CallbackPort = port
		case "scopes", "scope":
			if m.Value.Kind == configtree.Text {
				e.login().Scopes = strings.Fields(e.text(m.Name, &m.Value))
			} else {
				e.login().Scopes = e.texts(m.Name, &m.Value)
			}
		case "enabled":
		default:
			e.Note("%s of its login is not carried over", quote(m.Name))
		}
	}
}

// limits reads the keys that turn a server or its tools off, or bound its time.
func (e *entryReader) limits(key string, v *configtree.Value) bool {
	switch key {
	case "enabled":
		e.off = e.off || v.Text == "false"
	case "disabled":
		e.off = e.off || v.Text == "true"
	case "timeout":
		switch {
		case v.Kind == configtree.Object:
			e.duration(&e.s.StartTimeout, v.Get("startup"), time.Millisecond)
			e.duration(&e.s.Timeout, v.Get("request"), time.Millisecond)
			e.duration(&e.s.Timeout, v.Get("execution"), time.Millisecond)
		case e.client.name == "crush":
			e.duration(&e.s.StartTimeout, v, time.Second)
		default:
			e.duration(&e.s.Timeout, v, time.Millisecond)
		}
	case "startup_timeout_sec":
		e.duration(&e.s.StartTimeout, v, time.Second)
	case "startup_timeout_ms":
		e.duration(&e.s.StartTimeout, v, time.Millisecond)
	case "tool_timeout_sec":
		e.duration(&e.s.Timeout, v, time.Second)
	case "enabled_tools", "includeTools":
		e.allowed = append(e.allowed, words(v)...)
	case "tools":
		if v.Kind == configtree.Object {
			e.Note("how its tools are approved is not carried over: say it in tools.capabilities")
		} else if list := words(v); !slices.Contains(list, "*") {
			e.allowed = append(e.allowed, list...)
		}
	case "disabled_tools", "excludeTools", "disabledTools":
		for _, name := range words(v) {
			e.turnOff(name)
		}
	default:
		return false
	}
	return true
}

func (e *entryReader) turnOff(name string) {
	if e.s.Tools == nil {
		e.s.Tools = map[string]app.ServerTool{}
	}
	e.s.Tools[name] = app.ServerTool{Off: true}
}

// duration reads a number of units. A time that an app file does not take is
// left at its default.
func (e *entryReader) duration(to *time.Duration, v *configtree.Value, unit time.Duration) {
	if v == nil {
		return
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(v.Text, "_", ""), 64)
	if err != nil || v.Kind != configtree.Number {
		e.fail(v.From, "a time should be a number, and it is %s", v.Kind)
		return
	}
	if t := n * float64(unit); t >= float64(100*time.Millisecond) && t <= float64(24*time.Hour) {
		*to = time.Duration(t).Round(time.Millisecond)
	} else {
		e.Note("a timeout of %s is not carried over: it is less than 100ms or more than a day", v.Text)
	}
}

// text reads one text; numbers, true and false are taken as they are written.
func (e *entryReader) text(key string, v *configtree.Value) string {
	switch v.Kind {
	case configtree.Text:
		if len(v.Text) > maxText {
			e.fail(v.From, "%s holds a text of %d bytes, and %d are the most", key, len(v.Text), maxText)
			return ""
		}
		var text translate.Text
		e.translator().Expand(&text, v.Text)
		return e.written(&text, v.From)
	case configtree.Number, configtree.Bool:
		return v.Text
	}
	e.fail(v.From, "%s should be a text, and it is %s", key, v.Kind)
	return ""
}

func (e *entryReader) texts(key string, v *configtree.Value) []string {
	if v.Kind != configtree.List {
		e.fail(v.From, "%s should be a list, and it is %s", key, v.Kind)
		return nil
	}
	if e.tooMany(key, v) {
		return nil
	}
	list := make([]string, 0, len(v.Items))
	for i := range v.Items {
		list = append(list, e.text(key, &v.Items[i]))
		switch key {
		case "args":
			e.positions[hide.Argument(i)] = v.Items[i].From
		case "command": // the program is no argument
			e.positions[hide.Argument(i-1)] = v.Items[i].From
		}
	}
	return list
}

func (e *entryReader) textMap(key string, v *configtree.Value) map[string]string {
	if v.Kind != configtree.Object {
		e.fail(v.From, "%s should be an object of texts, and it is %s", key, v.Kind)
		return nil
	}
	if twice, ok := v.Duplicate(); ok {
		e.fail(twice.At, "%s of %s stands here a second time; keep one of the two", quote(twice.Name), key)
		return nil
	}
	if e.tooMany(key, v) {
		return nil
	}
	m := make(map[string]string, len(v.Members))
	for i := range v.Members {
		in := &v.Members[i]
		if in.Value.Kind == configtree.Null {
			e.Note("%s of %s had no value, and is left out", quote(in.Name), key)
			continue
		}
		m[in.Name] = e.text(key, &in.Value)
		e.positions[key+"."+in.Name] = in.At
	}
	return m
}

// isSelf reports whether the server is Callgate.
func (e *entryReader) isSelf() bool {
	base := path.Base(strings.ReplaceAll(e.s.Command, `\`, "/"))
	return strings.TrimSuffix(base, ".exe") == "callgate" && slices.Contains(e.s.Args, "mcp")
}

// transport decides how the server is reached, by the transport that is named
// and the keys that are there.
func (e *entryReader) transport() {
	if len(e.command) > 0 {
		e.s.Command, e.s.Args = e.command[0], append(e.command[1:len(e.command):len(e.command)], e.s.Args...)
	}
	switch e.kind {
	case "stdio", "local":
		if e.s.URL != "" && e.s.Command != "" {
			e.Note("its url is left out, as it was said to be a program")
			e.s.URL, e.s.Headers, e.s.OAuth = "", nil, nil
		}
		e.s.Transport = ""
	case "http", "streamable-http", "streamablehttp", "streamable_http", "sse", "remote":
		if e.s.URL != "" && e.s.Command != "" {
			e.Note("its command is left out, as it was said to be at a url")
			e.s.Command, e.s.Args, e.s.Env, e.s.Dir = "", nil, nil, ""
		}
		if e.kind == "sse" {
			e.s.Transport = "sse"
		} else if e.kind != "remote" {
			e.s.Transport = "http"
		}
	case "":
	default:
		e.fail(e.at, "it is spoken to over %s, which is not known here", quote(e.kind))
		return
	}
	switch {
	case e.bad:
	case e.s.Command == "" && e.s.URL == "":
		e.fail(e.at, "it has neither a command nor a url")
	case e.s.Command != "" && e.s.URL != "":
		e.fail(e.at, "it has a command and a url, and does not say which is meant")
	case e.s.URL != "" && !isWebAddress(e.s.URL):
		scheme, _, _ := strings.Cut(e.s.URL, ":") // the rest may hold a key
		e.fail(e.at, "its url begins with %s, and not with https or http", quote(scheme))
	}
}

// isWebAddress reports whether a url is one of the web, or a variable.
func isWebAddress(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "{{")
}
