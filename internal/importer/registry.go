package importer

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/importer/configtree"
)

// A server.json says how a server can be had: as a package that some program
// runs, or at a url. One way is taken, the first package that can be run or
// else the first url, and the others are named in a note. What a person must
// give, such as a key, becomes a reference to a secret: it is missed when the
// server is started, and not when the app file is read.

// isRegistry reports whether a file is a server.json.
func (f *file) isRegistry() bool {
	if f.client.name != generic || f.root == nil {
		return false
	}
	d := f.description()
	return f.source.Client == registry || f.servers == nil && d.Get("name") != nil && (d.Get("packages") != nil || d.Get("remotes") != nil)
}

// description is the server itself, which the registry's own answers wrap.
func (f *file) description() *configtree.Value {
	if in := f.root.Get("server"); in != nil && in.Kind == configtree.Object {
		return in
	}
	return f.root
}

func (r *reader) registry() []FoundServer {
	v := r.description()
	name := str(v.Get("name"))
	d := &draft{reader: r, at: v.From, name: name, places: map[string]int{}}
	d.s.Name = validName(name[strings.LastIndexByte(name, '/')+1:])
	var packages, remotes []configtree.Value
	if p := v.Get("packages"); p != nil {
		packages = p.Items
	}
	if p := v.Get("remotes"); p != nil {
		remotes = p.Items
	}
	slices.SortStableFunc(remotes, func(a, b configtree.Value) int { // the newer way first
		return cmp.Compare(str(a.Get("type")), str(b.Get("type"))) * -1
	})
	if len(packages) > maxThings || len(remotes) > maxThings {
		d.fail(v.From, "it can be had in more ways than anybody needs")
		return nil
	}
	taken, others := false, []string{}
	for i := range packages {
		if p := &packages[i]; !taken && d.localPackage(p) {
			taken = true
		} else {
			others = append(others, str(p.Get("registryType"))+" "+str(p.Get("identifier")))
		}
	}
	for i := range remotes {
		if p := &remotes[i]; !taken && d.remotePackage(p) {
			taken = true
		} else {
			others = append(others, str(p.Get("type"))+" "+str(p.Get("url")))
		}
	}
	if !taken {
		d.fail(v.From, "there is no package and no url that could be used; there is: %s", cmp.Or(strings.Join(others, ", "), "nothing"))
	} else if len(others) > 0 {
		d.note("it can be had in other ways too: %s", strings.Join(others, ", "))
	}
	if !d.bad {
		d.normalize()
	}
	if d.bad {
		return nil
	}
	return []FoundServer{d.found()}
}

func str(v *configtree.Value) string {
	if v == nil || v.Kind != configtree.Text {
		return ""
	}
	return v.Text
}

// runner is how packages of one kind are run.
type runner struct {
	command string
	before  []string // arguments before those of the package's author
	after   []string // and behind the package
	join    string   // between the package and its version
	hints   []string // programs that take the same arguments
}

func runners() map[string]runner {
	return map[string]runner{
		"npm":   {command: "npx", before: []string{"-y"}, join: "@", hints: []string{"bunx", "pnpx"}},
		"pypi":  {command: "uvx", join: "=="},
		"nuget": {command: "dnx", after: []string{"--yes"}, join: "@"},
		"oci":   {command: "docker", before: []string{"run", "-i", "--rm"}, join: ":", hints: []string{"podman"}},
	}
}

// localPackage takes a package. It reports whether it can be run here.
func (d *draft) localPackage(p *configtree.Value) bool {
	kind, id := str(p.Get("registryType")), str(p.Get("identifier"))
	run, ok := runners()[kind]
	if transport := str(p.Get("transport").Get("type")); !ok || id == "" || transport != "" && transport != "stdio" {
		return false
	}
	switch hint := str(p.Get("runtimeHint")); {
	case hint == "" || hint == run.command:
	case slices.Contains(run.hints, hint):
		if run.command = hint; hint == "bunx" {
			run.before = nil
		}
	default:
		d.note("it asks for the program %s; %s is used", quote(hint), run.command)
	}
	d.s.Command = run.command
	d.environs(p.Get("environmentVariables"))
	args := d.arguments(p.Get("runtimeArguments"))
	for _, arg := range slices.Backward(run.before) {
		if !slices.Contains(args, arg) {
			args = append([]string{arg}, args...)
		}
	}
	if kind == "oci" {
		for i := range items(p.Get("environmentVariables")) {
			if name := str(p.Get("environmentVariables").Items[i].Get("name")); d.s.Env[name] != "" {
				args = append(args, "-e", name)
			}
		}
	}
	if version := str(p.Get("version")); version != "" && !(kind == "oci" && strings.ContainsAny(id[strings.LastIndexByte(id, '/')+1:], ":@")) {
		id += run.join + version
	}
	args = append(append(args, escaped(id)), run.after...)
	own := d.arguments(p.Get("packageArguments"))
	if kind == "nuget" && len(own) > 0 {
		args = append(args, "--")
	}
	d.s.Args = append(args, own...)
	if str(p.Get("fileSha256")) != "" {
		d.note("the hash that its author gave is not checked by %s", run.command)
	}
	return true
}

