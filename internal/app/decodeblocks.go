package app

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"callgate/tool"
)

// Surface is how an agent is shown its tools.
type Surface struct {
	Mode          string   // direct, compact_direct or discovery; empty: by the budget
	Window        int      // tokens of the model's context; 0: not said
	DirectModules []string // shown whole in every mode
	Pinned        []string // tools shown whole in every mode
	Primitives    []string // the kernel's own tools beyond the five; nil: all there are
}

// Search is how tools are found by what is meant. The zero value is the model
// that is built in.
type Search struct {
	Model    string // folder of a static model
	Endpoint Endpoint
	Synonyms [][]string
}

// Endpoint is an embeddings API in the form of OpenAI's.
type Endpoint struct {
	URL        string
	Model      string
	Key        string // may refer to a secret
	Dimensions int
}

// Key is equal for apps that search in the same way.
func (s Search) Key() string {
	data, _ := json.Marshal(s) // of strings and numbers
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// choice reads one of a few words.
func (d *decoder) choice(to *string, words ...string) reader {
	return func(e entry) {
		word, ok := d.text(e)
		switch {
		case !ok:
		case !slices.Contains(words, word):
			d.fail(e.at, "write "+strings.Join(words[:len(words)-1], ", ")+" or "+words[len(words)-1], "%s is %s", e.name(), quote(word))
		default:
			*to = word
		}
	}
}

// boolean reads true or false.
func (d *decoder) boolean(to *bool, out string) reader {
	return func(e entry) {
		b, ok := e.value.(*ast.BoolNode)
		if !ok {
			d.typeError(e, "true or false", out)
			return
		}
		*to = b.Value
	}
}

// number reads a whole number within bounds.
func (d *decoder) number(to *int, least, most int, out string) reader {
	return func(e entry) {
		n, ok := d.integer(e, out)
		switch {
		case !ok:
		case n < least || n > most:
			d.fail(e.at, out, "%s is %d, and must be from %d to %d", e.name(), n, least, most)
		default:
			*to = n
		}
	}
}

func (d *decoder) directModules(e entry) {
	d.texts(&d.app.Surface.DirectModules, "name the modules, such as [filesystem]")(e)
	for i, name := range d.app.Surface.DirectModules {
		d.mention(itemPath(e, i), name, "", true)
	}
}

// primitives reads all, none, or the names of some.
func (d *decoder) primitives(e entry) {
	if _, list := e.value.(*ast.SequenceNode); list {
		d.texts(&d.app.Surface.Primitives, "name the tools, or write all or none")(e)
		return
	}
	var word string
	d.choice(&word, "all", "none")(e)
	if word == "none" {
		d.app.Surface.Primitives = []string{}
	}
}

func (d *decoder) contextBlock(e entry) {
	d.app.Runtime.Context = d.context(levelContext, e, &d.app.Surface.Window)
}

func (d *decoder) searchBlock(e entry) {
	s := &d.app.Search
	d.mapping(levelSearch, e, map[string]reader{
		"model":    d.textInto(&s.Model),
		"endpoint": d.endpoint,
		"synonyms": d.synonyms,
	})
	if s.Model != "" && s.Endpoint.URL != "" {
		d.fail(e.at, "keep one of the two", "search names a model and an endpoint, and only one can be asked")
	}
}

func (d *decoder) endpoint(e entry) {
	p := &d.app.Search.Endpoint
	d.secrets = true
	defer func() { d.secrets = false }()
	d.mapping(levelEndpoint, e, map[string]reader{
		"url": d.textInto(&p.URL), "model": d.textInto(&p.Model), "key": d.textInto(&p.Key),
		"dimensions": d.number(&p.Dimensions, 1, 65536, "write how many numbers a vector has, such as 768"),
	})
	if p.URL == "" || strings.Contains(p.URL, "{{") {
		d.fail(e.at, "write url: and its address, such as http://127.0.0.1:11434", "search.endpoint has no url that can be used")
	}
}

func (d *decoder) synonyms(e entry) {
	const out = "write each group as a list of words that mean the same: - [refund, reimburse]"
	for _, in := range d.items(e, "a list of groups", out) {
		var group []string
		d.texts(&group, out)(in)
		if len(group) == 1 {
			d.fail(in.at, out, "%s has one word, which needs no group", in.name())
		}
		d.app.Search.Synonyms = append(d.app.Search.Synonyms, group)
	}
}

func (d *decoder) securityBlock(e entry) {
	d.mapping(levelSecurity, e, map[string]reader{
		"require_pinning": d.boolean(&d.app.Pinning, "write true to show nothing of an MCP server before a human accepted it"),
	})
}

// setup reads the calls that set a module up.
func (d *decoder) setup(e entry, module string) []Step {
	const form = "write each step as {action: connect, params: {…}}"
	if e.null() {
		return nil
	}
	var steps []Step
	for _, in := range d.items(e, "a list of steps", form) {
		step := Step{Params: map[string]any{}}
		d.mapping(levelStep, in, map[string]reader{
			"action": d.textInto(&step.Action),
			"params": func(p entry) {
				d.secrets = true
				defer func() { d.secrets = false }()
				if m, ok := d.value(p).(map[string]any); ok {
					step.Params = m
				} else if !p.null() {
					d.typeError(p, "a mapping of parameters", form)
				}
			},
		})
		if step.Action == "" {
			d.fail(in.at, form, "%s names no action", in.name())
			continue
		}
		if _, _, err := tool.ParseDotted(step.Action); err == nil {
			d.fail(d.places[in.path+".action"], "leave the module out", "an action is named without its module here, and this is %s", quote(step.Action))
			continue
		}
		d.mention(in.path+".action", module, step.Action, true)
		steps = append(steps, step)
	}
	return steps
}
