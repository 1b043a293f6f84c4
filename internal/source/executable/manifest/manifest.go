// Package manifest reads the manifests of external tools: one JSON object with
// the model's view of a tool under llm and the kernel's view under runtime.
//
// A manifest is checked strictly. A misspelt key, a key that occurs twice, a
// value of the wrong kind, a lock on a parameter that does not exist: each is a
// [Problem] with its line, its column and how to correct it, because a limit
// that is silently ignored is worse than no limit. All problems of a file are
// reported at once. A file may come from anybody, so its size and its depth are
// bounded.
package manifest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/tool"
)

const (
	defaultTimeout = time.Minute
	maxTimeout     = 24 * time.Hour
	defaultOutput  = 1 << 20  // bytes of stdout
	maxOutput      = 64 << 20 // that a manifest may ask for
	maxText        = 32 << 10 // bytes of a description
	maxLine        = 512      // bytes of any other text
	maxList        = 256      // items of a list
)

// Reserved is the prefix of the environment variables that the kernel itself
// sets.
const Reserved = "CALLGATE_"

// Manifest is a manifest without problems in itself. Its executable is checked
// when it is loaded.
type Manifest struct {
	File      string // the name of the file, for messages
	ID        tool.ID
	Spec      tool.Spec
	Runtime   tool.Runtime
	Exec      string   // runtime.exec_path; "": the file beside the manifest that has its name
	Args      []string // arguments of the executable in every call
	Env       []string // variables of the kernel's environment that the executable gets
	MaxOutput int      // bytes of stdout
	Direct    bool     // its network is the machine's own, not through the guard
	HostTools []string // tools that it may have the kernel run, by their dotted names
	Cwd       Cwd      // where it starts

	execAt [2]int // line and column of exec_path
}

// Cwd is where an executable starts.
type Cwd string

// The places. The zero value is CwdOwn.
const (
	CwdOwn       Cwd = "own"       // an empty folder, which it cannot write
	CwdWorkspace Cwd = "workspace" // the session's folder, from which it may load code
)

// Parse reads a manifest. The file's name is for messages; check, if not nil,
// reports schemas that are not valid. Parse returns either a manifest or all its
// problems, in the order of the file.
func Parse(file string, data []byte, check func(json.RawMessage) error) (*Manifest, []Problem) {
	d := &decoder{report: report{file: file, data: data}, check: check}
	d.m = &Manifest{
		File: file, ID: tool.ID{Version: tool.Version{Major: 1}}, MaxOutput: defaultOutput,
		Runtime: tool.Runtime{Timeout: defaultTimeout},
	}
	if root := d.parse(); root != nil {
		d.root(root)
	}
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, d.problems
	}
	return d.m, nil
}

// Problem makes a problem of the executable, at the place that names it.
func (m *Manifest) Problem(what, hint string) Problem {
	return Problem{File: m.File, Line: m.execAt[0], Column: m.execAt[1], What: what, Hint: hint}
}

// decoder reads a manifest from its text. It continues after a problem.
type decoder struct {
	report
	check func(json.RawMessage) error
	m     *Manifest
	input *node // llm.parameters
}

func (d *decoder) root(n *node) {
	if n.kind == object && n.get("llm") == nil && n.get("name") != nil {
		d.fail(n.at, `write {"llm": {"name": …}, "runtime": {…}}`,
			"the view of the model stands alone here; a manifest holds it under llm")
		return
	}
	var locks *node
	d.object(n, "", fields{
		"llm": d.llm,
		"runtime": func(n *node, path string) {
			locks = n.get("locks")
			d.runtime(n, path)
		},
	}, "llm")
	if locks != nil {
		d.locks(locks)
	}
}

// llm reads the model's view.
func (d *decoder) llm(n *node, path string) {
	s := &d.m.Spec
	required := []string{"name", "description"}
	if n.get("input_schema") == nil {
		required = append(required, "parameters")
	}
	d.object(n, path, fields{
		"name":          d.name,
		"short_name":    d.shortName,
		"description":   d.text(&s.Description, maxText),
		"parameters":    d.parameters,
		"input_schema":  d.parameters,
		"output_schema": d.schema(&s.Output),
		"examples":      d.examples,
		"aliases":       d.texts(&s.Aliases, nil),
		"tags":          d.texts(&s.Tags, nil),
	}, required...)
}

// runtime reads the kernel's view.
func (d *decoder) runtime(n *node, path string) {
	r := &d.m.Runtime
	d.object(n, path, fields{
		"exec_path":        d.execPath,
		"args":             d.texts(&d.m.Args, nil),
		"timeout_ms":       d.timeout,
		"locks":            func(*node, string) {}, // read last: it depends on all the rest
		"network":          d.network,
		"secret_resources": d.texts(&r.Secrets, d.variable),
		"side_effect":      choice(d, &r.SideEffect, tool.None, tool.Read, tool.Write, tool.External),
		"idempotent":       d.yesNo(&r.Idempotent),
		"version":          d.version,
		"risk":             choice(d, &r.Risk, tool.Low, tool.Medium, tool.High),
		"data_classification": choice(
			d, &r.Data, tool.DataPublic, tool.DataInternal, tool.DataSensitive, tool.DataRestricted),
		"exposure":    choice(d, &r.Exposure, tool.Edge, tool.Core, tool.Both, tool.Nobody),
		"prompt_mask": d.yesNo(&r.PromptMask),
		"ask_first":   d.yesNo(&r.AskFirst),
		"env":         d.texts(&d.m.Env, d.variable),
		"host_tools":  d.texts(&d.m.HostTools, d.hostTool),
		"cwd":         choice(d, &d.m.Cwd, CwdOwn, CwdWorkspace),
		"max_output":  func(n *node, path string) { d.integer(n, path, maxOutput, &d.m.MaxOutput) },
	})
	if env := n.get("env"); env != nil {
		for i, name := range d.m.Env {
			if slices.Contains(r.Secrets, name) {
				d.fail(env.items[i].at, "leave it in one of them",
					"%s is a secret and a variable of the environment", quote(name))
			}
		}
	}
}

