package openapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"callgate/internal/source/openapi"
	"callgate/tool"
)

const secure = head + `
security: [{key: []}]
paths:
  /x:
    get: {operationId: get, parameters: [{name: X-Key, in: header, schema: {}}], responses: {}}
    post: {operationId: post, security: [{login: []}, {other: []}], responses: {}}
    put: {operationId: put, security: [{query: [], token: []}], responses: {}}
    delete: {operationId: delete, security: [{}], responses: {}}
    patch: {operationId: patch, security: [{mutual: []}], responses: {}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: x-key}
    query: {type: apiKey, in: query, name: api key}
    login: {type: http, scheme: basic}
    token: {type: http, scheme: Bearer}
    other: {type: oauth2, flows: {}}
    mutual: {type: mutualTLS}
`

func TestCredentials(t *testing.T) {
	t.Parallel()
	server, last := echo(t)
	cfg := local(t, server)
	cfg.Credential = "MAIN"
	cfg.Credentials = map[string]string{"login": "LOGIN", "token": "TOKEN"}
	api := made(t, cfg, secure)
	values := map[string]string{"MAIN": "k 1", "LOGIN": "ada:pw", "TOKEN": "t1"}
	get := find(t, api, "get")
	if mustCall(t, get, `{}`, values); last.Header.Get("X-Key") != "k 1" || strings.Contains(string(get.Spec.Input), "X-Key") ||
		fmt.Sprint(get.Runtime.Secrets) != "[MAIN]" {
		t.Errorf("a key in a header: %+v, %v", last, get.Runtime.Secrets)
	}
	mustCall(t, find(t, api, "post"), `{}`, values)
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:pw")); last.Header.Get("Authorization") != want {
		t.Errorf("a login: %+v", last)
	}
	put := find(t, api, "put")
	r := mustCall(t, put, `{}`, values)
	if last.URL != "/x?api%20key=k%201" || last.Header.Get("Authorization") != "Bearer t1" ||
		fmt.Sprint(put.Runtime.Secrets) != "[MAIN TOKEN]" || strings.Contains(string(r.Data), "k%201") {
		t.Errorf("a key in the query and a token: %+v, %s", last, r.Data)
	}
	for _, name := range []string{"delete", "patch"} {
		if one := find(t, api, name); mustCall(t, one, `{}`, values) == nil || last.Header.Get("X-Key") != "" ||
			len(one.Runtime.Secrets) != 0 {
			t.Errorf("%s: %+v", name, last)
		}
	}
	for _, bad := range []map[string]string{{"LOGIN": "nocolon"}, {}} {
		if _, err := call(t.Context(), find(t, api, "post"), `{}`, bad); tool.KindOf(err) != tool.Invalid ||
			!strings.Contains(err.Error(), "LOGIN") || strings.Contains(err.Error(), "nocolon") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A refusal says which secret was sent, or what is missing.
func TestRefusalsNameTheCredential(t *testing.T) {
	t.Parallel()
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	t.Cleanup(server.Close)
	with := local(t, server)
	with.Credential = "MAIN"
	for _, c := range []struct {
		cfg    openapi.Config
		tool   string
		status int
		want   string
	}{
		{with, "get", 401, "the secret MAIN was sent for the scheme key (a key in the header x-key), and was not accepted"},
		{with, "get", 403, "the secret MAIN was sent for the scheme key (a key in the header x-key), and may not do this"},
		{local(t, server), "get", 401, "the API wants the scheme key (a key in the header x-key): the user stores it"},
		{with, "put", 401, "the API wants the scheme token (a bearer token)"},
		{with, "patch", 401, "the scheme mutual (mutualTLS ), which is not known here"},
		{with, "delete", 403, "no credential was sent, because the document asks for none here"},
	} {
		status = c.status
		r := mustCall(t, find(t, made(t, c.cfg, secure), c.tool), `{}`, map[string]string{"MAIN": "value"})
		if r.Status != tool.Failure || !strings.Contains(r.Error.Hint, c.want) || strings.Contains(r.Error.Hint, "value") {
			t.Errorf("%s %d: %s", c.tool, c.status, r.Error.Hint)
		}
	}
}

// No document sends a credential elsewhere, and no redirect does.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	other, seen := echo(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/stolen", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	cfg := local(t, server)
	cfg.Credential, cfg.PrivateHosts = "MAIN", []string{"127.0.0.1"}
	values := map[string]string{"MAIN": "very-secret"}
	api := made(t, cfg, secure)
	if r := mustCall(t, find(t, api, "get"), `{}`, values); seen.URL != "/stolen" || len(seen.Header["X-Key"]) > 0 ||
		len(r.Warnings) != 1 || strings.Contains(fmt.Sprint(seen), "very-secret") {
		t.Errorf("the other host got %+v; %+v", seen, r.Warnings)
	}
	*seen = sent{}
	if _, err := call(t.Context(), find(t, api, "post"), `{}`, nil); err == nil || seen.URL != "" {
		t.Errorf("a POST was redirected: %+v, %v", seen, err)
	}

	at := func(document, server string) openapi.Config {
		return openapi.Config{Document: document, Server: server, Credential: "MAIN", PrivateHosts: []string{"127.0.0.1"}}
	}
	elsewhere := strings.ReplaceAll(secure, "%SERVER%", other.URL)
	for name, c := range map[string]struct {
		cfg  openapi.Config
		text string
		sent bool
	}{
		"a file":                            {at("pets.yaml", ""), elsewhere, false},
		"a file, server said":               {at("pets.yaml", other.URL), elsewhere, true},
		"a document on the server":          {at(other.URL+"/openapi.yaml", ""), elsewhere, true},
		"a document elsewhere":              {at("http://docs.example.com/openapi.yaml", ""), elsewhere, false},
		"a document elsewhere, server said": {at("http://docs.example.com/openapi.yaml", other.URL), elsewhere, true},
		"an operation's own server": {at("pets.yaml", ""), strings.Replace(strings.ReplaceAll(secure, "%SERVER%", server.URL),
			"get: {", "get: {servers: [{url: '"+other.URL+"'}], ", 1), false},
	} {
		*seen = sent{}
		api := made(t, c.cfg, c.text)
		if mustCall(t, find(t, api, "get"), `{}`, values); (seen.Header.Get("X-Key") != "") != c.sent || seen.URL != "/x" {
			t.Errorf("%s: %+v; %q", name, seen, api.Problems)
		}
	}

	plain := made(t, openapi.Config{Credential: "MAIN", Server: "http://api.example.com"}, secure)
	if _, err := call(t.Context(), find(t, plain, "get"), `{}`, values); tool.KindOf(err) != tool.Denied {
		t.Errorf("a credential over plain http: %v", err)
	}
}

