package http_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/internal/module/http"
	"callgate/tool"
)

type block = fetchtest.Block

// open opens the module with the settings of an app file.
func open(t testing.TB, config, constraints block) *fetchtest.Bench {
	t.Helper()
	return fetchtest.Open(t, http.ModuleWith(fetchtest.Options(nil)), config, constraints)
}

// mirror answers with the request.
func mirror(w nethttp.ResponseWriter, r *nethttp.Request) {
	if to := r.URL.Query().Get("to"); to != "" {
		nethttp.Redirect(w, r, to, nethttp.StatusFound)
		return
	}
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "uri": r.RequestURI, "host": r.Host,
		"header": r.Header, "body": string(body)})
}

func TestTools(t *testing.T) {
	t.Parallel()
	fetchtest.CheckTools(t, http.Module(), "http.get", "http.head", "http.post", "http.put", "http.patch", "http.delete",
		"http.request", "http.download", "http.upload")
}

func TestGuide(t *testing.T) {
	t.Parallel()
	fetchtest.CheckGuide(t, http.Module(), "../../../docs/guides/http.md")
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, mirror)
	b := open(t, block{"user_agent": "tester/1"}, fetchtest.Local())
	for name, c := range map[string]struct {
		tool string
		args block
		want block // parts of what the server saw
	}{
		"get":                {"get", block{"url": s.URL + "/a?x=1#frag"}, block{"method": "GET", "uri": "/a?x=1", "User-Agent": "tester/1", "body": ""}},
		"query":              {"get", block{"url": s.URL + "/?a=1", "query": block{"b": "x y&z", "c": []any{1, 2.5, true}, "d": nil}}, block{"uri": "/?a=1&b=x+y%26z&c=1&c=2.5&c=true"}},
		"header":             {"get", block{"url": s.URL, "headers": block{"X-Thing": "one", "accept": "text/csv"}}, block{"X-Thing": "one", "Accept": "text/csv"}},
		"a space in a path":  {"get", block{"url": " " + s.URL + "/a b "}, block{"uri": "/a%20b"}},
		"json":               {"post", block{"url": s.URL, "json": block{"a": []any{1, nil}}}, block{"method": "POST", "Content-Type": "application/json", "body": `{"a":[1,null]}`}},
		"json null":          {"post", block{"url": s.URL, "json": nil}, block{"Content-Type": "application/json", "body": "null"}},
		"form":               {"put", block{"url": s.URL, "form": block{"a": "ü", "b": []any{1, 2}}}, block{"method": "PUT", "Content-Type": "application/x-www-form-urlencoded", "body": "a=%C3%BC&b=1&b=2"}},
		"text":               {"patch", block{"url": s.URL, "body": "hé"}, block{"method": "PATCH", "Content-Type": "text/plain; charset=utf-8", "body": "hé"}},
		"another type":       {"post", block{"url": s.URL, "body": "<a/>", "headers": block{"content-type": "application/xml"}}, block{"Content-Type": "application/xml", "body": "<a/>"}},
		"delete":             {"delete", block{"url": s.URL + "/7"}, block{"method": "DELETE", "uri": "/7"}},
		"any method":         {"request", block{"url": s.URL, "method": "propfind", "body": "x"}, block{"method": "PROPFIND", "body": "x"}},
		"an empty body":      {"post", block{"url": s.URL}, block{"method": "POST", "body": ""}},
		"upper-case schemes": {"get", block{"url": strings.Replace(s.URL, "http", "HTTP", 1)}, block{"method": "GET"}},
	} {
		r, err := b.Call(c.tool, c.args)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		seen := fetchtest.Data(t, r, err)["json"].(map[string]any)
		for key, want := range c.want {
			got := seen[key]
			if h, ok := seen["header"].(map[string]any)[key].([]any); ok {
				got = h[0]
			}
			if got != want {
				t.Errorf("%s: %s is %v, want %v", name, key, got, want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, mirror)
	b := open(t, nil, block{"private_hosts": []any{"127.0.0.1"}, "denied_hosts": []any{"bad.example"},
		"allowed_methods": []any{"get", "POST"}})
	for name, c := range map[string]struct {
		tool   string
		args   block
		kind   tool.Kind
		errHas string
	}{
		"no scheme":            {"get", block{"url": "example.com/a"}, tool.Invalid, "did you mean https://example.com/a?"},
		"not a URL":            {"get", block{"url": "http://a b/"}, tool.Invalid, "is not a URL"},
		"a line end":           {"get", block{"url": "http://127.0.0.1/\r\nX: y"}, tool.Invalid, "is not a URL"},
		"a file":               {"get", block{"url": "file:///etc/passwd"}, tool.Denied, "scheme file"},
		"a socket":             {"get", block{"url": "ws://example.com"}, tool.Invalid, "web sockets"},
		"private":              {"get", block{"url": "http://10.0.0.1/"}, tool.Denied, "tools.modules.http.constraints.private_hosts"},
		"denied":               {"get", block{"url": "http://bad.example/"}, tool.Denied, "denied_hosts"},
		"a method":             {"put", block{"url": s.URL}, tool.Denied, "allows GET, POST"},
		"the host header":      {"get", block{"url": s.URL, "headers": block{"hOst": "x"}}, tool.Invalid, "is set by the client itself"},
		"the length":           {"post", block{"url": s.URL, "headers": block{"Content-Length": "5"}}, tool.Invalid, "is set by the client itself"},
		"chunks":               {"post", block{"url": s.URL, "headers": block{"Transfer-Encoding": "chunked"}}, tool.Invalid, "is set by the client itself"},
		"a hop":                {"get", block{"url": s.URL, "headers": block{"Connection": "X"}}, tool.Invalid, "is set by the client itself"},
		"a proxy's":            {"get", block{"url": s.URL, "headers": block{"Proxy-Authorization": "X"}}, tool.Invalid, "is set by the client itself"},
		"a line end in one":    {"get", block{"url": s.URL, "headers": block{"X": "a\r\nY: b"}}, tool.Invalid, "a line end"},
		"a line end in a name": {"get", block{"url": s.URL, "headers": block{"X\r\nY": "b"}}, tool.Invalid, "not the name of a header"},
		"two bodies":           {"post", block{"url": s.URL, "json": 1, "body": "x"}, tool.Invalid, "use one of them"},
		"a nested query":       {"get", block{"url": s.URL, "query": block{"a": block{"b": 1}}}, tool.Invalid, "query.a"},
		"nobody listens":       {"get", block{"url": "http://127.0.0.1:1/"}, tool.Failed, "refused the connection"},
		"no such host":         {"get", block{"url": "http://nothing.invalid/"}, "", ""},
		"a range of one's own": {"download", block{"url": s.URL, "path": "a", "headers": block{"range": "bytes=1-"}}, tool.Invalid, "set by the download itself"},
	} {
		_, err := b.Call(c.tool, c.args)
		if c.kind == "" {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v (%s), want %s %q", name, err, tool.KindOf(err), c.kind, c.errHas)
		}
		if e := new(tool.Error); errors.As(err, &e) && e.Op != "http."+c.tool {
			t.Errorf("%s: the error is of %s", name, e.Op)
		}
	}
}

func TestStatusesAreFailures(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Allow", "POST")
		w.Header().Set("Content-Type", "application/json")
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.WriteHeader(status)
		fmt.Fprint(w, `{"error":"`+strings.Repeat("why ", 4000)+`"}`)
	})
	b := open(t, nil, fetchtest.Local())
	for status, hint := range map[int]string{
		400: "the body says", 401: "credential_hosts", 403: "refuses", 404: "check the path", 405: "use one of POST", 409: "read it again",
		415: "content-type", 413: "send less", 422: "the body says", 429: "try again after 7 seconds", 500: "the server failed", 503: "after 7 seconds",
	} {
		r, err := b.Call("get", block{"url": fmt.Sprintf("%s/%d", s.URL, status)})
		if err != nil {
			t.Errorf("%d: %v", status, err)
			continue
		}
		if r.Status != tool.Failure || r.Error == nil || r.Error.Kind != tool.Failed ||
			!strings.Contains(r.Error.Hint, hint) || !strings.Contains(r.Summary, fmt.Sprint(status)) {
			t.Errorf("%d: %s %+v", status, r.Summary, r.Error)
		}
		if d := fetchtest.Data(t, r, err); d["status"] != float64(status) ||
			!strings.Contains(d["body"].(string), "why why") || len(r.Data) > 10<<10 {
			t.Errorf("%d: data %.200s", status, r.Data)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, mirror)
	b := open(t, nil, fetchtest.Local())
	r, err := b.Call("get", block{"url": s.URL + "/?to=" + "/%3Fto=/end"})
	d := fetchtest.Data(t, r, err)
	if d["url"] != s.URL+"/end" || len(d["redirects"].([]any)) != 2 || !strings.Contains(r.Summary, "after 2 redirects") {
		t.Errorf("%s %s", r.Summary, r.Data)
	}
	r, err = b.Call("get", block{"url": s.URL + "/?to=/end", "follow_redirects": false})
	d = fetchtest.Data(t, r, err)
	if d["status"] != float64(302) || d["headers"].(map[string]any)["location"] != "/end" ||
		!strings.Contains(r.Summary, "leads to /end") {
		t.Errorf("%s %s", r.Summary, r.Data)
	}
	if _, err = b.Call("get", block{"url": s.URL + "/?to=http://169.254.169.254/"}); tool.KindOf(err) != tool.Denied ||
		!strings.Contains(err.Error(), "redirects to where it may not be followed") {
		t.Errorf("to a metadata service: %v", err)
	}
}

// The app's secrets go only to their hosts.
func TestSecretsGoToTheirHosts(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, mirror)
	other := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	config := block{"credential_hosts": []any{"127.0.0.1"}, "headers": block{"localhost": block{"X-Key": "k-local"}}}
	b := open(t, config, fetchtest.Local())
	b.Grant.Credential = "hush"
	for name, c := range map[string]struct {
		url  string
		args block
		want string // Authorization and X-Key that arrived
	}{
		"its host":                  {s.URL, nil, "Bearer hush|"},
		"another":                   {other, nil, "|k-local"},
		"redirected to another":     {s.URL + "/?to=" + other, nil, "|"},
		"redirected from another":   {other + "/?to=" + s.URL, nil, "|"},
		"redirected on its host":    {s.URL + "/?to=/x", nil, "Bearer hush|"},
		"one of the call's own":     {other, block{"Authorization": "mine"}, "mine|k-local"},
		"the app's over the call's": {s.URL, block{"authorization": "mine"}, "Bearer hush|"},
		"the header likewise":       {other, block{"x-key": "mine"}, "|k-local"},
	} {
		args := block{"url": c.url}
		if c.args != nil {
			args["headers"] = c.args
		}
		r, err := b.Call("get", args)
		h := nethttp.Header{}
		for k, v := range fetchtest.Data(t, r, err)["json"].(map[string]any)["header"].(map[string]any) {
			h.Set(k, v.([]any)[0].(string))
		}
		if got := h.Get("Authorization") + "|" + h.Get("X-Key"); got != c.want {
			t.Errorf("%s: %q arrived, want %q", name, got, c.want)
		}
	}
	// Over plain http no secret is sent to a host that is not the app's own. The
	// host is reached here because its address is listed, not its name.
	m := http.ModuleWith(fetchtest.Options(fixedResolver{"127.0.0.1"}))
	b = fetchtest.Open(t, m, block{"credential_hosts": []any{"api.example.com"}},
		block{"private_hosts": []any{"127.0.0.0/8"}})
	b.Grant.Credential = "hush"
	r, err := b.Call("get", block{"url": strings.Replace(s.URL, "127.0.0.1", "api.example.com", 1)})
	if d := fetchtest.Data(t, r, err); strings.Contains(string(r.Data), "hush") || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "use https") {
		t.Errorf("%v %v", d, r.Warnings)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	m := http.Module()
	for name, c := range map[string]struct {
		config, constraints block
		errHas              string
	}{
		"a URL as a host":       {nil, block{"allowed_hosts": []any{"https://example.com"}}, "write the host alone"},
		"a bad prefix":          {nil, block{"private_hosts": []any{"10.0.0.0/99"}}, "10.0.0.0/99"},
		"headers without hosts": {block{"headers": block{"X-Key": "a"}}, nil, "headers are given for each host"},
		"a number as a header":  {block{"headers": block{"example.com": block{"X": 1}}}, nil, "must be a text"},
		"the host header":       {block{"headers": block{"example.com": block{"Host": "x"}}}, nil, "set by the client itself"},
		"a line end":            {block{"headers": block{"example.com": block{"X": "a\nb"}}}, nil, "line end"},
		"a bad agent":           {block{"user_agent": "a\nb"}, nil, "user_agent"},
		"a bad method":          {nil, block{"allowed_methods": []any{"GE T"}}, "not a method"},
		"too long":              {block{"timeout_seconds": 6000}, nil, "from 0.1 to 600"},
		"misspelt":              {nil, block{"alowed_hosts": []any{"a"}}, "alowed_hosts"},
		"a bad credential host": {block{"credential_hosts": []any{"a/b"}}, nil, "credential_hosts"},
	} {
		_, err := m.Read(c.config, c.constraints)
		if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.errHas) ||
			!strings.Contains(err.Error(), "tools.modules.http") {
			t.Errorf("%s: %v, want %q", name, err, c.errHas)
		}
	}
	if _, err := m.Read(block{"headers": block{"*.example.com": block{"X-Key": "v"}}, "timeout_seconds": 5},
		block{"allowed_hosts": []any{"*.example.com:443"}}); err != nil {
		t.Error(err)
	}
}
