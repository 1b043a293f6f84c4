package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"golang.org/x/net/http/httpguts"

	"callgate/internal/source/openapi/inputschema"
	"callgate/tool"
)

// parameter is where an argument of a call goes.
type parameter struct {
	arg      string // the argument
	name     string // the parameter
	in       string // path, query, header or cookie
	style    string
	explode  bool
	reserved bool // characters with a meaning in URLs stay as they are
	asJSON   bool // the value is written as JSON
}

// payload is how the body of a request is made.
type payload struct {
	kind      bodyKind
	mediaType string
	arg       string   // the argument that is the body; "": the arguments of fields are
	fields    []string // names of the body's own properties, which are arguments
	required  bool
}

// bodyKind is how a body is written.
type bodyKind int

const (
	noBody bodyKind = iota
	jsonBody
	formBody
	multipartBody
	textBody
	base64Body
)

// inputBuilder makes the input schema of an operation, and says where each argument goes.
type inputBuilder struct {
	*builder
	op         *operation
	req        *request
	properties map[string]any
	required   []string
}

func (b *builder) input(op *operation, req *request) (json.RawMessage, error) {
	in := &inputBuilder{builder: b, op: op, req: req, properties: map[string]any{}}
	if err := in.parameters(); err != nil {
		return nil, err
	}
	if err := in.body(); err != nil {
		return nil, err
	}
	slices.Sort(in.required)
	schema, shortened := b.schemas.Object(in.properties, slices.Compact(in.required))
	if shortened {
		b.problem("the schema of %s is shortened, to %d KiB at most", op, inputschema.MaxBytes>>10)
	}
	if err := b.check(schema); err != nil {
		b.problem("the schema of %s is not used, so its arguments are not checked: %v", op, err)
		return json.RawMessage(`{"type":"object"}`), nil
	}
	return schema, nil
}

// check checks a schema, each once: operations on one thing often have the same.
func (b *builder) check(schema json.RawMessage) error {
	if b.cfg.Check == nil {
		return nil
	}
	err, known := b.checked[string(schema)]
	if !known {
		err = b.cfg.Check(schema)
		b.checked[string(schema)] = err
	}
	return err
}

// argumentName is a name that every provider of models takes for an argument.
var argumentName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

var oddInName = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// argument gives a parameter an argument of its own.
func (in *inputBuilder) argument(name, place string) string {
	arg := name
	if !argumentName.MatchString(arg) {
		arg = strings.Trim(oddInName.ReplaceAllString(name, "_"), "_")
		arg = arg[:min(len(arg), 50)]
	}
	if arg == "" {
		arg = place
	}
	if _, taken := in.properties[arg]; taken {
		arg += "_in_" + place
	}
	for i := 2; in.properties[arg] != nil; i++ {
		arg = fmt.Sprintf("%s_%d", strings.TrimRight(arg, "0123456789"), i)
	}
	return arg
}

// parameters adds the parameters of the path and of the operation, whose own go first.
func (in *inputBuilder) parameters() error {
	all := map[string]*openapi3.Parameter{}
	var order []string
	for _, list := range []openapi3.Parameters{in.op.item.Parameters, in.op.Parameters} {
		for _, ref := range list {
			if ref == nil || ref.Value == nil {
				return errors.New("one of its parameters is empty")
			}
			key := ref.Value.In + " " + ref.Value.Name
			if all[key] == nil {
				order = append(order, key)
			}
			all[key] = ref.Value
		}
	}
	for _, place := range []string{"path", "query", "header", "cookie"} {
		for _, key := range order {
			if p := all[key]; p.In == place {
				if err := in.parameter(p); err != nil {
					return err
				}
			}
		}
	}
	return in.checkPath()
}

// checkPath sees that each part of the path in braces is a parameter.
func (in *inputBuilder) checkPath() error {
	for _, m := range braces.FindAllStringSubmatch(in.op.path, -1) {
		if !slices.ContainsFunc(in.req.params, func(p parameter) bool { return p.in == "path" && p.name == m[1] }) {
			return fmt.Errorf("its path holds {%s}, which is none of its parameters", tool.Truncate(m[1]))
		}
	}
	return nil
}