// A document leads to no host that is not public, unless the app file lists it.
func TestPrivateHosts(t *testing.T) {
	t.Parallel()
	server, seen := echo(t)
	hop := httptest.NewServer(http.RedirectHandler(server.URL+"/hop", http.StatusFound))
	t.Cleanup(hop.Close)
	get := "paths: {/x: {get: {operationId: get, responses: {}}}}"
	for _, address := range []string{
		server.URL, "http://127.0.0.1:1", "http://[::1]/", "http://169.254.169.254/latest", "http://10.0.0.1", "http://0x7f.1",
		"https://localhost",
	} {
		api := made(t, openapi.Config{}, strings.ReplaceAll(head, "%SERVER%", "'"+address+"'")+get)
		_, err := call(t.Context(), find(t, api, "get"), `{}`, nil)
		if err == nil || seen.URL != "" || len(api.Problems) == 0 {
			t.Errorf("%s: %v, problems %q", address, err, api.Problems)
		}
	}
	cfg := local(t, hop) // and not the server that it leads to
	if _, err := call(t.Context(), find(t, made(t, cfg, head+get), "get"), `{}`, nil); tool.KindOf(err) != tool.Denied ||
		seen.URL != "" {
		t.Errorf("a redirect: %v, %+v", err, seen)
	}
	if _, err := openapi.Fetch(t.Context(), openapi.Config{Name: "x", Document: server.URL + "/doc"}, nil); tool.KindOf(err) != tool.Denied || seen.URL != "" {
		t.Errorf("the document itself: %v", err)
	}
	cfg.Document = hop.URL
	if _, err := openapi.Fetch(t.Context(), cfg, nil); tool.KindOf(err) != tool.Denied || seen.URL != "" {
		t.Errorf("a redirect of the document: %v", err)
	}
}

