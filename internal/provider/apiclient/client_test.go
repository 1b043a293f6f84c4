package apiclient_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// textAssembler takes the data of each event as text. A response is complete once the data "end" arrived.
type textAssembler struct {
	builder  *apiclient.ResponseBuilder
	complete bool
}

func newTextAssembler(b *apiclient.ResponseBuilder) apiclient.Assembler {
	return &textAssembler{builder: b}
}

func (a *textAssembler) Add(data []byte) (bool, error) {
	switch string(data) {
	case "end":
		a.complete = true
		return true, nil
	case "failure":
		return false, &apiclient.InlineError{Body: []byte(`{"message":"broken","code":503}`)}
	}
	a.builder.Text(string(data))
	return false, nil
}

func (a *textAssembler) AddWhole(data []byte) error {
	_, err := a.Add(data)
	a.complete = true
	return err
}

func (a *textAssembler) Finish() *llm.Response {
	if !a.complete {
		return nil
	}
	return a.builder.Finish(llm.StopEnd)
}

// server answers every request with one handler, and keeps the requests.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func serve(t *testing.T, handler http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// answer sends a status, a Content-Type and a body.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// sse sends a stream.
func sse(stream string) http.HandlerFunc { return answer(200, "text/event-stream", stream) }

const stream = "data: a\n\ndata: b\n\ndata: end\n\n"

var events = sse(stream)

// ask posts a body to an endpoint of the server.
func ask(ctx context.Context, s *server, e apiclient.Endpoint, header http.Header) (*llm.Response, error) {
	e.Provider = "p"
	if e.BaseURL == "" {
		e.BaseURL = s.URL
	}
	encode := func(*apiclient.Params) any { return map[string]string{"text": "<b> & é"} }
	return apiclient.New(e, "path", header).Generate(ctx, encode, newTextAssembler, nil)
}

func asError(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want an *llm.Error", err, err)
	}
	return e
}

// TestRequest holds what a request sends, and that nothing else is sent.
func TestRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, events)
	res, err := ask(t.Context(), s, apiclient.Endpoint{
		Headers: map[string]string{"x-own": "1", "Anthropic-Version": "own", "accept": "text/event-stream"},
	}, http.Header{"Authorization": {"Bearer k"}, "Anthropic-Version": {"2023-06-01"}})
	if err != nil || res.Message.Text() != "ab" {
		t.Fatalf("response %+v, %v", res, err)
	}
	want := map[string]string{
		"Accept": "text/event-stream", "Content-Type": "application/json", "User-Agent": "callgate",
		"Authorization": "Bearer k", "Anthropic-Version": "own", "X-Own": "1",
		"Accept-Encoding": "gzip", "Content-Length": "19", // both set by the transport
	}
	got := s.requests[0].Header
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("header %s is %q, want %q", name, got.Get(name), value)
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("header %s: %q is sent without need", name, got[name])
		}
	}
	if r := s.requests[0]; r.Method != "POST" || r.ContentLength != 19 || s.bodies[0] != `{"text":"<b> & é"}` {
		t.Errorf("%s of %d bytes: %s", r.Method, r.ContentLength, s.bodies[0])
	}
}

func TestHeadersByDefault(t *testing.T) {
	t.Parallel()
	s := serve(t, events)
	e := apiclient.Endpoint{Headers: map[string]string{"User-Agent": "own/1"}}
	if _, err := ask(t.Context(), s, e, nil); err != nil {
		t.Fatal(err)
	}
	h := s.requests[0].Header
	if h.Get("Accept") != "application/json" || h.Get("User-Agent") != "own/1" || h.Get("Authorization") != "" {
		t.Errorf("headers %v", h)
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	s := serve(t, events)
	for base, want := range map[string]string{
		"": "/path", "/": "/path", "/v1": "/v1/path", "/v1/": "/v1/path", "/v1//": "/v1/path",
		"/a/b%2Fc/v1": "/a/b%2Fc/v1/path",
	} {
		if _, err := ask(t.Context(), s, apiclient.Endpoint{BaseURL: s.URL + base}, nil); err != nil {
			t.Fatal(err)
		}
		if got := s.requests[len(s.requests)-1].URL.EscapedPath(); got != want {
			t.Errorf("base URL %q: asked at %s, want %s", base, got, want)
		}
	}
	_, err := ask(t.Context(), s, apiclient.Endpoint{BaseURL: "http://hunter2\x7f"}, nil)
	if e := asError(t, err); e.Kind != llm.BadRequest || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("not a URL: %v", err)
	}
}

