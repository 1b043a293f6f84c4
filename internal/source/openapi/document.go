package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"callgate/tool"
)

// document is a document whose references are resolved.
type document struct {
	*openapi3.T
	place string         // where it is, for messages
	raw   map[string]any // the same as plain JSON, for the references of schemas
}

// wrong is an error at a place of the document, which is a JSON pointer, a line or nothing.
func (d *document) wrong(at, format string, args ...any) *tool.Error {
	return wrong(d.place, at, format, args...)
}

func wrong(place, at, format string, args ...any) *tool.Error {
	if at != "" {
		place += " at " + at
	}
	return tool.Errorf("openapi.Read", tool.Invalid, "the OpenAPI document %s cannot be used: %s",
		place, fmt.Sprintf(format, args...))
}

const validateHint = "correct it there; an editor with OpenAPI support shows the place"

// readDocument reads a document of any version.
func readDocument(place string, data []byte) (doc *document, err error) {
	defer func() { // the library must not end the kernel over a document from outside
		if p := recover(); p != nil {
			doc, err = nil, wrong(place, "", "reading it failed: %v", p).WithHint(validateHint)
		}
	}()
	plain, err := readPlain(place, data)
	if err != nil {
		return nil, err
	}
	o := &outside{place: place, refs: map[string]int{}}
	if err := o.refuse(plain, false); err != nil {
		return nil, err
	}
	if err := o.refuseReach(plain); err != nil {
		return nil, err
	}
	compact, err := json.Marshal(plain)
	if err != nil {
		return nil, wrong(place, "", "it holds what JSON cannot say: %v", err).WithHint(validateHint)
	}
	var t *openapi3.T
	switch version(plain) {
	case 2:
		t, err = fromSwagger(compact)
	case 3:
		t, err = load(compact)
	default:
		return nil, wrong(place, "", "neither openapi: 3.x nor swagger: \"2.0\" stands at its top").
			WithHint("name an OpenAPI document: 3.0, 3.1, or Swagger 2.0")
	}
	if err != nil {
		return nil, wrong(place, pointerIn(err), "%s", tool.TruncateTo(err.Error(), 500)).WithHint(validateHint)
	}
	doc = &document{T: t, place: place, raw: plain}
	if version(plain) == 2 {
		if err := doc.takeConverted(); err != nil {
			return nil, wrong(place, "", "%v", err).WithHint(validateHint)
		}
	}
	if doc.Paths.Len() == 0 {
		return nil, doc.wrong("/paths", "it describes no path").WithHint("name the document of the API, not of a part of it")
	}
	return doc, nil
}

// takeConverted takes the converted document for the references of schemas.
func (d *document) takeConverted() error {
	data, err := d.MarshalJSON()
	if err != nil {
		return err
	}
	d.raw = nil
	return json.Unmarshal(data, &d.raw)
}

// readPlain reads YAML or JSON.
func readPlain(place string, data []byte) (map[string]any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > MaxDocument:
		return nil, wrong(place, "", "it is longer than %d MiB", MaxDocument>>20).WithHint("name a smaller one")
	case !utf8.Valid(data):
		return nil, wrong(place, "", "it is not text in UTF-8").WithHint("save it as UTF-8")
	}
	var root any
	var err error
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) > 0 && trimmed[0] == '{' {
		if err := limitJSON(place, data); err != nil {
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if err = d.Decode(&root); err != nil {
			return nil, wrong(place, jsonLine(data, err), "it is not JSON: %v", err).WithHint("correct it there")
		}
	} else if tokens, err := scanYAML(place, data); err != nil {
		return nil, err
	} else if root, err = readYAML(tokens); err != nil {
		return nil, wrong(place, yamlLine(err), "it is not YAML: %s", yamlText(err)).WithHint("correct it there")
	}
	m, ok := root.(map[string]any)
	if !ok {
		return nil, wrong(place, "", "it is not a mapping with openapi, info and paths").
			WithHint("name an OpenAPI document; a page that shows one is not it")
	}
	return m, nil
}

// maxRepeated bounds how much of itself a YAML document repeats with aliases, in nodes: a few
// lines could otherwise be gigabytes.
const maxRepeated = 200_000

