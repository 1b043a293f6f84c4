package importer

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/app"
	"callgate/internal/importer/configtree"
)

// draft is a server while its entry is read.
type draft struct {
	*reader
	at      int // of its entry
	name    string
	s       app.Server
	command []string // the program and its arguments, where they are one list
	kind    string   // the transport that is named
	off     bool
	allowed []string // the tools that were on, if not all
	notes   []string
	bad     bool
	places  map[string]int // of values that may be secrets
	hidden  []string
}

// Bounds of one server: a person reads the notes and sets the secrets, so more
// of them than this help nobody.
const (
	maxThings  = 1000
	maxText    = 64 << 10
	maxNotes   = 100
	maxSecrets = 100
	maxNesting = 8 // of variables
)

func (d *draft) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(d.notes) < maxNotes && !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// fail gives the server up, with the reason.
func (d *draft) fail(at int, format string, args ...any) {
	d.bad = true
	d.reader.fail(at, "the server %s: %s", quote(d.name), fmt.Sprintf(format, args...))
}

// server reads one entry. It reports whether there is something to import.
func (r *reader) server(m configtree.Member) (FoundServer, bool) {
	d := &draft{reader: r, at: m.At, name: m.Name, places: map[string]int{}}
	d.s.Name = validName(m.Name)
	if m.Value.Kind != configtree.Object {
		d.fail(m.Value.From, "its entry should be an object, and it is %s", m.Value.Kind)
		return FoundServer{}, false
	}
	if twice, ok := m.Value.Duplicate(); ok {
		d.fail(twice.At, "%q stands here a second time; keep one of the two", twice.Name)
		return FoundServer{}, false
	}
	if d.tooMany("it", &m.Value) {
		return FoundServer{}, false
	}
	for i := range m.Value.Members {
		d.field(&m.Value.Members[i])
	}
	d.transport()
	if d.isSelf() {
		p := r.problem(m.At, "the server %s is Callgate itself, so it is not imported", quote(m.Name))
		p.Harmless = true
		r.problems = append(r.problems, *p)
		return FoundServer{}, false
	}
	if d.bad {
		return FoundServer{}, false
	}
	d.normalize()
	return d.found(), !d.bad
}

// found is the draft as it is handed out.
func (d *draft) found() FoundServer {
	if d.name != d.s.Name {
		d.note("it was called %s there", quote(d.name))
	}
	f := FoundServer{Name: d.name, Disabled: d.off || d.isOff(d.name), Source: d.source, fingerprint: fingerprintOf(d.s)}
	if !d.opt.KeepSecrets {
		d.hide()
	}
	f.Server, f.Notes, f.hidden = d.s, d.notes, d.hidden
	return f
}

// field takes one key of an entry in.
func (d *draft) field(m *configtree.Member) {
	v := &m.Value
	if v.Kind == configtree.Null || d.process(m.Name, v) || d.remote(m.Name, v) || d.limits(m.Name, v) {
		return
	}
	switch m.Name {
	case "description", "name", "title", "$schema", "version", "gallery", "icon", "alwaysLoad", "required", "supports_parallel_tool_calls", "dev":
		// of no account here
	case "trust", "autoApprove", "alwaysAllow", "default_tools_approval_mode":
		d.note("%s is not carried over: what runs unasked is said in tools.capabilities", m.Name)
	case "envFile":
		d.note("its variables also came from the file %s: write those that it needs into env", quote(v.Text))
	case "headersHelper":
		d.note("a program made its headers (%s): write them into headers", quote(v.Text))
	default:
		d.note("%s is not carried over", quote(m.Name))
	}
}

// process reads what is said of a program.
func (d *draft) process(key string, v *configtree.Value) bool {
	switch key {
	case "command":
		if v.Kind == configtree.List {
			d.command = d.texts(key, v)
		} else {
			d.s.Command = d.text(key, v)
		}
	case "args":
		d.s.Args = d.texts(key, v)
	case "env", "environment":
		d.s.Env = d.textMap("env", v)
	case "cwd":
		d.s.Dir = d.text(key, v)
	case "env_vars":
		for i := range v.Items {
			item := &v.Items[i]
			if name := item.Get("name"); name != nil {
				item = name
			}
			d.s.EnvAllow = append(d.s.EnvAllow, item.Text)
		}
	default:
		return false
	}
	return true
}

