package web_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/daemon/apidoc"
	"callgate/internal/daemon/web"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// What is served over the network has an endpoint in the document, and the other way round.
func TestEveryRouteHasAnEndpoint(t *testing.T) {
	served := append(web.Routes(), web.DirectRoutes()...)
	served = append(served, protocol.RouteDocument, apidoc.RouteHealth, apidoc.RouteReady)
	var written, names []string
	for _, e := range apidoc.Endpoints() {
		if slices.Contains(written, e.Route) || slices.Contains(names, e.Name) {
			t.Errorf("%s %s is there twice", e.Route, e.Name)
		}
		written, names = append(written, e.Route), append(names, e.Name)
		if !slices.Contains(served, e.Route) {
			t.Errorf("%s has an endpoint, and is not served", e.Route)
		}
	}
	for _, r := range served {
		if !slices.Contains(written, r) {
			t.Errorf("%s is served, and has no endpoint", r)
		}
	}
}

// The document in docs is the one that is served.
func TestDocumentFile(t *testing.T) {
	const path = "../../../docs/openapi.json"
	made, err := web.Document()
	kerneltest.OK(t, err)
	if *update {
		kerneltest.OK(t, os.WriteFile(path, made, 0o644))
	}
	kept, err := os.ReadFile(path)
	kerneltest.OK(t, err)
	for range 10 { // the same each time
		again, err := web.Document()
		kerneltest.OK(t, err)
		if !bytes.Equal(again, made) {
			t.Fatal("the document is another one each time")
		}
	}
	if !bytes.Equal(kept, made) {
		t.Error("docs/openapi.json is old: go test ./internal/daemon/web -run TestDocumentFile -update")
	}
}

func load(t *testing.T, data []byte) *openapi3.T {
	d, err := openapi3.NewLoader().LoadFromData(data)
	kerneltest.OK(t, err)
	kerneltest.OK(t, d.Validate(t.Context()))
	return d
}

// The document is a valid one, and each operation names its role.
func TestDocument(t *testing.T) {
	f := serve(t)
	status, body := f.ask(f.token(token.Viewer), "GET", "/v1/openapi.json", "")
	if status != http.StatusOK {
		t.Fatalf("the document: %d %s", status, body)
	}
	d := load(t, []byte(body))
	if !d.IsOpenAPI31OrLater() {
		t.Errorf("the document is of version %s", d.OpenAPI)
	}
	for path, item := range d.Paths.Map() {
		for method, op := range item.Operations() {
			if role, _ := op.Extensions["x-callgate-role"].(string); strings.HasPrefix(path, "/v1/") &&
				(role == "" || !strings.Contains(op.Description, role)) {
				t.Errorf("%s %s has the role %q and the description %q", method, path, role, op.Description)
			}
		}
	}
	if status, body := f.ask("", "GET", "/v1/openapi.json", ""); status != http.StatusUnauthorized {
		t.Errorf("a stranger: %d %s", status, body)
	}
	if status, body := f.ask("", "GET", "/readyz", ""); status != http.StatusOK || body != "ready\n" {
		t.Errorf("/readyz: %d %s", status, body)
	}
}

// bodies checks what is sent and answered against the schemas of the document.
type bodies struct {
	*face
	router routers.Router
	schema *jsonschema.Compiler
	token  string
}

func newBodies(t *testing.T) *bodies {
	data, err := web.Document()
	kerneltest.OK(t, err)
	d := load(t, data)
	d.Servers = nil
	b := &bodies{face: serve(t), schema: jsonschema.NewCompiler()}
	b.router, err = legacy.NewRouter(d)
	kerneltest.OK(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	kerneltest.OK(t, err)
	b.schema.DefaultDraft(jsonschema.Draft2020)
	kerneltest.OK(t, b.schema.AddResource("https://callgate.test/document", parsed))
	b.token = b.face.token(token.Admin)
	return b
}

// fits checks a body against the schema that is at a place of the document.
func (b *bodies) fits(body string, place ...string) {
	b.Helper()
	for i, p := range place {
		place[i] = url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	s, err := b.schema.Compile("https://callgate.test/document#/" + strings.Join(place, "/"))
	kerneltest.OK(b, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	kerneltest.OK(b, err)
	if err := s.Validate(value); err != nil {
		b.Errorf("%v\n%s", err, tool.Truncate(body))
	}
}

// check sends a request, and checks its body and the answer's.
func (b *bodies) check(method, path, body string) string {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, path, strings.NewReader(body))
	kerneltest.OK(b, err)
	route, _, err := b.router.FindRoute(r)
	kerneltest.OK(b, err)
	method = strings.ToLower(method)
	if body != "" {
		b.fits(body, "paths", route.Path, method, "requestBody", "content", "application/json", "schema")
	}
	status, answer := b.ask(b.token, r.Method, path, body)
	if status >= http.StatusBadRequest {
		b.fits(answer, "components", "responses", "Problem", "content", "application/problem+json", "schema")
	} else {
		b.fits(answer, "paths", route.Path, method, "responses", "200", "content", "application/json", "schema")
	}
	return answer
}

// What is asked and answered is what the document says.
func TestAnswersFitTheDocument(t *testing.T) {
	b := newBodies(t)
	f, check := b.face, b.check
	var session protocol.Session
	kerneltest.OK(t, json.Unmarshal([]byte(check("POST", "/v1/sessions", `{"workspace":"`+f.workspace+`"}`)), &session))
	check("POST", "/v1/tools/filesystem.read/call", `{"args":{"path":"hello.txt"}}`)
	check("POST", "/v1/tools/shell.bash/call", `{"args":{"command":"touch made && echo hi"},"no_wait":true}`)
	check("POST", "/v1/tools/search", `{"queries":["read a file"],"schemas":true}`)
	check("POST", "/v1/conversations", `{"workspace":"`+f.workspace+`"}`)
	check("POST", "/v1/plan", `{"workspace":"`+f.workspace+`","prompt":true}`)
	check("POST", "/v1/grants/revoke", `{"ids":["none"]}`)
	for _, path := range []string{
		"/v1/status", "/v1/ping", "/v1/tools", "/v1/tools/filesystem.read", "/v1/surface", "/v1/servers",
		"/v1/sessions/" + session.ID + "/tools", "/v1/sessions/" + session.ID + "/skills", "/v1/approvals", "/v1/approvals/none",
		"/v1/locks", "/v1/journal?limit=100&newest=true", "/v1/journal/verify", "/v1/doubts?all=true", "/v1/tasks?all=true",
		"/v1/deliveries", "/v1/background", "/v1/questions", "/v1/models/use", "/v1/conversations", "/v1/grants",
		"/v1/grants/suggestions", "/v1/proposals", "/v1/keys", "/v1/tokens", "/v1/secrets", "/v1/undo",
	} {
		check("GET", path, "")
	}
}
