// Package apidoc writes the OpenAPI document of what is served over the network.
//
// # Law
//
// The document is made from the code: routes, bodies and roles are those that are served, and a schema is what
// the Go type of a body says. A route without an endpoint here, or an endpoint without a route, fails a test of
// internal/daemon/web. One named type is one component, so that generators give it one name.
package apidoc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"callgate/internal/protocol"
	"callgate/internal/token"
)

// Endpoint is what a client must know of a route, beside its role.
type Endpoint struct {
	Route    string // METHOD PATH, as http.ServeMux has it
	Name     string // of the operation, from which generators make that of a function
	Summary  string
	Request  any // a value of the body's type; nil: there is none
	Response any // likewise; nil: null
	More     More
}

// More is what few endpoints have.
type More struct {
	Query    []Parameter
	Headers  []Parameter
	Stream   bool   // the answer has a line for each value, and comes as things happen
	Events   bool   // of a stream: also as server-sent events
	Content  string // the media type of an answer that is not JSON
	Optional bool   // the body may be left out
	Open     bool   // nobody needs a token
}

// Parameter is a parameter of the query, or a header.
type Parameter struct {
	Name, About string
	Type        string // of JSON; "": string
	Repeated    bool   // it may be there several times
}

// group is the endpoints under one tag.
type group struct {
	tag, about string
	endpoints  []Endpoint
}

// Endpoints lists them all.
func Endpoints() []Endpoint {
	var all []Endpoint
	for _, g := range groups() {
		all = append(all, g.endpoints...)
	}
	return all
}

func groups() []group {
	return []group{
		aboutKernel(), aboutTools(), aboutSessions(), aboutServers(), aboutApprovals(), aboutGrants(), aboutQuestions(),
		aboutProposals(), aboutConversations(), aboutTasks(), aboutOutside(), aboutJournal(), aboutUndo(), aboutModels(),
		aboutAdministration(),
	}
}

type document struct {
	OpenAPI    string                          `json:"openapi"`
	Info       map[string]any                  `json:"info"`
	Servers    []map[string]string             `json:"servers"`
	Security   []map[string][]string           `json:"security"`
	Tags       []map[string]string             `json:"tags"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components map[string]any                  `json:"components"`
}

type operation struct {
	ID          string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description,omitempty"`
	Tags        []string              `json:"tags"`
	Role        string                `json:"x-callgate-role,omitempty"`
	Security    []map[string][]string `json:"security,omitzero"`
	Parameters  []parameter           `json:"parameters,omitempty"`
	Body        any                   `json:"requestBody,omitempty"`
	Responses   map[string]any        `json:"responses"`
}

type parameter struct {
	Name     string         `json:"name"`
	In       string         `json:"in"`
	About    string         `json:"description,omitempty"`
	Required bool           `json:"required,omitempty"`
	Schema   map[string]any `json:"schema"`
}

// about is the description of the whole.
const about = `Callgate's kernel over HTTP. Everybody brings a token as a bearer; what it may do is said by its role,
which each operation names. A call that a human must approve waits; with no_wait it answers "waiting" at once, and
the call's result is collected later. Errors are problem details (RFC 9457).`

// Document writes the document. Roles are those of the routes.
func Document(roles map[string]token.Role) ([]byte, error) {
	s, err := newSchemas(Endpoints())
	if err != nil {
		return nil, err
	}
	d := document{
		OpenAPI: "3.1.0",
		Info: map[string]any{
			"title": "Callgate", "version": fmt.Sprintf("1.%d", protocol.Version), "description": about,
		},
		Servers:  []map[string]string{{"url": "http://127.0.0.1:7420", "description": "where callgate up listens"}},
		Security: []map[string][]string{{"token": {}}},
		Paths:    map[string]map[string]operation{},
		Components: map[string]any{
			"schemas": s.components,
			"securitySchemes": map[string]any{"token": map[string]any{
				"type": "http", "scheme": "bearer", "description": "a human makes it: callgate token create --role operator",
			}},
			"responses": map[string]any{"Problem": map[string]any{
				"description": "It was refused, or failed; kind says how, and hint what to do.",
				"content":     content("application/problem+json", s.of(reflect.TypeFor[Problem]())),
			}},
		},
	}
	for _, g := range groups() {
		d.Tags = append(d.Tags, map[string]string{"name": g.tag, "description": g.about})
		for _, e := range g.endpoints {
			method, path, _ := strings.Cut(e.Route, " ")
			if d.Paths[path] == nil {
				d.Paths[path] = map[string]operation{}
			}
			d.Paths[path][strings.ToLower(method)] = s.operation(e, g.tag, roles[e.Route])
		}
	}
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("apidoc: the document cannot be written as JSON: %w", err)
	}
	return append(data, '\n'), nil
}

func (s *schemas) operation(e Endpoint, tag string, role token.Role) operation {
	op := operation{ID: e.Name, Summary: e.Summary, Tags: []string{tag}, Role: string(role)}
	if role != "" {
		op.Description = "Role: " + string(role) + "."
	}
	if e.More.Open {
		op.Security = []map[string][]string{}
	}
	for part := range strings.SplitSeq(e.Route, "/") {
		if name, isName := strings.CutPrefix(part, "{"); isName {
			name = strings.TrimSuffix(name, "}")
			op.Parameters = append(op.Parameters, parameter{name, "path", "", true, map[string]any{"type": "string"}})
		}
	}
	for _, p := range e.More.Query {
		op.Parameters = append(op.Parameters, p.in("query"))
	}
	for _, p := range e.More.Headers {
		op.Parameters = append(op.Parameters, p.in("header"))
	}
	if e.Request != nil {
		op.Body = map[string]any{
			"required": !e.More.Optional, "content": content("application/json", s.of(reflect.TypeOf(e.Request))),
		}
	}
	op.Responses = map[string]any{
		"200": s.response(e), "default": map[string]string{"$ref": "#/components/responses/Problem"},
	}
	return op
}

func (p Parameter) in(where string) parameter {
	kind := p.Type
	if kind == "" {
		kind = "string"
	}
	schema := map[string]any{"type": kind}
	if p.Repeated {
		schema = map[string]any{"type": "array", "items": schema}
	}
	return parameter{p.Name, where, p.About, false, schema}
}

// response is the answer when all went well.
func (s *schemas) response(e Endpoint) map[string]any {
	said := "The answer."
	media, schema := "application/json", any(map[string]string{"type": "null"})
	if e.Response != nil {
		schema = s.of(reflect.TypeOf(e.Response))
	}
	switch {
	case e.More.Content != "":
		media = e.More.Content
		if e.Response == nil {
			schema = map[string]string{"type": "string"}
		}
	case e.More.Stream:
		media, said = "application/x-ndjson", "A stream of JSON texts, one on each line."
	}
	all := content(media, schema)
	if e.More.Events {
		all["text/event-stream"] = map[string]any{"schema": schema}
		said += " With Accept: text/event-stream, server-sent events with such a text as data."
	}
	return map[string]any{"description": said, "content": all}
}

func content(media string, schema any) map[string]any {
	return map[string]any{media: map[string]any{"schema": schema}}
}