// remote reads what is said of a server that is reached over HTTP.
func (d *draft) remote(key string, v *configtree.Value) bool {
	switch key {
	case "type", "transport":
		d.kind = strings.ToLower(v.Text)
		if v.Kind != configtree.Text {
			d.fail(v.From, "%s should be a text, and it is %s", key, v.Kind)
		}
	case "url", "serverUrl", "httpUrl":
		if d.s.URL != "" {
			d.fail(v.From, "it has more than one url")
		}
		d.s.URL = d.text(key, v)
		d.places["url"] = v.From
		if key == "httpUrl" {
			d.s.Transport = "http"
		}
	case "headers", "http_headers":
		for name, value := range d.textMap("headers", v) {
			d.header(name, value)
		}
	case "env_http_headers":
		for name, variable := range d.textMap("headers", v) {
			if secretish(name) || secretish(variable) {
				d.header(name, "{{secret."+secretName(variable)+"}}")
			} else {
				d.header(name, "{{env."+variable+"}}")
			}
		}
	case "bearer_token_env_var":
		name := secretName(d.text(key, v))
		d.needs(name, "its token was taken from that variable")
		d.header("Authorization", "Bearer {{secret."+name+"}}")
	case "oauth", "auth":
		d.oauth(v)
	case "scopes":
		d.login().Scopes = d.texts(key, v)
	default:
		return false
	}
	return true
}

func (d *draft) header(name, value string) {
	if d.s.Headers == nil {
		d.s.Headers = map[string]string{}
	}
	d.s.Headers[name] = value
}

func (d *draft) login() *app.OAuth {
	if d.s.OAuth == nil {
		d.s.OAuth = &app.OAuth{}
	}
	return d.s.OAuth
}

func (d *draft) oauth(v *configtree.Value) {
	if v.Kind == configtree.Bool {
		return
	}
	if v.Kind != configtree.Object {
		d.fail(v.From, "its login should be an object, and it is %s", v.Kind)
		return
	}
	for i := range v.Members {
		m := &v.Members[i]
		switch strings.ToLower(strings.ReplaceAll(m.Name, "_", "")) {
		case "clientid":
			d.login().ClientID = d.text(m.Name, &m.Value)
		case "clientsecret":
			d.login().ClientSecret = d.text(m.Name, &m.Value)
			d.places["client_secret"] = m.Value.From
		case "callbackport":
			port, err := strconv.Atoi(m.Value.Text)
			if err != nil || port < 1 || port > 65535 {
				d.fail(m.Value.From, "the callback port %s is none", quote(m.Value.Text))
			}
			d.login().CallbackPort = port
		case "scopes", "scope":
			if m.Value.Kind == configtree.Text {
				d.login().Scopes = strings.Fields(d.text(m.Name, &m.Value))
			} else {
				d.login().Scopes = d.texts(m.Name, &m.Value)
			}
		case "enabled":
		default:
			d.note("%s of its login is not carried over", quote(m.Name))
		}
	}
}

// limits reads how a server is treated.
func (d *draft) limits(key string, v *configtree.Value) bool {
	switch key {
	case "enabled":
		d.off = d.off || v.Text == "false"
	case "disabled":
		d.off = d.off || v.Text == "true"
	case "timeout":
		switch {
		case v.Kind == configtree.Object:
			d.duration(&d.s.StartTimeout, v.Get("startup"), time.Millisecond)
			d.duration(&d.s.Timeout, v.Get("request"), time.Millisecond)
			d.duration(&d.s.Timeout, v.Get("execution"), time.Millisecond)
		case d.client.name == "crush":
			d.duration(&d.s.StartTimeout, v, time.Second)
		default:
			d.duration(&d.s.Timeout, v, time.Millisecond)
		}
	case "startup_timeout_sec":
		d.duration(&d.s.StartTimeout, v, time.Second)
	case "startup_timeout_ms":
		d.duration(&d.s.StartTimeout, v, time.Millisecond)
	case "tool_timeout_sec":
		d.duration(&d.s.Timeout, v, time.Second)
	case "enabled_tools", "includeTools":
		d.allowed = append(d.allowed, words(v)...)
	case "tools":
		if v.Kind == configtree.Object {
			d.note("how its tools are approved is not carried over: say it in tools.capabilities")
		} else if list := words(v); !slices.Contains(list, "*") {
			d.allowed = append(d.allowed, list...)
		}
	case "disabled_tools", "excludeTools", "disabledTools":
		for _, name := range words(v) {
			d.turnOff(name)
		}
	default:
		return false
	}
	return true
}