var braces = regexp.MustCompile(`\{([^{}]*)\}`)

// reservedHeaders are headers that a document has no say in. Those with which a server takes a request for one of
// another method are among them: the risk of an operation is that of its method.
var reservedHeaders = []string{
	"Accept", "Content-Type", "Authorization", "Host", "Content-Length", "Transfer-Encoding", "Connection", "Cookie",
	"Proxy-Authorization", "Te", "Trailer", "Upgrade", "Expect", "Accept-Encoding",
	"X-Http-Method-Override", "X-Http-Method", "X-Method-Override",
}

func (in *inputBuilder) parameter(p *openapi3.Parameter) error {
	header := textproto.CanonicalMIMEHeaderKey(p.Name)
	switch {
	case p.In == "header" && slices.Contains(reservedHeaders, header), in.req.auth.sends(p.In, p.Name):
		return nil // it is set by itself
	case p.In == "header" && !httpguts.ValidHeaderFieldName(p.Name):
		return fmt.Errorf("%q cannot be the name of a header", tool.Truncate(p.Name))
	case p.Name == "":
		return fmt.Errorf("one of its parameters in %s has no name", tool.Truncate(p.In))
	}
	to := parameter{name: p.Name, in: p.In, reserved: p.AllowReserved, style: p.Style}
	schema, err := in.parameterSchema(p, &to)
	if err != nil {
		return err
	}
	if err := to.defaults(p); err != nil {
		return err
	}
	to.arg = in.argument(p.Name, p.In)
	in.properties[to.arg] = withDescription(schema, p)
	if p.Required || p.In == "path" {
		in.required = append(in.required, to.arg)
	}
	in.req.params = append(in.req.params, to)
	return nil
}

// parameterSchema is the schema of a parameter, which may stand below a media type.
func (in *inputBuilder) parameterSchema(p *openapi3.Parameter, to *parameter) (any, error) {
	ref := p.Schema
	if ref == nil {
		for name, media := range p.Content {
			to.asJSON = isJSON(name)
			if media != nil {
				ref = media.Schema
			}
		}
	}
	return in.plainSchema(ref)
}

// plainSchema is a schema as the document has it. It is made once: many operations may refer to a
// parameter or a body that holds it.
func (b *builder) plainSchema(ref *openapi3.SchemaRef) (any, error) {
	if ref == nil {
		return map[string]any{}, nil
	}
	if known, ok := b.plain[ref]; ok {
		return known, nil
	}
	data, err := json.Marshal(ref)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	b.plain[ref] = b.schemas.Shared(v)
	return b.plain[ref], nil
}

// withDescription puts the parameter's own description over that of its schema.
func withDescription(schema any, p *openapi3.Parameter) any {
	m, ok := schema.(map[string]any)
	text := strings.TrimSpace(p.Description)
	if p.Deprecated {
		text = strings.TrimSpace("Deprecated. " + text)
	}
	if !ok || text == "" && p.Example == nil {
		return schema
	}
	out := maps.Clone(m)
	if text != "" {
		out["description"] = text
	}
	if p.Example != nil && out["$ref"] == nil {
		out["example"] = p.Example
	}
	return out
}