func TestBadDocuments(t *testing.T) {
	t.Parallel()
	get := "paths: {/x: {get: {responses: {}}}}\n"
	deepJSON := strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":          {"", "is empty"},
		"a list":           {"[1]", "not a mapping"},
		"a page":           {"<!DOCTYPE html><html></html>", "not"},
		"broken JSON":      {"{\n\"openapi\": \"3.0.0\",\n\"paths\": {]\n}", "at line 3"},
		"broken YAML":      {"openapi: 3.0.0\npaths:\n  /x: {get: [}\n", "at line 3"},
		"no version":       {"info: {}\n" + get, "neither openapi: 3.x nor swagger"},
		"OpenAPI 4":        {"openapi: 4.0.0\n" + get, "neither openapi: 3.x nor swagger"},
		"no paths":         {head, "/paths"},
		"no server":        {"openapi: 3.0.0\n" + get, "tools.modules.openapi.config.apis.pets.server"},
		"a server by mail": {"openapi: 3.0.0\nservers: [{url: 'mailto:a@b'}]\n" + get, "/servers"},
		"another file":     {head + "paths: {/x: {$ref: 'other.yaml#/x'}}", "/paths/~1x"},
		"a web page":       {head + "paths: {/x: {get: {requestBody: {$ref: 'http://169.254.169.254/'}}}}", "/paths/~1x/get/requestBody"},
		"a local file":     {head + get + "components: {schemas: {A: {$ref: '/etc/passwd'}}}", "/components/schemas/A"},
		"a missing part":   {head + "paths: {/x: {get: {parameters: [{$ref: '#/components/parameters/None'}]}}}", "#/components/parameters/None"},
		"wrong kinds":      {head + "paths: {/x: {get: {parameters: 3}}}", "cannot be used"},
		"too deep":         {`{"openapi":"3.0.0","x":` + deepJSON + `}`, "levels deep"},
		"a bomb": {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\n" + head + get,
			"holds an alias"},
		"not text": {"openapi: 3.0.0\n\xff\xfe", "UTF-8"},
	} {
		_, err := tried(openapi.Config{}, c.text)
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.want) && !strings.Contains(hint(err), c.want) ||
			!strings.Contains(err.Error(), "pets.yaml") || hint(err) == "" {
			t.Errorf("%s: %v; hint %s", name, err, hint(err))
		}
	}
}

func hint(err error) string {
	if e, ok := err.(*tool.Error); ok {
		return e.Hint
	}
	return ""
}

// What cannot be used is left out by name; the rest works.
func TestTheRestWorks(t *testing.T) {
	t.Parallel()
	api := made(t, openapi.Config{}, head+`
paths:
  /ok: {get: {operationId: ok, parameters: [{name: a, in: query, schema: {type: string, pattern: "["}}], responses: {}}}
  /missing/{id}: {get: {operationId: missing, responses: {}}}
  /style: {get: {operationId: style, parameters: [{name: a, in: query, style: matrix, schema: {}}], responses: {}}}
  /header: {get: {operationId: header, parameters: [{name: "a b", in: header, schema: {}}], responses: {}}}
`)
	if text := strings.Join(api.Problems, "\n"); strings.Join(names(api), " ") != "ok" ||
		!strings.Contains(text, "GET /missing/{id} is left out: its path holds {id}") ||
		!strings.Contains(text, "GET /style is left out") || !strings.Contains(text, "GET /header is left out") {
		t.Errorf("%v\n%s", names(api), text)
	}
}

