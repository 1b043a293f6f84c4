package openapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/schema"
	"callgate/internal/source/openapi"
	"callgate/tool"
)

const head = "openapi: 3.0.3\ninfo: {title: Pets, version: '1'}\nservers: [{url: %SERVER%}]\n"

func check(raw json.RawMessage) error { _, err := schema.Compile(raw); return err }

// made makes an API of a document.
func made(t testing.TB, cfg openapi.Config, text string) *openapi.API {
	t.Helper()
	api, err := tried(cfg, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return api
}

func tried(cfg openapi.Config, text string) (*openapi.API, error) {
	if cfg.Name == "" {
		cfg.Name = "pets"
	}
	if cfg.Document == "" {
		cfg.Document = "pets.yaml"
	}
	cfg.Check = check
	return openapi.New(cfg, []byte(strings.ReplaceAll(text, "%SERVER%", "https://api.example.com/v2")))
}

// sent is a request that a server received.
type sent struct {
	Method, URL, Body string
	Header            http.Header
}

// echo is a server that keeps what it was sent last.
func echo(t testing.TB) (*httptest.Server, *sent) {
	t.Helper()
	last := &sent{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		*last = sent{r.Method, r.URL.RequestURI(), string(content), r.Header.Clone()}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok": true}`))
	}))
	t.Cleanup(s.Close)
	return s, last
}

func hostOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// local is the config of an API on a server of a test.
func local(t testing.TB, s *httptest.Server) openapi.Config {
	return openapi.Config{Server: s.URL, PrivateHosts: []string{hostOf(t, s.URL)}}
}

func find(t testing.TB, api *openapi.API, name string) *tool.Tool {
	t.Helper()
	for _, one := range api.Tools {
		if one.ID.Name == name {
			return one
		}
	}
	t.Fatalf("there is no tool %s among %v; problems: %q", name, names(api), api.Problems)
	return nil
}

func names(api *openapi.API) (all []string) {
	for _, one := range api.Tools {
		all = append(all, one.ID.Name)
	}
	return all
}

func call(ctx context.Context, one *tool.Tool, args string, secrets map[string]string) (*tool.Result, error) {
	return one.Handler.Execute(ctx, tool.Call{Tool: one.ID, Args: json.RawMessage(args)}, tool.Grant{Secrets: secrets})
}

func mustCall(t testing.TB, one *tool.Tool, args string, secrets map[string]string) *tool.Result {
	t.Helper()
	r, err := call(t.Context(), one, args, secrets)
	if err != nil {
		t.Fatalf("%s with %s: %v", one.ID, args, err)
	}
	return r
}