func readYAML(tokens token.Tokens) (root any, err error) {
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, err
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, errors.New("it is empty")
	}
	body := file.Docs[0].Body
	a := &aliasCounter{anchors: map[string]size{}}
	if a.count(body); a.nested {
		return nil, errors.New("a part that an anchor (&name) names holds an alias (*name) itself; write it out")
	}
	if a.repeated.nodes > maxRepeated || a.repeated.bytes > MaxDocument {
		return nil, errors.New("its aliases (*name) repeat too much of it; use $ref in their place")
	}
	err = yaml.NodeToValue(body, &root)
	return plainYAML(root), err
}

// size is how much of a document something is.
type size struct{ nodes, bytes int }

// aliasCounter counts what the aliases of a document repeat.
type aliasCounter struct {
	anchors  map[string]size // of what an anchor names
	inAnchor bool
	seen     size
	repeated size
	nested   bool // an anchor names something with an alias in it
}

func (a *aliasCounter) count(n ast.Node) {
	if n != nil {
		ast.Walk(a, n)
	}
}

// Visit counts one node.
func (a *aliasCounter) Visit(n ast.Node) ast.Visitor {
	a.seen.nodes++
	if t := n.GetToken(); t != nil {
		a.seen.bytes += len(t.Value)
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		before, inAnchor := a.seen, a.inAnchor
		a.inAnchor = true
		a.count(n.Value)
		a.inAnchor = inAnchor
		a.anchors[n.Name.String()] = size{a.seen.nodes - before.nodes, a.seen.bytes - before.bytes}
		return nil
	case *ast.AliasNode:
		a.nested = a.nested || a.inAnchor
		of := a.anchors[n.Value.String()]
		a.repeated = size{a.repeated.nodes + of.nodes, a.repeated.bytes + of.bytes}
		return nil
	}
	return a
}

// plainYAML makes the values of YAML those of JSON.
func plainYAML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, one := range v {
			v[k] = plainYAML(one)
		}
		return v
	case map[any]any:
		m := make(map[string]any, len(v))
		for k, one := range v {
			m[fmt.Sprint(k)] = plainYAML(one)
		}
		return m
	case []any:
		for i, one := range v {
			v[i] = plainYAML(one)
		}
		return v
	case uint64:
		return json.Number(fmt.Sprint(v))
	case int64:
		return json.Number(fmt.Sprint(v))
	case int:
		return json.Number(fmt.Sprint(v))
	}
	return v
}

// jsonLine is the line of an error of JSON.
func jsonLine(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	at := min(int(syntax.Offset), len(data))
	return fmt.Sprintf("line %d", 1+bytes.Count(data[:at], []byte("\n")))
}

var yamlPlace = regexp.MustCompile(`^\[(\d+):\d+\] ?`)

func yamlLine(err error) string {
	if m := yamlPlace.FindStringSubmatch(err.Error()); m != nil {
		return "line " + m[1]
	}
	return ""
}

func yamlText(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return tool.TruncateTo(yamlPlace.ReplaceAllString(first, ""), 200)
}

// version is the major version that a document says it has; 0 for none that is known.
func version(m map[string]any) int {
	text := func(key string) string { return strings.TrimSpace(fmt.Sprint(m[key])) }
	switch {
	case strings.HasPrefix(text("openapi"), "3."):
		return 3
	case text("swagger") == "2.0", text("swagger") == "2":
		return 2
	}
	return 0
}

func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// load reads OpenAPI 3.
func load(data []byte) (*openapi3.T, error) {
	l := openapi3.NewLoader()
	l.ReadFromURIFunc = readNothing
	return l.LoadFromData(data)
}

// readNothing is how a document reads others.
func readNothing(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
	return nil, fmt.Errorf("it refers to another document, %q", tool.Truncate(location.String()))
}

// fromSwagger converts Swagger 2.
func fromSwagger(data []byte) (*openapi3.T, error) {
	var old openapi2.T
	if err := json.Unmarshal(data, &old); err != nil {
		return nil, err
	}
	l := openapi3.NewLoader()
	l.ReadFromURIFunc, l.Context = readNothing, context.Background()
	return openapi2conv.ToV3WithLoader(&old, l, nil)
}

var pointer = regexp.MustCompile(`"?(#?/(?:components|paths|definitions|parameters|responses)/[^\s"']+)"?`)

// pointerIn is the place of the document that an error of the library names.
func pointerIn(err error) string {
	if m := pointer.FindStringSubmatch(err.Error()); m != nil {
		return tool.TruncateTo(m[1], 200)
	}
	return ""
}