func (d *draft) turnOff(name string) {
	if d.s.Tools == nil {
		d.s.Tools = map[string]app.ServerTool{}
	}
	d.s.Tools[name] = app.ServerTool{Off: true}
}

// duration reads a number of units. What an app file does not take is left at
// its default.
func (d *draft) duration(to *time.Duration, v *configtree.Value, unit time.Duration) {
	if v == nil {
		return
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(v.Text, "_", ""), 64)
	if err != nil || v.Kind != configtree.Number {
		d.fail(v.From, "a time should be a number, and it is %s", v.Kind)
		return
	}
	if t := n * float64(unit); t >= float64(100*time.Millisecond) && t <= float64(24*time.Hour) {
		*to = time.Duration(t).Round(time.Millisecond)
	} else {
		d.note("a timeout of %s is not carried over: it is less than 100ms or more than a day", v.Text)
	}
}

// text reads one text; numbers and truths are taken as they are written.
func (d *draft) text(key string, v *configtree.Value) string {
	switch v.Kind {
	case configtree.Text:
		if len(v.Text) > maxText {
			d.fail(v.From, "%s holds a text of %d bytes, and %d are the most", key, len(v.Text), maxText)
			return ""
		}
		return d.translate(v)
	case configtree.Number, configtree.Bool:
		return v.Text
	}
	d.fail(v.From, "%s should be a text, and it is %s", key, v.Kind)
	return ""
}

func (d *draft) texts(key string, v *configtree.Value) []string {
	if v.Kind != configtree.List {
		d.fail(v.From, "%s should be a list, and it is %s", key, v.Kind)
		return nil
	}
	if d.tooMany(key, v) {
		return nil
	}
	list := make([]string, 0, len(v.Items))
	for i := range v.Items {
		list = append(list, d.text(key, &v.Items[i]))
		switch key {
		case "args":
			d.places[argument(i)] = v.Items[i].From
		case "command": // the program is no argument
			d.places[argument(i-1)] = v.Items[i].From
		}
	}
	return list
}

func (d *draft) textMap(key string, v *configtree.Value) map[string]string {
	if v.Kind != configtree.Object {
		d.fail(v.From, "%s should be an object of texts, and it is %s", key, v.Kind)
		return nil
	}
	if twice, ok := v.Duplicate(); ok {
		d.fail(twice.At, "%s of %s stands here a second time; keep one of the two", quote(twice.Name), key)
		return nil
	}
	if d.tooMany(key, v) {
		return nil
	}
	m := make(map[string]string, len(v.Members))
	for i := range v.Members {
		in := &v.Members[i]
		if in.Value.Kind == configtree.Null {
			d.note("%s of %s had no value, and is left out", quote(in.Name), key)
			continue
		}
		m[in.Name] = d.text(key, &in.Value)
		d.places[key+"."+in.Name] = in.At
	}
	return m
}

// tooMany reports more of something than any server needs.
func (d *draft) tooMany(key string, v *configtree.Value) bool {
	n := len(v.Items) + len(v.Members)
	if n > maxThings {
		d.fail(v.From, "%s holds %d things, and %d are the most", key, n, maxThings)
	}
	return n > maxThings
}

// argument is the place of an argument.
func argument(i int) string { return "args." + strconv.Itoa(i) }

// isSelf reports whether the server is this very program.
func (d *draft) isSelf() bool {
	base := path.Base(strings.ReplaceAll(d.s.Command, `\`, "/"))
	return strings.TrimSuffix(base, ".exe") == "callgate" && slices.Contains(d.s.Args, "mcp")
}