func TestSwagger2AndOpenAPI31(t *testing.T) {
	t.Parallel()
	server, last := echo(t)
	old := made(t, local(t, server), `{"swagger":"2.0","info":{"title":"Old","version":"1"},"host":"api.example.com",
"basePath":"/v1","schemes":["https"],"paths":{"/pets/{id}":{"post":{"operationId":"addPet","consumes":["application/json"],
"parameters":[{"name":"id","in":"path","required":true,"type":"integer"},
{"name":"pet","in":"body","required":true,"schema":{"$ref":"#/definitions/Pet"}}],"responses":{"200":{"description":"ok"}}}}},
"definitions":{"Pet":{"type":"object","properties":{"name":{"type":"string"},"child":{"$ref":"#/definitions/Pet"}}}}}`)
	if mustCall(t, find(t, old, "add_pet"), `{"id":3,"name":"Rex"}`, nil); last.URL != "/pets/3" || last.Body != `{"name":"Rex"}` {
		t.Errorf("%+v; %s", last, find(t, old, "add_pet").Spec.Input)
	}
	now := made(t, local(t, server), `
openapi: 3.1.0
info: {title: New, version: '1'}
paths:
  /x: {post: {operationId: post, requestBody: {required: true, content: {application/json: {schema: {type: object, properties:
    {a: {type: [string, 'null'], const: x}, b: {exclusiveMinimum: 3}, c: {prefixItems: [{type: string}, true]}}}}}}}}
`)
	input := string(find(t, now, "post").Spec.Input)
	for _, want := range []string{`"a":{"const":"x","type":["string","null"]}`, `"exclusiveMinimum":3`, `"prefixItems":[{"type":"string"},true]`} {
		if !strings.Contains(input, want) {
			t.Errorf("%s has no %s", input, want)
		}
	}
}

// huge is a document with many operations over schemas that refer to each other.
func huge(n int) string {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.0.3","info":{"title":"Huge","version":"1"},"servers":[{"url":"https://api.example.com"}],"paths":{`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"/thing%d/{id}":{"post":{"operationId":"updateThing%d","summary":"Update the thing number %d.","tags":["t%d"],
"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"name":"limit","in":"query","schema":{"type":"integer"}}],
"requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S%d"}}}},"responses":{"200":{"description":"ok"}}}}`,
			i, i, i, i%30, i%200)
	}
	b.WriteString(`},"components":{"schemas":{`)
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"S%d":{"type":"object","properties":{"name":{"type":"string","description":"%s"},
"next":{"$ref":"#/components/schemas/S%d"},"other":{"type":"array","items":{"$ref":"#/components/schemas/S%d"}}}}`,
			i, strings.Repeat("words ", 40), (i*7+1)%200, (i+1)%200)
	}
	b.WriteString(`}}}`)
	return b.String()
}

