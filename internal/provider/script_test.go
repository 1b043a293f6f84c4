package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/provider"
	"callgate/llm"
)

// dialect is one API for the scripted server.
type dialect struct {
	name     string
	provider string
	model    string
	path     string
	events   func(pieces ...string) string // returns a complete stream
	open     func(pieces ...string) string // returns a stream without its end
	hello    []string                      // the pieces of a response that says "Hello there"
}

var dialects = []dialect{
	{
		name: "openai", provider: "openai", model: "gpt-4o", path: "/v1/chat/completions",
		events: func(pieces ...string) string { return chat(pieces...) + "data: [DONE]\n\n" },
		open:   chat,
		hello: []string{
			`{"model":"gpt-4o","choices":[],"prompt_filter_results":[]}`,
			`{"model":"gpt-4o","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
			`{"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}`,
			`{"model":"gpt-4o","choices":[{"index":0,"delta":{"content":" there"},"finish_reason":null}]}`,
			`{"model":"gpt-4o","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`,
		},
	},
	{
		name: "anthropic", provider: "anthropic", model: "claude-sonnet-4-5", path: "/v1/messages",
		events: func(pieces ...string) string { return messages(append(pieces, `{"type":"message_stop"}`)...) },
		open:   messages,
		hello: []string{
			`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" there"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`,
		},
	},
}

func chat(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "data: %s\n\n", p)
	}
	return b.String()
}

func messages(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		var e struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(p), &e)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, p)
	}
	return b.String()
}

// server plays a provider. It answers each request with the next of its answers and repeats the last one. It
// keeps the requests.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	answers []http.HandlerFunc
	bodies  [][]byte
	headers []http.Header
	paths   []string
}

func serve(t testing.TB, answers ...http.HandlerFunc) *server {
	s := &server{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.bodies, s.paths = append(s.bodies, body), append(s.paths, r.URL.Path)
		s.headers = append(s.headers, r.Header.Clone())
		next := s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		s.mu.Unlock()
		next(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// stream answers with an event stream.
func stream(events string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
	}
}

// fail answers with a status, a body, and headers given as name, value, name, value.
func fail(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// tear answers with an event stream and then cuts the connection.
func tear(events string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

const secretKey = "sk-test-0123456789abcdef"

// once opens a model that does not retry.
func (d dialect) once(t testing.TB, s *server) llm.Model {
	return d.with(t, s, provider.Config{Retry: provider.Retry{Attempts: 1}})
}

// with opens a model at the server.
func (d dialect) with(t testing.TB, s *server, cfg provider.Config) llm.Model {
	t.Helper()
	cfg.Provider, cfg.Model, cfg.Key, cfg.BaseURL = d.provider, d.model, secretKey, s.URL+"/v1"
	cfg.Env = func(string) string { return "" }
	m, _, err := provider.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// quick retries without waiting.
var quick = provider.Retry{Base: time.Nanosecond, MaxDelay: time.Nanosecond}

// eachDialect runs a test over both adapters.
func eachDialect(t *testing.T, f func(t *testing.T, d dialect)) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) { f(t, d) })
	}
}

var ask = llm.Request{Messages: []llm.Message{llm.TextMessage(llm.User, "hi")}}

// seenDeltas sums up what a watcher saw.
type seenDeltas struct{ text, args, kinds strings.Builder }

func (s *seenDeltas) watch(d llm.Delta) {
	s.kinds.WriteString(string(d.Kind) + " ")
	switch d.Kind {
	case llm.DeltaText:
		s.text.WriteString(d.Text)
	case llm.DeltaRetry:
		if d.Retry.Replaces {
			s.text.WriteString("|")
		}
	case llm.DeltaArgs:
		s.args.WriteString(d.Text)
	}
}

func generate(ctx context.Context, m llm.Model) (*llm.Response, *seenDeltas, error) {
	s := &seenDeltas{}
	res, err := m.Generate(ctx, ask, s.watch)
	return res, s, err
}
