// Package openapi makes tools of the operations that an OpenAPI document
// describes: OpenAPI 3.0 and 3.1, and Swagger 2, which is converted.
//
// # Law
//
// A document is data from outside. It says what may be asked of an API, and
// decides nothing else: which hosts are reached is decided by the network guard
// (package netguard) for every request and every redirect, and which secret goes
// where is decided by the app file. A credential goes to one host: that of the
// server which the app file names, or else that of the document's own first
// server, if the document itself came from that host. An operation whose server
// is elsewhere is called without it. Over plain http a credential goes
// only to hosts that the app file lists as private.
//
// A document refers to nothing but itself: no file and no address is read
// because a document names it.
//
// What cannot be used of a document is left out and named in [API.Problems]; the
// rest of it works. A document that cannot be read at all is an error, which
// says where in the document.
package openapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"callgate/internal/gate/binding"
	"callgate/internal/netguard"
	"callgate/internal/source/openapi/inputschema"
	"callgate/tool"
)

// Setting is where an app file describes an API, for hints: Setting + its name.
const Setting = "tools.modules.openapi.config.apis."

// Config is an API as an app file describes it.
type Config struct {
	Name         string            // the module of its tools
	Document     string            // where the document is: a path or a URL
	Server       string            // the address of the API; "": as the document says
	Credential   string            // the secret for a security scheme that Credentials does not name
	Credentials  map[string]string // secrets by security scheme
	Include      []string          // only these operations: tool names, operationIds or tags; none: all
	Exclude      []string          // not these
	PrivateHosts []string          // hosts that may be reached though they are not public
	Timeout      time.Duration     // of a call; 0: 30 seconds
	Check        func(schema json.RawMessage) error
}

// Limits of a document and of what is made of it.
const (
	MaxDocument    = 32 << 20 // bytes
	maxOperations  = 5000
	maxDescription = 4000
	maxWork        = 64 << 20 // bytes of schemas that are gone through
	maxAnswer      = 10 << 20 // bytes that are read of an answer, unpacked
	defaultTimeout = 30 * time.Second
)

// API is a document that was read. It does not change.
type API struct {
	Title    string
	Servers  []string // the addresses that its operations are sent to
	Tools    []*tool.Tool
	Problems []string // what was left out of it, and why

	caller *caller
}

// Close closes idle connections.
func (a *API) Close() { a.caller.client.CloseIdleConnections() }

// New makes an API of a document's text.
func New(cfg Config, data []byte) (*API, error) {
	doc, err := readDocument(cfg.Document, data)
	if err != nil {
		return nil, err
	}
	guard, err := netguard.New(netguard.Rules{
		Private: cfg.PrivateHosts, Setting: Setting + cfg.Name,
	})
	if err != nil {
		return nil, err
	}
	private, err := netguard.ParseHosts(cfg.PrivateHosts)
	if err != nil {
		return nil, err
	}
	b := &builder{
		cfg: cfg, doc: doc, schemas: inputschema.New(doc.raw), checked: map[string]error{},
		plain: map[*openapi3.SchemaRef]any{},
	}
	b.caller = &caller{
		cfg: cfg, guard: guard, private: private, client: guard.Client(maxRedirects),
		timeout: cfg.Timeout,
	}
	if b.caller.timeout == 0 {
		b.caller.timeout = defaultTimeout
	}
	return b.build()
}

// builder makes the tools of one document.
type builder struct {
	cfg     Config
	doc     *document
	schemas *inputschema.Schemas
	caller  *caller
	main    *url.URL         // the server that the credential may be sent to; nil: none
	checked map[string]error // by schema
	plain   map[*openapi3.SchemaRef]any
	api     API
}

func (b *builder) problem(format string, args ...any) {
	const most = 50
	switch n := len(b.api.Problems); {
	case n < most:
		b.api.Problems = append(b.api.Problems, fmt.Sprintf("%s: ", b.cfg.Document)+fmt.Sprintf(format, args...))
	case n == most:
		b.api.Problems = append(b.api.Problems, b.cfg.Document+": and more")
	}
}

func (b *builder) build() (*API, error) {
	b.api.caller = b.caller
	if b.doc.Info != nil {
		b.api.Title = tool.Truncate(b.doc.Info.Title)
	}
	all := b.operations()
	if len(all) > maxOperations {
		return nil, b.doc.wrong("/paths", "it describes %d operations, of at most %d", len(all), maxOperations).
			WithHint("name those that are needed: %s%s.include", Setting, b.cfg.Name)
	}
	var err error
	if b.main, err = b.mainServer(); err != nil {
		return nil, b.doc.wrong("/servers", "%v", err).
			WithHint("write its address in the app file: %s%s.server", Setting, b.cfg.Name)
	}
	names := operationNames(all)
	used := map[string]bool{}
	for i, op := range all {
		op.name = names[i]
		if !b.chosen(op, used) {
			continue
		}
		t, err := b.tool(op)
		if b.schemas.Work() > maxWork {
			return nil, b.doc.wrong("/paths", "the schemas of its operations are too large: %s is where it ends", op).
				WithHint("name the operations that are needed: %s%s.include", Setting, b.cfg.Name)
		}
		if err != nil {
			b.problem("%s is left out: %v", op, err)
			continue
		}
		b.api.Tools = append(b.api.Tools, t)
	}
	b.unusedChoices(used)
	slices.Sort(b.api.Servers)
	return &b.api, nil
}