// TestRedirectsAreNotFollowed: net/http would carry every header but Authorization to another host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := serve(t, events)
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		for name, client := range map[string]*http.Client{"no client": nil, "a client that follows": {}} {
			_, err := ask(t.Context(), s, apiclient.Endpoint{HTTP: client}, http.Header{"X-Api-Key": {"k"}})
			e := asError(t, err)
			if e.Kind != llm.BadRequest || e.Status != status || other.count() != 0 {
				t.Errorf("%d with %s: %v, and %d requests elsewhere", status, name, err, other.count())
			}
		}
	}
	s := serve(t, answer(307, "text/plain", ""))
	_, err := ask(t.Context(), s, apiclient.Endpoint{}, nil)
	if !strings.Contains(err.Error(), "set the base URL") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

// TestNothingIsRepeated: package provider decides about retries, even where a server asks for one.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 409, 429, 500, 503, 529} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Should-Retry", "true")
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		})
		_, err := ask(t.Context(), s, apiclient.Endpoint{}, nil)
		if e := asError(t, err); e.Status != status || s.count() != 1 {
			t.Errorf("%v after %d requests", e, s.count())
		}
	}
}

func TestCompressedResponses(t *testing.T) {
	t.Parallel()
	compressed := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("accepts %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(status)
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, body)
			_ = z.Close()
		}
	}
	res, err := ask(t.Context(), serve(t, compressed(200, stream)), apiclient.Endpoint{}, nil)
	if err != nil || res.Message.Text() != "ab" {
		t.Errorf("response %+v, %v", res, err)
	}
	_, err = ask(t.Context(), serve(t, compressed(500, `{"error":"squeezed"}`)), apiclient.Endpoint{}, nil)
	if e := asError(t, err); e.Message != "squeezed" {
		t.Errorf("error %v", err)
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		text    string
		kind    llm.Kind // "" for a response
		says    string
		partial string
	}{
		{"a stream", events, "ab", "", "", ""},
		{"a stream without a Content-Type", answer(200, "", stream), "ab", "", "", ""},
		{"empty data and comments", sse(": hi\n\ndata:\n\ndata: a\n\ndata: end\n\n"), "a", "", "", ""},
		{"without the last empty line", sse("data: a\n\ndata: end"), "a", "", "", ""},
		{"more after the end", sse(stream + "data: c\n\nevent: error\ndata: x\n\n"), "ab", "", "", ""},
		{"not a stream", answer(200, "application/json; charset=utf-8", "whole"), "whole", "", "", ""},
		{"an early end", sse("data: a\n\n"), "", llm.BrokenStream, "ended too early", "a"},
		{"no response", answer(204, "text/event-stream", ""), "", llm.BrokenStream, "ended too early", ""},
		{"an error event", sse("event: error\ndata: {\"message\":\"slow down\",\"code\":429}\n\n"),
			"", llm.RateLimited, "slow down", ""},
		{"an error event, not JSON", sse("event: error\ndata: overloaded\n\n"),
			"", llm.Overloaded, "overloaded", ""},
		{"an error event later", sse("data: a\n\nevent: error\ndata: {\"code\":529,\"message\":\"m\"}\n\n"),
			"", llm.BrokenStream, "m", "a"},
		{"an error that the assembler finds", sse("data: failure\n\n"), "", llm.Overloaded, "broken", ""},
		{"an error that is not a stream", answer(200, "application/json", "failure"), "", llm.Overloaded, "broken", ""},
		{"a web page", answer(200, "text/html", "<html>"), "", llm.BadRequest, "base URL", ""},
		{"overloaded", answer(529, "application/json", "{}"), "", llm.Overloaded, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res, err := ask(t.Context(), serve(t, tc.handler), apiclient.Endpoint{}, nil)
			if tc.kind == "" {
				if err != nil || res.Message.Text() != tc.text {
					t.Errorf("response %+v, %v; want %q", res, err, tc.text)
				}
				return
			}
			e := asError(t, err)
			if res != nil || e.Kind != tc.kind || !strings.Contains(e.Message, tc.says) {
				t.Errorf("error %v, want %s that says %q", e, tc.kind, tc.says)
			}
			if got := e.Partial; (got == nil) != (tc.partial == "") || got != nil && got.Message.Text() != tc.partial {
				t.Errorf("partial response %.100v, want %.100q", got, tc.partial)
			}
		})
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, header, value, body, want string }{
		{"Anthropic's header", "request-id", "req_011CSHoEeqs5C35K2UUqR7Fy", "", "req_011CSHoEeqs5C35K2UUqR7Fy"},
		{"OpenAI's header", "x-request-id", "6f7e9f0d-1c", "", "6f7e9f0d-1c"},
		{"in the body", "", "", `{"type":"error","error":{"message":"m"},"request_id":"req_1"}`, "req_1"},
		{"the header goes first", "request-id", "req_2", `{"request_id":"req_1"}`, "req_2"},
		{"not an id", "request-id", "a b\tc", "", ""},
		{"too long", "request-id", strings.Repeat("x", 200), "", ""},
		{"our key", "request-id", "hunter2-secret", "", ""},
		{"a key", "request-id", "sk-0123456789abcdef", "", ""},
		{"none", "", "", "{}", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for name, send := range map[string]http.HandlerFunc{
				"an error status":   answer(500, "application/json", tc.body),
				"an error event":    sse("event: error\ndata: " + tc.body + "\n\n"),
				"an error later on": sse("data: a\n\nevent: error\ndata: " + tc.body + "\n\n"),
			} {
				s := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if tc.header != "" {
						w.Header().Set(tc.header, tc.value)
					}
					send(w, r)
				})
				_, err := ask(t.Context(), s, apiclient.Endpoint{Key: "hunter2-secret"}, nil)
				e := asError(t, err)
				if e.RequestID != tc.want || strings.Contains(err.Error(), "request ") != (tc.want != "") {
					t.Errorf("%s: id %q, want %q; error %q", name, e.RequestID, tc.want, err)
				}
			}
		})
	}
}