// network reads true, false or "direct".
func (d *decoder) network(n *node, path string) {
	if n.kind == text && n.text == "direct" {
		d.m.Runtime.Network, d.m.Direct = true, true
		return
	}
	d.yesNo(&d.m.Runtime.Network)(n, path)
}

// isReserved reports the modules of MCP servers and of the kernel's own tools: a
// program behind such a name would be taken for something else.
func isReserved(namespace string) bool {
	return strings.HasPrefix(namespace+"_", "mcp_") ||
		slices.Contains([]string{"context_builder", "approvals", "tasks", "llm_provider"}, namespace)
}

func (d *decoder) name(n *node, path string) {
	var dotted string
	if d.text(&dotted, maxLine)(n, path); dotted == "" {
		return
	}
	namespace, name, err := tool.ParseDotted(dotted)
	if err != nil {
		d.fail(n.at, "write a module and an action, such as git.commit", "%s: %s", path, err)
		return
	}
	if isReserved(namespace) {
		d.fail(n.at, "choose another module, such as team", "%s: the module %s is not for executables", path, namespace)
		return
	}
	d.m.ID.Namespace, d.m.ID.Name, d.m.Spec.Name = namespace, name, dotted
}

// hostTool checks the name of a tool that the executable may have the kernel run. The
// kernel's own tools are none of them: they would make other calls.
func (d *decoder) hostTool(n *node, path string) {
	namespace, _, err := tool.ParseDotted(n.text)
	if err != nil || strings.Contains(n.text, "*") {
		d.fail(n.at, "write a module and an action, such as memory.query", "%s names no tool: %s", path, quote(n.text))
		return
	}
	if isReserved(namespace) && !strings.HasPrefix(namespace, "mcp_") {
		d.fail(n.at, "name the tool itself", "%s: a program cannot have %s run", path, n.text)
	}
}

func (d *decoder) shortName(n *node, path string) {
	var short string
	if d.text(&short, tool.MaxWire)(n, path); short == "" {
		return
	}
	if !isName(short, "-") {
		d.fail(n.at, "write letters and digits, such as GitCommit", "%s %s is not a name", path, quote(short))
		return
	}
	d.m.Spec.Short = short
}

func (d *decoder) version(n *node, path string) {
	if n.kind == number {
		d.fail(n.at, "put it in quotes: "+strconv.Quote(tool.Truncate(n.text)),
			"%s must be text, and this is a number", path)
		return
	}
	var written string
	if d.text(&written, maxLine)(n, path); written == "" {
		return
	}
	v, err := tool.ParseVersion(written)
	if err != nil {
		d.fail(n.at, `write "1.0" or "1.2.3"`, "%s: %s", path, err)
		return
	}
	d.m.ID.Version = v
}

func (d *decoder) execPath(n *node, path string) {
	d.text(&d.m.Exec, 4096)(n, path)
	d.m.execAt[0], d.m.execAt[1] = d.place(n.at)
}

func (d *decoder) timeout(n *node, path string) {
	var ms int
	if d.integer(n, path, int(maxTimeout/time.Millisecond), &ms); ms > 0 {
		d.m.Runtime.Timeout = time.Duration(ms) * time.Millisecond
	}
}

// parameters reads the input schema, under either of its names.
func (d *decoder) parameters(n *node, path string) {
	if d.input != nil {
		d.fail(n.at, "keep one of them", "parameters and input_schema are two names of the same thing")
		return
	}
	d.input = n
	d.schema(&d.m.Spec.Input)(n, path)
	if kind := n.get("type"); kind != nil && kind.text != "object" {
		d.fail(kind.at, `write "type": "object" and put the values below properties`,
			"%s must describe an object, since arguments have names", path)
	}
}

// schema reads a JSON Schema.
func (d *decoder) schema(to *json.RawMessage) reader {
	return func(n *node, path string) {
		if n.kind != object {
			d.wrong(n, path, "a JSON Schema", `such as {"type": "object", "properties": {…}}`)
			return
		}
		*to = d.raw(n)
		if d.check == nil {
			return
		}
		if err := d.check(*to); err != nil {
			d.fail(n.at, "mend the schema", "%s is not a JSON Schema that can be used: %s",
				path, tool.TruncateTo(err.Error(), maxLine))
		}
	}
}

func (d *decoder) examples(n *node, path string) {
	d.each(n, path, func(n *node, path string) {
		var e tool.Example
		d.object(n, path, fields{
			"note": d.text(&e.Note, maxLine),
			"args": func(n *node, path string) {
				if n.kind != object {
					d.wrong(n, path, "the arguments of a call", `such as {"path": "a.txt"}`)
					return
				}
				e.Args = d.raw(n)
			},
		}, "args")
		d.m.Spec.Examples = append(d.m.Spec.Examples, e)
	})
}
