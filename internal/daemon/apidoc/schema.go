package apidoc

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Error is a tool.Error as it is written.
type Error struct {
	Op      string            `json:"op,omitempty"`
	Kind    tool.Kind         `json:"kind"`
	Message string            `json:"message"`
	Hint    string            `json:"hint,omitempty"`
	Fields  []tool.FieldError `json:"fields,omitempty"`
	Similar []string          `json:"similar,omitempty"`
	Schema  json.RawMessage   `json:"schema,omitempty"`
	Example json.RawMessage   `json:"example,omitempty"`
}

// Problem is an error as a request is answered with: the problem details of RFC 9457, and ours.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Error
}

// Empty is an answer that says nothing but that it was done.
type Empty struct{}

// fixed are the schemas of types that write themselves.
func fixed() map[reflect.Type]*jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Description: "Any JSON value."},
		reflect.TypeFor[any]():             {Description: "Any JSON value."},
		reflect.TypeFor[[]byte]():          {Types: []string{"null", "string"}, ContentEncoding: "base64"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[time.Duration]():   {Type: "integer", Format: "int64", Description: "Nanoseconds."},
		reflect.TypeFor[int64]():           {Type: "integer", Format: "int64"},
		reflect.TypeFor[tool.ID]():         text,
		reflect.TypeFor[tool.Mode]():       enum("IS", "IX", "S", "U", "X"),
	}
}

// enums are the types whose values are all known.
func enums() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[tool.Kind](): enum(tool.Invalid, tool.NotFound, tool.Ambiguous, tool.Denied, tool.Limited, tool.Busy,
			tool.Timeout, tool.Cancelled, tool.Conflict, tool.Failed, tool.Unavailable, tool.InDoubt, tool.Internal),
		reflect.TypeFor[protocol.ApprovalState](): enum(protocol.ApprovalPending, protocol.ApprovalApproved,
			protocol.ApprovalDenied, protocol.ApprovalExpired, protocol.ApprovalUsed),
		reflect.TypeFor[protocol.QuestionState](): enum(protocol.QuestionPending, protocol.QuestionAnswered,
			protocol.QuestionDenied, protocol.QuestionExpired, protocol.QuestionWithdrawn),
		reflect.TypeFor[protocol.ProposalState](): enum(protocol.ProposalPending, protocol.ProposalAccepted,
			protocol.ProposalRefused),
		reflect.TypeFor[protocol.TaskState](): enum(protocol.TaskStates()...),
		reflect.TypeFor[protocol.RecordKind](): enum(protocol.RecordKindOpened, protocol.RecordKindAsked,
			protocol.RecordKindAnswered, protocol.RecordKindBegun, protocol.RecordKindEnded, protocol.RecordKindDoubted,
			protocol.RecordKindJudged, protocol.RecordKindTold, protocol.RecordKindResolved, protocol.RecordKindNoted,
			protocol.RecordKindPruned),
		reflect.TypeFor[protocol.PermissionMode](): enum(protocol.ModeAsk, protocol.ModeAcceptEdits, protocol.ModePlan),
	}
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// schemas are the components, and what refers to them.
type schemas struct {
	components map[string]*jsonschema.Schema
	names      map[reflect.Type]string
	known      map[reflect.Type]*jsonschema.Schema // what stands for a type inside of another
	fixed      map[reflect.Type]*jsonschema.Schema
}

// newSchemas makes the components of all bodies.
func newSchemas(endpoints []Endpoint) (*schemas, error) {
	s := &schemas{components: map[string]*jsonschema.Schema{}, names: map[reflect.Type]string{}, fixed: fixed()}
	s.collect(reflect.TypeFor[Problem]())
	for _, e := range endpoints {
		for _, body := range []any{e.Request, e.Response} {
			if body != nil {
				s.collect(reflect.TypeOf(body))
			}
		}
	}
	s.choose()
	all := enums()
	s.known = maps.Clone(s.fixed)
	for t, name := range s.names {
		s.known[t] = &jsonschema.Schema{Ref: "#/components/schemas/" + name}
	}
	for t, name := range s.names {
		if written(t) != t {
			continue
		}
		if all[t] != nil {
			s.components[name] = all[t]
			continue
		}
		known := maps.Clone(s.known)
		delete(known, t)
		for _, inside := range embedded(t) {
			delete(known, inside)
		}
		made, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
		if err != nil {
			return nil, fmt.Errorf("apidoc: %w", err)
		}
		s.components[name] = tidy(made)
	}
	return s, nil
}