// TestResponsesAreBounded has a server send without an end.
func TestResponsesAreBounded(t *testing.T) {
	t.Parallel()
	for contentType, event := range map[string]string{
		"text/event-stream": "data: " + strings.Repeat("x", 16<<10-8) + "\n\n",
		"application/json":  strings.Repeat("x", 64<<10),
	} {
		transport := roundTripper(func(*http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {contentType}}
			return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(endless(event))}, nil
		})
		e := apiclient.Endpoint{BaseURL: "http://host", HTTP: &http.Client{Transport: transport}}
		_, err := ask(t.Context(), nil, e, nil)
		if e := asError(t, err); e.Kind != llm.BrokenStream || !strings.Contains(e.Message, "too long") {
			t.Errorf("%s: %v", contentType, err)
		}
	}
}

// TestConcurrentRequests has one client answer many callers.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, events)
	c := apiclient.New(apiclient.Endpoint{BaseURL: s.URL}, "path", http.Header{"Authorization": {"Bearer k"}})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			encode := func(p *apiclient.Params) any { return p.Accepts("temperature", "temperature") }
			res, err := c.Generate(t.Context(), encode, newTextAssembler, func(llm.Delta) {})
			if err != nil || res.Message.Text() != "ab" {
				t.Errorf("response %+v, %v", res, err)
			}
		})
	}
	all.Wait()
	if s.count() != 20 {
		t.Errorf("%d requests", s.count())
	}
}