func items(v *configtree.Value) []configtree.Value {
	if v == nil {
		return nil
	}
	return v.Items
}

// remotePackage takes a url. It reports whether it can be used.
func (d *draft) remotePackage(p *configtree.Value) bool {
	switch kind := str(p.Get("type")); kind {
	case "streamable-http":
		d.s.Transport = "http"
	case "sse":
		d.s.Transport = kind
	default:
		return false
	}
	w := &writer{}
	d.filled(w, str(p.Get("url")), p.Get("variables"))
	d.s.URL = d.written(w, p.From)
	if !strings.HasPrefix(d.s.URL, "https://") && !strings.HasPrefix(d.s.URL, "http://") && !strings.HasPrefix(d.s.URL, "{{") {
		d.s.URL, d.s.Transport = "", ""
		return false
	}
	for i := range items(p.Get("headers")) {
		in := &p.Get("headers").Items[i]
		if value, ok := d.input(in, str(in.Get("name"))); ok {
			d.header(str(in.Get("name")), value)
		}
	}
	return true
}

func (d *draft) environs(list *configtree.Value) {
	if list != nil && d.tooMany("environmentVariables", list) {
		return
	}
	for i := range items(list) {
		in := &list.Items[i]
		name := str(in.Get("name"))
		if value, ok := d.input(in, name); ok && name != "" {
			if d.s.Env == nil {
				d.s.Env = map[string]string{}
			}
			d.s.Env[name] = value
		}
	}
}

// arguments writes arguments in order: --name value, or the value alone.
func (d *draft) arguments(list *configtree.Value) []string {
	var args []string
	if list != nil && d.tooMany("a list of arguments", list) {
		return nil
	}
	for i := range items(list) {
		in := &list.Items[i]
		name := str(in.Get("name"))
		value, ok := d.input(in, cmp.Or(name, str(in.Get("valueHint")), "argument"))
		switch {
		case !ok:
		case str(in.Get("type")) == "named" && value == "":
			args = append(args, escaped(name))
		case str(in.Get("type")) == "named":
			args = append(args, escaped(name), value)
		default:
			args = append(args, value)
		}
	}
	return args
}

// input is what is written for a value: the one that its author fixed, or its
// default, or a reference to what a person must give. What need not be given
// is left out.
func (d *draft) input(in *configtree.Value, name string) (string, bool) {
	w := &writer{}
	required := in.Get("isRequired") != nil && in.Get("isRequired").Text == "true"
	switch fixed, otherwise := in.Get("value"), in.Get("default"); {
	case fixed != nil:
		d.filled(w, fixed.Text, in.Get("variables"))
	case otherwise != nil:
		w.text(otherwise.Text)
	case required:
		d.userInput(w, name, "%s", d.described(in, name))
	default:
		d.note("%s may be given too, and is left out", d.described(in, name))
		return "", false
	}
	return d.written(w, in.From), true
}

// described is a value in words.
func (d *draft) described(in *configtree.Value, name string) string {
	text := name
	if about := str(in.Get("description")); about != "" {
		text += ": " + quote(about)
	}
	if choices := words(in.Get("choices")); len(choices) > 0 {
		text += ", one of " + strings.Join(choices, ", ")
	}
	return text
}

var braced = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_-]*\}`)

// filled writes a text in which {name} stands for a variable.
func (d *draft) filled(w *writer, text string, variables *configtree.Value) {
	if len(text) > maxText {
		d.fail(d.at, "a text of it has %d bytes, and %d are the most", len(text), maxText)
		return
	}
	for text != "" {
		at := braced.FindStringIndex(text)
		if at == nil {
			break
		}
		name := text[at[0]+1 : at[1]-1]
		in := variables.Get(name)
		if in == nil {
			w.text(text[:at[1]])
			text = text[at[1]:]
			continue
		}
		w.text(text[:at[0]])
		text = text[at[1]:]
		switch value := cmp.Or(str(in.Get("value")), str(in.Get("default"))); value {
		case "":
			d.userInput(w, name, "%s", d.described(in, name))
		default:
			w.text(value)
		}
	}
	w.text(text)
}