func TestNamesRisksAndDescriptions(t *testing.T) {
	t.Parallel()
	api := made(t, openapi.Config{}, head+`
paths:
  /pets:
    get: {operationId: listPets, summary: All pets., tags: [pets], responses: {}}
    post: {operationId: "pets/HTTPCreate v2", deprecated: true, description: Makes a pet., responses: {}}
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: string}}]
    get: {responses: {}}
    delete: {operationId: same, responses: {}}
    put: {operationId: same, responses: {}}
    head: {operationId: "宠物", responses: {}}
  /: {get: {responses: {}}}
  /long: {get: {operationId: `+strings.Repeat("veryLongName", 12)+`, responses: {}}}
`)
	var got []string
	for _, one := range api.Tools {
		got = append(got, fmt.Sprintf("%s %s %s %v", one.ID.Name, one.Runtime.Risk, one.Runtime.SideEffect, one.Runtime.Idempotent))
	}
	want := []string{
		"get_root low read true",
		"very_long_namevery_long_namevery_long_namevery_long_ae96 low read true",
		"list_pets low read true", "pets_http_create_v2 medium external false",
		"get_pets_by_pet_id low read true", "head_pets_by_pet_id low read true",
		"same_d6a9 medium external false", "same_5ee3 high external false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	made := find(t, api, "pets_http_create_v2")
	if made.Spec.Description != "Deprecated: the API's makers advise against it.\n\nMakes a pet.\n\nSends POST /pets." ||
		!strings.Contains(strings.Join(made.Spec.Tags, " "), "deprecated") {
		t.Errorf("%q %q", made.Spec.Description, made.Spec.Tags)
	}
	if listed := find(t, api, "list_pets"); listed.Spec.Description != "All pets.\n\nSends GET /pets." ||
		cmp.Diff([]string{"pets"}, listed.Spec.Tags) != "" || listed.Runtime.Effects[0].Resource != "host:api.example.com" {
		t.Errorf("%+v", listed)
	}
}

func TestIncludeAndExclude(t *testing.T) {
	t.Parallel()
	const paths = head + `
paths:
  /a: {get: {operationId: getA, tags: [one], responses: {}}}
  /b: {get: {operationId: getB, tags: [two], responses: {}}}
  /c: {get: {operationId: getC, tags: [one, two], responses: {}}}
`
	for _, c := range []struct{ include, exclude, want, problem string }{
		{"", "", "get_a get_b get_c", ""},
		{"one", "", "get_a get_c", ""},
		{"get_b getC", "", "get_b get_c", ""},
		{"one", "two", "get_a", ""},
		{"", "getA nothing", "get_b get_c", "nothing is named under include or exclude"},
	} {
		api := made(t, openapi.Config{Include: strings.Fields(c.include), Exclude: strings.Fields(c.exclude)}, paths)
		if got := strings.Join(names(api), " "); got != c.want || !strings.Contains(strings.Join(api.Problems, ""), c.problem) {
			t.Errorf("%+v: %s, %q", c, got, api.Problems)
		}
	}
}

func TestInputSchema(t *testing.T) {
	t.Parallel()
	api := made(t, openapi.Config{}, head+`
paths:
  /pets/{id}:
    parameters:
      - {name: id, in: path, required: true, description: Which., schema: {type: integer, format: int64}}
      - {name: id, in: query, schema: {type: string, nullable: true}}
      - {name: Accept, in: header, schema: {type: string}}
      - {name: "filter[name]", in: query, schema: {type: string, pattern: "(?<=x)y", example: cat}}
    post:
      operationId: post
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name, created]
              properties:
                name: {type: string}
                created: {type: string, readOnly: true}
                weight: {type: number, minimum: 0, exclusiveMinimum: true}
                parent: {$ref: '#/components/schemas/Pet'}
    patch:
      operationId: patch
      requestBody:
        content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
components:
  schemas:
    Pet:
      type: object
      properties:
        name: {type: string}
        parent: {$ref: '#/components/schemas/Pet'}
        owner: {$ref: '#/components/schemas/Owner'}
    Owner: {type: object, properties: {age: {type: integer}}}
`)
	var got map[string]any
	if err := json.Unmarshal(find(t, api, "post").Spec.Input, &got); err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{"type":"object","additionalProperties":false,"required":["id","name"],
"properties":{
 "id":{"type":"integer","format":"int64","description":"Which."},
 "id_in_query":{"type":["string","null"]},
 "filter_name":{"type":"string","examples":["cat"]},
 "name":{"type":"string"},
 "weight":{"type":"number","exclusiveMinimum":0},
 "parent":{"$ref":"#/$defs/Pet"}},
"$defs":{"Pet":{"type":"object","properties":{"name":{"type":"string"},"parent":{"$ref":"#/$defs/Pet"},
 "owner":{"type":"object","properties":{"age":{"type":"integer"}}}}}}}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := string(find(t, api, "patch").Spec.Input); !strings.Contains(text, `"body":{"$ref":"#/$defs/Pet"}`) ||
		!strings.Contains(text, `"required":["id"]`) {
		t.Errorf("an optional body: %s", text)
	}
	if len(api.Problems) > 0 {
		t.Errorf("problems: %q", api.Problems)
	}
}

// Each style writes a value as the specification's own table does.
func TestSerialisation(t *testing.T) {
	t.Parallel()
	server, last := echo(t)
	const (
		one    = `"blue"`
		list   = `["blue","black","brown"]`
		object = `{"R":100,"G":200,"B":150}`
	)
	for _, c := range []struct{ in, style, value, want string }{
		{"path", "style: simple", one, "/x/blue"},
		{"path", "style: simple", list, "/x/blue,black,brown"},
		{"path", "style: simple, explode: true", list, "/x/blue,black,brown"},
		{"path", "style: simple", object, "/x/B,150,G,200,R,100"},
		{"path", "style: simple, explode: true", object, "/x/B=150,G=200,R=100"},
		{"path", "style: label", one, "/x/.blue"},
		{"path", "style: label", list, "/x/.blue,black,brown"},
		{"path", "style: label, explode: true", list, "/x/.blue.black.brown"},
		{"path", "style: label, explode: true", object, "/x/.B=150.G=200.R=100"},
		{"path", "style: matrix", one, "/x/;color=blue"},
		{"path", "style: matrix", list, "/x/;color=blue,black,brown"},
		{"path", "style: matrix, explode: true", list, "/x/;color=blue;color=black;color=brown"},
		{"path", "style: matrix", object, "/x/;color=B,150,G,200,R,100"},
		{"path", "style: matrix, explode: true", object, "/x/;B=150;G=200;R=100"},
		{"path", "", `"a/b c?d#é%"`, "/x/a%2Fb%20c%3Fd%23%C3%A9%25"},
		{"path", "", `12345678901234567890`, "/x/12345678901234567890"},
		{"query", "style: form", one, "/x?color=blue"},
		{"query", "", list, "/x?color=blue&color=black&color=brown"},
		{"query", "explode: false", list, "/x?color=blue,black,brown"},
		{"query", "", object, "/x?B=150&G=200&R=100"},
		{"query", "explode: false", object, "/x?color=B,150,G,200,R,100"},
		{"query", "style: spaceDelimited", list, "/x?color=blue%20black%20brown"},
		{"query", "style: spaceDelimited, explode: true", list, "/x?color=blue&color=black&color=brown"},
		{"query", "style: pipeDelimited", list, "/x?color=blue%7Cblack%7Cbrown"},
		{"query", "style: pipeDelimited", object, "/x?color=B%7C150%7CG%7C200%7CR%7C100"},
		{"query", "style: deepObject", object, "/x?color%5BB%5D=150&color%5BG%5D=200&color%5BR%5D=100"},
		{"query", "style: deepObject", `{"a":{"b":[1,2]}}`, "/x?color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"},
		{"query", "", `"a b&c=d+e"`, "/x?color=a%20b%26c%3Dd%2Be"},
		{"query", "allowReserved: true", `"a/b?c,d&e#f"`, "/x?color=a/b?c,d%26e%23f"},
		{"query", "", `true`, "/x?color=true"},
		{"query", "", `null`, "/x"},
		{"query", "", `[]`, "/x"},
		{"query", "explode: false", `[]`, "/x"},
		{"query", "", `1e2`, "/x?color=1e2"},
	} {
		path := "/x"
		if c.in == "path" {
			path = "/x/{color}"
		}
		parameter := "name: color, in: " + c.in + ", required: true"
		if c.style != "" {
			parameter += ", " + c.style
		}
		api := made(t, local(t, server), head+"paths: {'"+path+"': {get: {operationId: get, parameters: [{"+parameter+
			", schema: {}}], responses: {}}}}")
		mustCall(t, find(t, api, "get"), `{"color":`+c.value+`}`, nil)
		if last.URL != c.want {
			t.Errorf("%s {%s} %s: %s, want %s", c.in, c.style, c.value, last.URL, c.want)
		}
	}
}

func TestHeadersCookiesAndJSONParameters(t *testing.T) {
	t.Parallel()
	server, last := echo(t)
	api := made(t, local(t, server), head+`
paths:
  /x:
    get:
      operationId: get
      parameters:
        - {name: X-List, in: header, schema: {type: array, items: {type: string}}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: where, in: query, content: {application/json: {schema: {type: object}}}}
        - {name: Authorization, in: header, schema: {type: string}}
`)
	one := find(t, api, "get")
	mustCall(t, one, `{"X-List":["a","b"],"session":"s;1","where":{"a":[1]},"Authorization":"Bearer x"}`, nil)
	if last.URL != "/x?where=%7B%22a%22%3A%5B1%5D%7D" || last.Header.Get("X-List") != "a,b" ||
		last.Header.Get("Cookie") != "session=s%3B1" || last.Header.Get("Authorization") != "" {
		t.Errorf("%+v", last)
	}
	if _, err := call(t.Context(), one, `{"X-List":["a\r\nHost: evil"]}`, nil); tool.KindOf(err) != tool.Invalid {
		t.Errorf("a header with a line break: %v", err)
	}
}

// A value of a path stays one part of it.
func TestPathsLeadNowhereElse(t *testing.T) {
	t.Parallel()
	server, last := echo(t)
	api := made(t, local(t, server), head+`
paths:
  /a/{x}/{y}{z}: {get: {operationId: get, parameters: [{name: x, in: path, required: true, schema: {}},
    {name: y, in: path, required: true, schema: {}}, {name: z, in: path, required: true, schema: {}}]}}
`)
	for _, args := range []string{
		`{"x":"..","y":"a","z":"b"}`, `{"x":".","y":"a","z":"b"}`, `{"x":"a","y":".","z":"."}`, `{"x":"","y":"a","z":"b"}`,
		`{"x":"a","y":"b"}`, `{"x":[],"y":"b","z":"c"}`,
		`{"x":"../../admin/users","y":"b","z":"c"}`, `{"x":"..\\admin","y":"b","z":"c"}`, `{"x":"a/./b","y":"b","z":"c"}`,
		`{"x":"a/.","y":"./","z":"c"}`, `{"x":"a","y":".","z":"./x"}`, `{"x":"%2e%2e/x","y":"b","z":"c"}`,
		`{"x":"%252e%252e%252fx","y":"b","z":"c"}`, `{"x":"..;a/x","y":"b","z":"c"}`,
	} {
		last.URL = ""
		if _, err := call(t.Context(), find(t, api, "get"), args, nil); tool.KindOf(err) != tool.Invalid || last.URL != "" {
			t.Errorf("%s: %v, sent %q", args, err, last.URL)
		}
	}
	for args, want := range map[string]string{
		`{"x":"b/c","y":"@evil.example","z":"c"}`:   "/a/b%2Fc/%40evil.examplec",
		`{"x":"..a/b..","y":"100%","z":"...;v=.."}`: "/a/..a%2Fb../100%25...%3Bv%3D..",
	} {
		if mustCall(t, find(t, api, "get"), args, nil); last.URL != want {
			t.Errorf("%s sent %s", args, last.URL)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	server, last := echo(t)
	for _, c := range []struct{ content, args, kind, want string }{
		{"{application/json: {schema: {type: object, properties: {a: {}, b: {}}}}, text/plain: {}}", `{"a":1,"b":null}`,
			"application/json", `{"a":1,"b":null}`},
		{"{application/vnd.x+json: {schema: {type: array}}}", `{"body":[1,"2"]}`, "application/vnd.x+json", `[1,"2"]`},
		{"{'*/*': {schema: {type: array}}}", `{"body":[1]}`, "application/json", `[1]`},
		{"{application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {}, b: {}}}}}",
			`{"a":["x y","&"],"b":{"c":1}}`, "application/x-www-form-urlencoded", `a=x+y&a=%26&b=%7B%22c%22%3A1%7D`},
		{"{text/csv: {schema: {type: string}}}", `{"body":"a,b\n"}`, "text/csv", "a,b\n"},
		{"{application/xml: {schema: {type: object}}}", `{"body":"<a/>"}`, "application/xml", "<a/>"},
		{"{application/octet-stream: {}}", `{"body":"AAEC"}`, "application/octet-stream", "\x00\x01\x02"},
	} {
		api := made(t, local(t, server), head+"paths: {/x: {post: {operationId: post, requestBody: {required: true, content: "+
			c.content+"}, responses: {}}}}")
		mustCall(t, find(t, api, "post"), c.args, nil)
		if last.Body != c.want || last.Header.Get("Content-Type") != c.kind {
			t.Errorf("%s: %q as %s", c.content, last.Body, last.Header.Get("Content-Type"))
		}
	}
	api := made(t, local(t, server), head+`
paths:
  /x: {post: {operationId: post, requestBody: {required: true, content: {multipart/form-data: {schema:
    {type: object, properties: {file: {type: string, format: binary}, n: {type: integer}}}}}}}}
  /y: {post: {operationId: mixed, requestBody: {content: {multipart/mixed: {}}}}}
`)
	mustCall(t, find(t, api, "post"), `{"file":"hello","n":3}`, nil)
	if !strings.HasPrefix(last.Header.Get("Content-Type"), "multipart/form-data; boundary=") ||
		!strings.Contains(last.Body, "name=\"file\"\r\n\r\nhello") || !strings.Contains(last.Body, "name=\"n\"\r\n\r\n3") {
		t.Errorf("%q as %s", last.Body, last.Header.Get("Content-Type"))
	}
	if text := strings.Join(api.Problems, "\n"); len(api.Tools) != 1 ||
		!strings.Contains(text, "POST /y is left out: its body can only be multipart/mixed") {
		t.Errorf("%q", text)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/list":
			w.Header().Set("Link", `<https://api.example.com/list?page=2>; rel="next"`)
			w.Header().Set("X-RateLimit-Remaining", "7")
			w.Header().Set("Set-Cookie", "session=1")
			_, _ = w.Write([]byte(`{"items": [1, 2], "next": "abc"}`))
		case "/bad":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"detail": "name is too short"}`))
		case "/big":
			_, _ = w.Write([]byte(`"` + strings.Repeat("x", 100<<10) + `"`))
		case "/huge":
			for range 11 << 10 {
				_, _ = w.Write(make([]byte, 1024))
			}
		case "/slow":
			<-r.Context().Done()
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(server.Close)
	cfg := local(t, server)
	cfg.Timeout = 50 * time.Millisecond
	var paths strings.Builder
	for _, name := range []string{"list", "bad", "big", "huge", "none", "slow"} {
		fmt.Fprintf(&paths, "  /%s: {get: {operationId: %s, responses: {}}, post: {operationId: post_%s, responses: {}}}\n",
			name, name, name)
	}
	slow := made(t, cfg, head+"paths:\n"+paths.String())
	api := made(t, local(t, server), head+"paths:\n"+paths.String())
	r := mustCall(t, find(t, api, "list"), `{}`, nil)
	if r.Status != tool.Success || !strings.Contains(string(r.Data), `"json":{"items":[1,2],"next":"abc"}`) ||
		!strings.Contains(string(r.Data), "x-ratelimit-remaining") || strings.Contains(string(r.Data), "session=1") ||
		!strings.Contains(r.Summary, "there are more") {
		t.Errorf("%s %s", r.Summary, r.Data)
	}
	r = mustCall(t, find(t, api, "bad"), `{}`, nil)
	if r.Status != tool.Failure || r.Error.Kind != tool.Failed || !strings.Contains(r.Summary, "answered 422") ||
		!strings.Contains(string(r.Data), "name is too short") {
		t.Errorf("%+v %s", r, r.Data)
	}
	if r = mustCall(t, find(t, api, "big"), `{}`, nil); len(r.Content) != 1 || len(r.Content[0].Text) != 100<<10+2 {
		t.Errorf("a large answer: %s", r.Summary)
	}
	if r = mustCall(t, find(t, api, "huge"), `{}`, nil); r.Cut == nil {
		t.Errorf("an answer over the limit: %s", r.Summary)
	}
	if r = mustCall(t, find(t, api, "none"), `{}`, nil); r.Summary != "204 No Content" {
		t.Errorf("no body: %s", r.Summary)
	}
	if _, err := call(t.Context(), find(t, slow, "slow"), `{}`, nil); tool.KindOf(err) != tool.Timeout {
		t.Errorf("a slow read: %v", err)
	}
	if _, err := call(t.Context(), find(t, slow, "post_slow"), `{}`, nil); tool.KindOf(err) != tool.InDoubt {
		t.Errorf("a slow write: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call(gone, find(t, api, "list"), `{}`, nil); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
}