// defaults fills in the style that a parameter has where it names none.
func (p *parameter) defaults(of *openapi3.Parameter) error {
	usual := map[string]string{"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
	styles := map[string]string{
		"path": "simple label matrix", "header": "simple", "query": "form spaceDelimited pipeDelimited deepObject",
		"cookie": "form",
	}
	if p.style == "" {
		p.style = usual[p.in]
	}
	if !slices.Contains(strings.Fields(styles[p.in]), p.style) {
		return fmt.Errorf("its parameter %s has the style %q, which one in %s cannot have",
			tool.Truncate(p.name), tool.Truncate(p.style), tool.Truncate(p.in))
	}
	p.explode = p.style == "form"
	if of.Explode != nil {
		p.explode = *of.Explode
	}
	return nil
}

func isJSON(mediaType string) bool {
	kind, _, err := mime.ParseMediaType(mediaType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "*/*")
}

// body adds the request's body.
func (in *inputBuilder) body() error {
	if in.op.RequestBody == nil || in.op.RequestBody.Value == nil || len(in.op.RequestBody.Value.Content) == 0 {
		return nil
	}
	body := in.op.RequestBody.Value
	name, kind := chooseMedia(body.Content)
	if kind == noBody {
		return fmt.Errorf("its body can only be %s, which cannot be sent",
			tool.Truncate(strings.Join(slices.Sorted(maps.Keys(body.Content)), ", ")))
	}
	in.req.body = payload{kind: kind, mediaType: name, required: body.Required}
	if name == "*/*" {
		in.req.body.mediaType = "application/json"
	}
	var ref *openapi3.SchemaRef
	if media := body.Content[name]; media != nil {
		ref = media.Schema
	}
	schema, err := in.plainSchema(ref)
	if err != nil {
		return err
	}
	if kind == textBody || kind == base64Body {
		schema = map[string]any{"type": "string", "description": textOf(kind, name)}
	}
	if in.spread(schema, kind, body.Required) {
		return nil
	}
	if kind == formBody || kind == multipartBody {
		if m := in.schemas.Resolved(schema); m["type"] == nil {
			schema = map[string]any{"type": "object"}
		}
	}
	arg := in.argument("body", "body")
	if m, ok := schema.(map[string]any); ok && body.Description != "" && m["description"] == nil {
		schema = maps.Clone(m)
		schema.(map[string]any)["description"] = body.Description
	}
	in.req.body.arg, in.properties[arg] = arg, schema
	if body.Required {
		in.required = append(in.required, arg)
	}
	return nil
}

func textOf(kind bodyKind, mediaType string) string {
	if kind == base64Body {
		return "The body, " + tool.Truncate(mediaType) + ", written in base64."
	}
	return "The body, as " + tool.Truncate(mediaType) + "."
}

// chooseMedia chooses how a body is sent: as JSON if that may be, then as a form, then as text.
func chooseMedia(content openapi3.Content) (name string, kind bodyKind) {
	best := 0
	for _, media := range slices.Sorted(maps.Keys(content)) {
		plain, _, err := mime.ParseMediaType(media)
		if err != nil {
			continue
		}
		score, as := 1, base64Body
		switch {
		case isJSON(media):
			score, as = 6, jsonBody
		case plain == "application/x-www-form-urlencoded":
			score, as = 5, formBody
		case plain == "multipart/form-data":
			score, as = 4, multipartBody
		case strings.HasPrefix(plain, "multipart/"), strings.Contains(plain, "*"):
			continue
		case strings.HasPrefix(plain, "text/"), strings.HasSuffix(plain, "xml"), strings.HasSuffix(plain, "yaml"):
			score, as = 3, textBody
		}
		if score > best {
			best, name, kind = score, media, as
		}
	}
	return name, kind
}

// spread makes the properties of a body arguments of their own, where that is the same: a
// required object with properties that are named as no parameter is.
func (in *inputBuilder) spread(schema any, kind bodyKind, required bool) bool {
	m := in.schemas.Resolved(schema)
	properties, ok := m["properties"].(map[string]any)
	if !ok || !required || len(properties) == 0 || m["type"] != "object" || m["nullable"] == true ||
		m["additionalProperties"] != nil && m["additionalProperties"] != false {
		return false
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "not", "if", "patternProperties", "minProperties"} {
		if m[key] != nil {
			return false
		}
	}
	sent := map[string]any{}
	for name, property := range properties {
		p, _ := property.(map[string]any)
		if p["readOnly"] == true {
			continue
		}
		if _, taken := in.properties[name]; taken || !argumentName.MatchString(name) {
			return false
		}
		sent[name] = in.schemas.Shared(property)
	}
	if len(sent) == 0 {
		return false
	}
	maps.Copy(in.properties, sent)
	in.req.body.fields = slices.Sorted(maps.Keys(sent))
	list, _ := m["required"].([]any)
	for _, name := range list {
		if text, ok := name.(string); ok && sent[text] != nil {
			in.required = append(in.required, text)
		}
	}
	return true
}