func TestHugeDocument(t *testing.T) {
	plainOnly(t)
	t.Parallel()
	api := made(t, openapi.Config{}, huge(1500))
	if len(api.Tools) != 1500 {
		t.Fatalf("%d tools, %q", len(api.Tools), api.Problems)
	}
	for i, one := range api.Tools {
		if len(one.Spec.Input) > 16<<10 || i%100 == 0 && check(one.Spec.Input) != nil {
			t.Fatalf("%s: %d bytes", one.ID, len(one.Spec.Input))
		}
	}
	if _, err := tried(openapi.Config{}, huge(5001)); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "5001 operations") {
		t.Errorf("too many operations: %v", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{20, 1500} {
		text := huge(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tried(openapi.Config{}, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A copy is kept, its server is asked whether it changed, and it counts while the server is away.
func TestFetch(t *testing.T) {
	t.Parallel()
	version, asked := "one", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("ETag", `"`+version+`"`)
		if r.Header.Get("If-None-Match") == `"`+version+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("the text of " + version))
	}))
	defer server.Close()
	cfg, folder := local(t, server), t.TempDir()
	cfg.Document = server.URL + "/doc"
	fetched := func(want string) *openapi.Fetched {
		t.Helper()
		before := time.Now()
		f, err := openapi.Fetch(t.Context(), cfg, openapi.Kept(folder, cfg.Document))
		if err == nil {
			err = f.Keep(folder, true)
		}
		if err != nil || string(f.Data) != want || f.At.Before(before.Add(-time.Minute)) {
			t.Fatalf("%+v, %v", f, err)
		}
		return f
	}
	fetched("the text of one")
	fetched("the text of one")
	version = "two"
	fetched("the text of two")
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	server.Close()
	if _, err := openapi.Fetch(t.Context(), cfg, nil); err == nil {
		t.Error("a server that is away answered")
	}
	if kept := openapi.Kept(folder, cfg.Document); kept == nil || string(kept.Data) != "the text of two" {
		t.Errorf("kept %+v", kept)
	}
	if kept := openapi.Kept(folder, cfg.Document+"2"); kept != nil {
		t.Errorf("another document: %+v", kept)
	}
}

// Whatever a document says, reading it ends with tools that can be published, or with words.
func FuzzNew(f *testing.F) {
	f.Add(secure)
	f.Add(huge(3))
	f.Add(`{"swagger":"2.0","paths":{"/a":{"get":{}}},"host":"x.test"}`)
	f.Add("openapi: 3.1.0\nservers: [{url: https://x.test}]\npaths: {/{a}: {get: {parameters: [{name: a, in: path, schema: true}]}}}")
	f.Add(head + "paths: {/a: {$ref: '#/paths/~1b'}, /b: {$ref: '#/paths/~1a'}}")
	f.Add(head + "paths: {/a: {get: {requestBody: {$ref: '#/components/requestBodies/A'}}}}\ncomponents: {requestBodies: {A: {$ref: '#/components/requestBodies/A'}}}")
	f.Add("&a [*a]")
	if data, err := os.ReadFile("../../../docs/openapi.json"); err == nil {
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		api, err := tried(openapi.Config{Credential: "X"}, text)
		if err != nil {
			if tool.KindOf(err) == "" || err.Error() == "" {
				t.Errorf("%v", err)
			}
			return
		}
		defer api.Close()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		seen := map[string]bool{}
		for _, one := range api.Tools {
			if err := one.Validate(); err != nil || seen[one.ID.Name] {
				t.Errorf("%s: %v", one.ID, err)
			}
			seen[one.ID.Name] = true
			if err := check(one.Spec.Input); err != nil {
				t.Errorf("%s: %v: %s", one.ID, err, one.Spec.Input)
			}
			compiled := json.RawMessage(`{"a":"x","id":1,"body":{"a":[{}]}}`)
			_, _ = one.Handler.Execute(gone, tool.Call{Tool: one.ID, Args: compiled}, tool.Grant{})
		}
	})
}

// A redirect is judged by the rules: one to another destination as a request of its own.
func TestRedirectsAreJudged(t *testing.T) {
	t.Parallel()
	other, seen := echo(t)
	to := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	cfg := local(t, server)
	cfg.PrivateHosts = []string{"127.0.0.1"}
	get := find(t, made(t, cfg, head+"paths: {/x: {get: {operationId: get, responses: {}}}}"), "get")
	for name, c := range map[string]struct {
		to, refuse string // the tool as which it is judged, if the rules refuse it
		sent       bool
		judged     []tool.Hop
	}{
		"at its server": {"/y", "http.get", false, []tool.Hop{{URL: server.URL + "/y", From: server.URL}}},
		"elsewhere":     {other.URL + "/z", "", true, []tool.Hop{{URL: other.URL + "/z", From: server.URL}, {URL: other.URL + "/z", Tool: "http.get"}}},
		"refused":       {other.URL + "/z", "http.get", false, []tool.Hop{{URL: other.URL + "/z", From: server.URL}, {URL: other.URL + "/z", Tool: "http.get"}}},
	} {
		to, *seen = c.to, sent{}
		var judged []tool.Hop
		grant := tool.Grant{Follow: func(_ context.Context, hop tool.Hop) error {
			if judged = append(judged, hop); hop.Tool == c.refuse && c.refuse != "" {
				return tool.Errorf("gate.follow", tool.Denied, "%s was not requested", hop.URL)
			}
			return nil
		}}
		_, err := get.Handler.Execute(t.Context(), tool.Call{Tool: get.ID, Args: []byte(`{}`)}, grant)
		if (seen.URL != "") != c.sent || fmt.Sprint(judged) != fmt.Sprint(c.judged) ||
			(tool.KindOf(err) == tool.Denied) != (c.refuse != "" && len(c.judged) > 1) {
			t.Errorf("%s: %v; judged %+v; the other server got %q", name, err, judged, seen.URL)
		}
	}
}