// operation is an operation of the document.
type operation struct {
	*openapi3.Operation
	method, path string
	item         *openapi3.PathItem
	name         string // of the tool
}

// String names an operation for people.
func (o *operation) String() string { return o.method + " " + tool.Truncate(o.path) }

// operations lists the operations in the order of their paths and methods.
func (b *builder) operations() (all []*operation) {
	if b.doc.Paths == nil {
		return nil
	}
	for _, path := range slices.Sorted(slices.Values(b.doc.Paths.Keys())) {
		item := b.doc.Paths.Value(path)
		if item == nil {
			continue
		}
		of := item.Operations()
		for _, method := range methods {
			if op := of[method]; op != nil {
				all = append(all, &operation{Operation: op, method: method, path: path, item: item})
			}
		}
	}
	return all
}

// methods are those that an operation may have. TRACE and CONNECT are none of an API's.
var methods = []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"}

// chosen reports whether the app file wants an operation, and notes which words of it
// were of use.
func (b *builder) chosen(op *operation, used map[string]bool) bool {
	any := func(words []string) bool {
		found := false
		for _, w := range words {
			if w == op.name || w == op.OperationID || slices.Contains(op.Tags, w) {
				used[w], found = true, true
			}
		}
		return found
	}
	included := len(b.cfg.Include) == 0 || any(b.cfg.Include)
	return !any(b.cfg.Exclude) && included
}

// unusedChoices reports words of include and exclude that name nothing.
func (b *builder) unusedChoices(used map[string]bool) {
	for _, w := range slices.Concat(b.cfg.Include, b.cfg.Exclude) {
		if !used[w] {
			b.problem("%s is named under include or exclude, and is neither a tag nor an operation of it", tool.Truncate(w))
		}
	}
}

// tool makes the tool of an operation.
func (b *builder) tool(op *operation) (*tool.Tool, error) {
	base, err := b.server(op)
	if err != nil {
		return nil, err
	}
	req := &request{caller: b.caller, method: op.method, path: op.path, base: base}
	req.op = b.cfg.Name + "." + op.name
	req.auth = b.security(op, base)
	input, err := b.input(op, req)
	if err != nil {
		return nil, err
	}
	t := &tool.Tool{
		ID: tool.ID{Namespace: b.cfg.Name, Name: op.name, Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Name: b.cfg.Name + "." + op.name, Description: description(op), Input: input, Tags: tags(op),
		},
		Runtime: runtimeOf(op.method, base),
		Handler: req,
	}
	t.Runtime.Secrets = req.auth.secrets()
	declared := binding.DestinationEffects(input, t.Runtime.Effects[0].Mode)
	if t.Runtime.Effects = append(t.Runtime.Effects, declared...); len(declared) > 0 && t.Runtime.Risk == tool.Low {
		t.Runtime.Risk = tool.Medium // it may send to any address
	}
	if t.Runtime.Timeout < b.caller.timeout {
		t.Runtime.Timeout = b.caller.timeout + time.Minute // the call's own limit ends it first
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	b.addServer(base)
	return t, nil
}

// addServer notes an address that operations are sent to, and says if it cannot be reached.
func (b *builder) addServer(base *url.URL) {
	text := base.String()
	if slices.Contains(b.api.Servers, text) {
		return
	}
	b.api.Servers = append(b.api.Servers, text)
	if err := b.caller.guard.Check(base); err != nil {
		b.problem("its server %s cannot be called: %v", text, err)
	}
}

// runtimeOf is what the kernel knows of an operation: what its method says of it.
func runtimeOf(method string, base *url.URL) tool.Runtime {
	r := tool.Runtime{Network: true, Risk: tool.Medium, SideEffect: tool.External}
	mode := tool.IX
	switch method {
	case "GET", "HEAD", "OPTIONS":
		r.Risk, r.SideEffect, r.Idempotent = tool.Low, tool.Read, true
		mode = tool.IS
	case "DELETE":
		r.Risk = tool.High
	}
	r.Effects = []tool.Effect{{Resource: "host:" + base.Hostname(), Mode: mode}}
	return r
}

// description is what a model reads of an operation.
func description(op *operation) string {
	summary, text := strings.TrimSpace(op.Summary), strings.TrimSpace(op.Description)
	if strings.HasPrefix(text, summary) {
		summary = ""
	}
	var parts []string
	if op.Deprecated {
		parts = append(parts, "Deprecated: the API's makers advise against it.")
	}
	for _, part := range []string{summary, text} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	out := tool.TruncateTo(strings.Join(parts, "\n\n"), maxDescription)
	return strings.TrimSpace(out + "\n\nSends " + op.method + " " + tool.TruncateTo(op.path, 200) + ".")
}

// tags are the operation's own.
func tags(op *operation) (all []string) {
	for _, t := range op.Tags {
		if len(all) < 8 && strings.TrimSpace(t) != "" {
			all = append(all, tool.Truncate(t))
		}
	}
	if op.Deprecated {
		all = append(all, "deprecated")
	}
	return all
}
