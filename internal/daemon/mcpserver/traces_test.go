package mcpserver_test

import (
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	collectmetrics "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/observe"
	"callgate/internal/observe/otlp"
	"callgate/internal/protocol"
)

// collector is a collector of OpenTelemetry on loopback.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*traces.Span
	metrics map[string]bool
	raw     []byte
}

func newCollector(t *testing.T) *collector {
	c := &collector{metrics: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw = append(c.raw, body...)
		if r.URL.Path == "/v1/metrics" {
			var m collectmetrics.ExportMetricsServiceRequest
			if err := proto.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			for _, one := range m.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
				c.metrics[one.GetName()] = true
			}
			return
		}
		var m collecttraces.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", r.URL, r.Header, err)
		}
		c.spans = append(c.spans, m.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()...)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) named(t *testing.T, prefix string) (found []*traces.Span) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if strings.HasPrefix(s.GetName(), prefix) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no span %s among %d", prefix, len(c.spans))
	}
	return found
}

func attribute(s *traces.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

func parentOf(span *traces.Span) string {
	return "00-" + hex.EncodeToString(span.GetTraceId()) + "-" + hex.EncodeToString(span.GetSpanId()) + "-01"
}

// heard is what others were told of the trace.
type heard struct {
	mu   sync.Mutex
	said map[string]bool
}

func (h *heard) hear(from, place string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said[from+" "+place] = true
}

const hidden = "words-that-no-collector-sees"

// A turn is one trace: the agent's turn, the requests to its model, its calls, and the requests to MCP servers; the
// provider and the server are told their place in it. No argument and no result is in it.
func TestTurnIsOneTrace(t *testing.T) {
	t.Parallel()
	told := &heard{said: map[string]bool{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	type args struct {
		Text string `json:"text"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo", Description: "Echo a text", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *sdk.CallToolRequest, a args) (*sdk.CallToolResult, any, error) {
			place, _ := r.Params.Meta["traceparent"].(string)
			told.hear("meta", place)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Text}}}, nil, nil
		})
	far := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	farAt := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told.hear("header", r.Header.Get("Traceparent"))
		far.ServeHTTP(w, r)
	}))
	t.Cleanup(farAt.Close)
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`mcp_far__echo {"text":"` + hidden + `"}`}}, kerneltest.Answer{Text: hidden})
	modelAt := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told.hear("model", r.Header.Get("Traceparent"))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(modelAt.Close)
	at := newCollector(t)
	settings, err := otlp.Read(at.URL, func(string) string { return "" })
	kerneltest.OK(t, err)
	exporter := otlp.Start(settings, slog.New(slog.DiscardHandler))
	folder := t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), `
agents: [{id: main, brain: {provider: openai, model: gpt-4o, config: {base_url: "`+modelAt.URL+`", api_key: key}}}]
runtime: {tool_injection: direct}
tools:
  modules: {mcp: {config: {servers: {far: {url: "`+farAt.URL+`"}}}}}
  capabilities: {default_policy: auto}
`)
	d, err := daemon.Start(observe.With(t.Context(), exporter), kernel.Config{
		State: kerneltest.StateDir(t), UserFile: filepath.Join(t.TempDir(), "none.yaml"),
	})
	kerneltest.OK(t, err)
	exporter.Metrics(d.Families)
	s := kerneltest.OpenAccepted(t, d.Kernel, folder)
	kerneltest.AcceptServers(t, d.Kernel, s)
	s.Close()
	c := client.New(client.Options{Dial: d.Dial})
	talk, err := c.OpenConversation(t.Context(), protocol.OpenConversation{OpenSession: protocol.OpenSession{Workspace: folder}})
	kerneltest.OK(t, err)
	for e, err := range talk.Send(t.Context(), hidden) {
		kerneltest.OK(t, err)
		if e.End != nil && e.End.Reason != "done" {
			t.Errorf("%+v", e.End)
		}
	}
	kerneltest.OK(t, talk.Close(t.Context()))
	c.Close()
	exporter.Close()
	kerneltest.OK(t, d.Stop())

	turn, chats := at.named(t, "invoke_agent main")[0], at.named(t, "chat gpt-4o")
	call, request := at.named(t, "execute_tool mcp_far.echo")[0], at.named(t, "tools/call far")[0]
	if len(chats) != 2 {
		t.Errorf("%d chats", len(chats))
	}
	for _, below := range []struct{ child, parent *traces.Span }{{chats[0], turn}, {chats[1], turn}, {call, turn}, {request, call}} {
		if string(below.child.GetTraceId()) != string(turn.GetTraceId()) ||
			string(below.child.GetParentSpanId()) != string(below.parent.GetSpanId()) {
			t.Errorf("%s is not within %s", below.child.GetName(), below.parent.GetName())
		}
	}
	for _, want := range []string{"meta " + parentOf(request), "header " + parentOf(request), "model " + parentOf(chats[0])} {
		if !told.said[want] {
			t.Errorf("nobody was told %s, but %v", want, told.said)
		}
	}
	for key, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mcp_far.echo", "callgate.outcome": "success",
	} {
		if got := attribute(call, key); got != want {
			t.Errorf("%s is %q", key, got)
		}
	}
	if attribute(chats[0], "gen_ai.request.model") != "gpt-4o" || attribute(chats[0], "gen_ai.provider.name") != "openai" {
		t.Errorf("%v", chats[0])
	}
	if strings.Contains(string(at.raw), hidden) {
		t.Error("content was sent")
	}
	if !at.metrics["callgate_calls_total"] || !at.metrics["callgate_model_tokens_total"] {
		t.Errorf("metrics: %v", at.metrics)
	}
	if n := exporter.Counts(); n["sent"] == 0 || n["dropped"]+n["failed"] != 0 {
		t.Errorf("%v", n)
	}
}

// A collector that never answers fails no call, and has none wait.
func TestDeadCollector(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	at := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stuck:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(at.Close)
	settings, err := otlp.Read(at.URL, func(string) string { return "" })
	kerneltest.OK(t, err)
	exporter := otlp.Start(settings, slog.New(slog.DiscardHandler))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenSession(t, k, t.TempDir())
	ctx := observe.With(t.Context(), exporter)
	for range 6000 { // more than the queue holds
		_, span := observe.Start(ctx, observe.Internal, "filler")
		span.Finish("")
	}
	for range 50 { // which would not end if one of them waited
		if r := s.Call(ctx, session.CallRequest{Name: "filesystem.list", Args: []byte(`{"path":"."}`)}); r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	if n := exporter.Counts(); n["dropped"] == 0 || n["sent"] != 0 {
		t.Errorf("what became of the spans: %v", n)
	}
	close(stuck) // how long closing waits for a collector is in the tests of the exporter
	exporter.Close()
}

// ended keeps the spans that have ended.
type ended struct {
	mu    sync.Mutex
	spans []*observe.Span
}

func (e *ended) Ended(s *observe.Span) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans = append(e.spans, s)
}

// named returns the span of a name, once it has ended.
func (e *ended) named(t *testing.T, name string) (found *observe.Span) {
	t.Helper()
	kerneltest.Eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, s := range e.spans {
			if s.Name == name {
				found = s
			}
		}
		return found != nil
	})
	return found
}

// The call of a client is within what the client does, if it says so in the call's _meta; what nobody can read changes
// nothing.
func TestCallIsWithinItsClientsTrace(t *testing.T) {
	t.Parallel()
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for name, c := range map[string]struct {
		meta sdk.Meta
		want string // the trace and its parent; "": one of its own
	}{
		"in a trace":       {sdk.Meta{"traceparent": "00-" + trace + "-" + parent + "-01"}, trace + " " + parent},
		"in none":          {nil, ""},
		"not to be read":   {sdk.Meta{"traceparent": "00-" + trace + "-" + parent + "\r\n"}, ""},
		"of another kind":  {sdk.Meta{"traceparent": 7}, ""},
		"nobody's at all":  {sdk.Meta{"traceparent": "00-" + strings.Repeat("0", 32) + "-" + parent + "-01"}, ""},
		"in another place": {sdk.Meta{"tracestate": "a=b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, kept := newFixture(t, kernel.Config{}), &ended{}
			ours, theirs := net.Pipe()
			f.serves.Go(func() { _ = f.server.Serve(observe.With(context.Background(), kept), theirs, f.opt) })
			client := sdk.NewClient(&sdk.Implementation{Name: "tracer", Version: "1"}, nil)
			s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: ours, Writer: ours}, nil)
			ok(t, err)
			defer s.Close()
			_, err = s.CallTool(t.Context(), &sdk.CallToolParams{Meta: c.meta, Name: "demo.large", Arguments: map[string]any{}})
			ok(t, err)
			span := kept.named(t, "execute_tool demo.large")
			got := hex.EncodeToString(span.Trace[:]) + " " + hex.EncodeToString(span.Parent[:])
			if c.want != "" && got != c.want || c.want == "" && strings.HasPrefix(got, trace) {
				t.Errorf("the call is in %s", got)
			}
		})
	}
}
