package importer

import (
	"fmt"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/importer/configtree"
	"callgate/internal/importer/hide"
	"callgate/internal/importer/translate"
)

// draft is a server while its entry is read.
type draft struct {
	*reader
	at        int // of its entry
	name      string
	s         app.Server
	off       bool
	allowed   []string // the tools that were on, if not all
	notes     []string
	bad       bool
	positions map[string]int // of values that may be secrets
	hidden    []string
	values    map[string]string // of the secrets that stood in the config, by their names in hidden
}

func (r *reader) draft(name, server string, at int) *draft {
	return &draft{reader: r, at: at, name: name, s: app.Server{Name: validName(server)}, positions: map[string]int{}}
}

// Bounds of one server: a person reads the notes and sets the secrets, so more
// of them than this help nobody.
const (
	maxThings  = 1000
	maxText    = 64 << 10
	maxNotes   = 100
	maxSecrets = 100
)

// Note adds a note, once.
func (d *draft) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(d.notes) < maxNotes && !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// NeedSecret notes a secret that has to be set.
func (d *draft) NeedSecret(name, why string) {
	d.Note("set the secret %s with callgate secrets set (%s)", name, why)
}

// OwnSecret is the name of a secret of this server alone. It holds the server's
// name, so it changes with that name.
func (d *draft) OwnSecret(name string) string {
	if len(d.hidden) == maxSecrets {
		d.fail(d.at, "it takes more than %d secrets", maxSecrets)
		return hide.Name(name)
	}
	name = hide.Part(name)
	base := name
	for n := 2; slices.Contains(d.hidden, name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	d.hidden = append(d.hidden, name)
	return hide.ServerSecret(d.s.Name, name)
}

// reference is the text that takes a secret's place.
func (d *draft) reference(name, value, what string, at int) string {
	before := len(d.hidden)
	ref := d.OwnSecret(name)
	if len(d.hidden) > before {
		if d.values == nil {
			d.values = map[string]string{}
		}
		d.values[d.hidden[before]] = strings.ReplaceAll(value, "{{{{", "{{") // as it stood there
	}
	d.NeedSecret(ref, fmt.Sprintf("its value is %s, at %s:%d", what, d.source.Path, d.lines.Of(at)))
	return "{{secret." + ref + "}}"
}

// fail gives the server up, with the reason.
func (d *draft) fail(at int, format string, args ...any) {
	d.bad = true
	d.reader.fail(at, "the server %s: %s", quote(d.name), fmt.Sprintf(format, args...))
}

// translator translates the texts of the server.
func (d *draft) translator() *translate.Translator {
	return &translate.Translator{
		Syntax: d.client.syntax, GOOS: d.env.GOOS, Workspace: d.env.Workspace, Getenv: d.env.Getenv,
		SecretVars: d.opt.SecretVars, Inputs: d.inputs, Notes: d,
	}
}

// written is a translated text, unless it could be misread.
func (d *draft) written(text *translate.Text, at int) string {
	s := text.String()
	if text.Reserved() {
		d.fail(at, "a text of it holds {{secret, which here would be a secret of yours")
	}
	return s
}

// tooMany reports more of something than any server needs.
func (d *draft) tooMany(key string, v *configtree.Value) bool {
	n := len(v.Items) + len(v.Members)
	if n > maxThings {
		d.fail(v.From, "%s holds %d things, and %d are the most", key, n, maxThings)
	}
	return n > maxThings
}

func (d *draft) header(name, value string) {
	if d.s.Headers == nil {
		d.s.Headers = map[string]string{}
	}
	d.s.Headers[name] = value
}

// found is the server as it is handed out.
func (d *draft) found() FoundServer {
	if d.name != d.s.Name {
		d.Note("it was called %s there", quote(d.name))
	}
	f := FoundServer{
		Name: d.name, Disabled: d.off || d.isOff(d.name), Source: d.source, fingerprint: fingerprintOf(d.s),
	}
	if !d.opt.KeepSecrets {
		hide.Secrets{Positions: d.positions, At: d.at, Reference: d.reference}.Hide(&d.s)
	}
	f.Server, f.Notes, f.hidden, f.values = d.s, d.notes, d.hidden, d.values
	return f
}