// written is the type in whose form another is written.
func written(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[tool.Error]():
		return reflect.TypeFor[Error]()
	case reflect.TypeFor[struct{}]():
		return reflect.TypeFor[Empty]()
	}
	return t
}

// collect finds the types that are components.
func (s *schemas) collect(t reflect.Type) {
	if _, ok := s.names[t]; ok || s.fixed[t] != nil {
		return
	}
	if w := written(t); w != t {
		s.names[t] = ""
		s.collect(w)
		return
	}
	if enums()[t] != nil {
		s.names[t] = ""
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		s.collect(t.Elem())
	case reflect.Struct:
		s.names[t] = ""
		for _, f := range reflect.VisibleFields(t) {
			if f.Tag.Get("json") == "-" || !f.IsExported() {
				continue
			}
			if f.Anonymous {
				continue // its fields are visible themselves
			}
			s.collect(f.Type)
		}
	}
}

// choose gives each type a name: its own, and where the protocol has that already, one with its package.
func (s *schemas) choose() {
	taken := map[string]bool{}
	rank := func(t reflect.Type) string {
		if strings.HasSuffix(t.PkgPath(), "/protocol") {
			return "0" + t.Name()
		}
		return "1" + t.PkgPath() + t.Name()
	}
	byRank := func(a, b reflect.Type) int { return strings.Compare(rank(a), rank(b)) }
	types := slices.SortedFunc(maps.Keys(s.names), byRank)
	for _, t := range types {
		if written(t) != t {
			continue
		}
		name := t.Name()
		if taken[name] {
			pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
			name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
		}
		taken[name] = true
		s.names[t] = name
	}
	for _, t := range types {
		if w := written(t); w != t {
			s.names[t] = s.names[w]
		}
	}
}

// embedded lists the types that are embedded in a struct: their fields are its own.
func embedded(t reflect.Type) []reflect.Type {
	var all []reflect.Type
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			all = append(append(all, f.Type), embedded(f.Type)...)
		}
	}
	return all
}

// of is the schema of a body.
func (s *schemas) of(t reflect.Type) any {
	switch {
	case s.known[t] != nil:
		return s.known[t]
	case t.Kind() == reflect.Pointer:
		return map[string]any{"anyOf": []any{s.of(t.Elem()), map[string]string{"type": "null"}}}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case t.Kind() == reflect.Bool:
		return map[string]string{"type": "boolean"}
	}
	return map[string]string{"type": "string"}
}

// tidy makes of a schema what clients are told: what may be left out is never null, and answers may get new
// members.
func tidy(s *jsonschema.Schema) *jsonschema.Schema {
	s.AdditionalProperties = nil
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
	for name, p := range s.Properties {
		s.Properties[name] = tidyMember(p, slices.Contains(s.Required, name))
	}
	return s
}

func tidyMember(p *jsonschema.Schema, required bool) *jsonschema.Schema {
	nullable := required && (slices.Contains(p.Types, "null") || p.Type == "object" && p.AdditionalProperties != nil)
	if p.Items != nil {
		p.Items = tidyMember(p.Items, false)
	}
	if p.AdditionalProperties != nil {
		p.AdditionalProperties = tidyMember(p.AdditionalProperties, false)
	}
	switch {
	case p.Ref != "" && nullable:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Ref: p.Ref}, {Type: "null"}}}
	case p.Ref != "":
		return &jsonschema.Schema{Ref: p.Ref}
	case p.Type == "" && len(p.Types) == 0:
		return p // anything
	}
	kinds := append(slices.Clone(p.Types), p.Type)
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "" || k == "null" })
	p.Type, p.Types = kinds[0], nil
	if nullable {
		p.Types, p.Type = []string{kinds[0], "null"}, ""
	}
	return p
}
