package provider_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/llm"
	"callgate/tool"
)

func call(id, name, args string) llm.Part {
	return llm.Part{Call: &llm.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}}
}

// asBytes compares JSON as bytes; cmp would take minutes for the huge ones.
var asBytes = cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })

func start(usage string) string {
	return `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":` + usage + `}}`
}

// TestConformance has both adapters read the same response in their own JSON, and compares what they make of
// it.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		openai    []string
		anthropic []string
		want      llm.Response
	}{
		{
			"text", dialects[0].hello, dialects[1].hello,
			llm.Response{
				Stop: llm.StopEnd, Usage: llm.Usage{Input: 10, Output: 2},
				Message: llm.TextMessage(llm.Assistant, "Hello there"),
			},
		},
		{
			"a call in pieces",
			[]string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"fs__read","arguments":""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pa"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\":\"a\"}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			},
			[]string{
				start(`{}`),
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"fs__read","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"pa"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"th\":\"a\"}"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{}}`,
			},
			llm.Response{Stop: llm.StopTools, Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{call("c1", "fs__read", `{"path":"a"}`)}}},
		},
		{
			"text and two calls, one without arguments, with a cache",
			[]string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","content":"I look."}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ls","arguments":""}},{"index":1,"id":"c2","type":"function","function":{"name":"fs__read","arguments":"{\"path\":\"b\"}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
				`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":80,"cache_write_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}}`,
			},
			[]string{
				start(`{"input_tokens":10,"cache_read_input_tokens":80,"cache_creation_input_tokens":10,"output_tokens":1}`),
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"ping"}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I look."}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"ls","input":{}}}`,
				`{"type":"content_block_stop","index":1}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c2","name":"fs__read","input":{}}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"b\"}"}}`,
				`{"type":"content_block_stop","index":2}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20,"output_tokens_details":{"thinking_tokens":5}}}`,
			},
			llm.Response{
				Stop: llm.StopTools, Usage: llm.Usage{Input: 100, CachedInput: 80, CacheWrite: 10, Output: 20, Reasoning: 5},
				Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
					{Text: "I look."}, call("c1", "ls", `{}`), call("c2", "fs__read", `{"path":"b"}`),
				}},
			},
		},
		{
			"reasoning",
			[]string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"}}]}`,
				`{"choices":[{"index":0,"delta":{"reasoning_content":"m."}}]}`,
				`{"choices":[{"index":0,"delta":{"content":"42"}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			},
			[]string{
				start(`{}`),
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m."}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"seal"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"42"}}`,
				`{"type":"content_block_stop","index":1}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}`,
			},
			llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
				{Reasoning: &llm.Reasoning{Text: "hmm."}}, {Text: "42"},
			}}},
		},
		{
			"cut off in a call",
			[]string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"w","arguments":"{\"a\": \"b"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
			},
			[]string{
				start(`{}`),
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"w","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": \"b"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{}}`,
			},
			llm.Response{Stop: llm.StopLength, Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
				call("c1", "w", `"{\"a\": \"b"`),
			}}},
		},
		{
			"a refusal",
			[]string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","content":"No."}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`,
			},
			[]string{
				start(`{}`),
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"No."}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{}}`,
			},
			llm.Response{Stop: llm.StopRefusal, Message: llm.TextMessage(llm.Assistant, "No.")},
		},
		{
			"nothing at all",
			[]string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`},
			[]string{start(`{}`), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}`},
			llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.Assistant}},
		},
		{
			"huge arguments",
			[]string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"w","arguments":"{\"a\":\"` + strings.Repeat("x", 3<<20) + `"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + strings.Repeat("y", 3<<20) + `\"}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			},
			[]string{
				start(`{}`),
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"w","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"` + strings.Repeat("x", 3<<20) + `"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + strings.Repeat("y", 3<<20) + `\"}"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{}}`,
			},
			llm.Response{Stop: llm.StopTools, Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
				call("c1", "w", `{"a":"`+strings.Repeat("x", 3<<20)+strings.Repeat("y", 3<<20)+`"}`),
			}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, pieces := range [][]string{tc.openai, tc.anthropic} {
				d := dialects[i]
				s := serve(t, stream(d.events(pieces...)))
				got, seen, err := generate(t.Context(), d.once(t, s))
				if err != nil {
					t.Fatalf("%s: %v", d.name, err)
				}
				checkDeltas(t, d.name, got, seen)
				strip(got)
				if diff := cmp.Diff(&tc.want, got, asBytes); diff != "" {
					t.Errorf("%s:\n%.2000s", d.name, diff)
				}
				if got := s.paths[0]; got != d.path {
					t.Errorf("%s: asked at %s, want %s", d.name, got, d.path)
				}
			}
		})
	}
}

// checkDeltas compares what the watcher saw with the response.
func checkDeltas(t *testing.T, who string, got *llm.Response, seen *seenDeltas) {
	t.Helper()
	if seen.text.String() != got.Message.Text() {
		t.Errorf("%s: the watcher saw %.80q, the response says %.80q", who, seen.text.String(), got.Message.Text())
	}
	if n := strings.Count(seen.kinds.String(), "call_end"); n != len(got.Message.Calls()) {
		t.Errorf("%s: %d calls ended, the response has %d", who, n, len(got.Message.Calls()))
	}
	if !strings.HasSuffix(seen.kinds.String(), "end ") {
		t.Errorf("%s: the last delta is not the end: %s", who, seen.kinds.String())
	}
}

// strip removes what may differ between providers: names, signatures and prices.
func strip(r *llm.Response) {
	r.Model, r.Usage.Cost, r.Usage.Priced = "", 0, false
	for _, p := range r.Message.Parts {
		if p.Reasoning != nil {
			*p.Reasoning = llm.Reasoning{Text: p.Reasoning.Text}
		}
	}
}

// conversation returns a request with everything in it.
func conversation() llm.Request {
	hot := 0.5
	return llm.Request{
		System: "Be <brief> & kind.", MaxTokens: 100, Temperature: &hot, Stop: []string{"END"}, CacheKey: "session-1",
		Tools: []llm.ToolDef{
			{
				Name:        "fs__read",
				Description: "reads",
				Schema:      json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`),
			},
			{Name: "ls", Description: "lists"},
		},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: "look"}, {Image: &llm.Image{MIME: "image/png", Data: []byte{1, 2, 3}}}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Text: "I look."}, call("c1", "ls", `{}`), call("c2", "fs__read", `{"path":"b"}`)}},
			{Role: llm.Tool, Parts: []llm.Part{
				{Result: &llm.ToolResult{ID: "c2", Name: "fs__read", Content: []tool.Content{
					tool.Text("bee"), tool.Image("image/png", []byte{4}),
				}}},
				{Result: &llm.ToolResult{ID: "c1", Name: "ls", IsError: true, Content: []tool.Content{tool.Text("no")}}},
			}},
		},
	}
}

// TestStableBeginning compares the bodies of successive turns: a provider caches what they have in common from
// their beginning.
func TestStableBeginning(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t, stream(d.events(d.hello...)))
		m := d.once(t, s)
		req := conversation()
		for turn := range 5 {
			if _, err := m.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprint("d", turn)
			req.Messages = append(req.Messages,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "so"}, call(id, "ls", `{"z":1,"a":2}`)}},
				llm.Message{Role: llm.Tool, Parts: []llm.Part{
					{Result: &llm.ToolResult{ID: id, Name: "ls", Content: []tool.Content{tool.Text("x")}}},
				}})
		}
		const mark = `,"cache_control":{"type":"ephemeral"}`
		for i := range s.bodies[1:] {
			this, next := string(s.bodies[i]), string(s.bodies[i+1])
			if d.name == "anthropic" {
				if n := strings.Count(next, mark); n != 4 {
					t.Errorf("turn %d has %d marks, want those of the tools, the system and two messages", i+2, n)
				}
				this, next = strings.ReplaceAll(this, mark, ""), strings.ReplaceAll(next, mark, "")
			}
			begin, ok := strings.CutSuffix(this, "]}")
			if !ok || !strings.HasPrefix(next, begin+",") {
				t.Errorf("turn %d does not begin with turn %d:\n%s\n%s", i+2, i+1, this, next)
			}
			if !strings.Contains(begin, `"fs__read"`) || strings.Index(begin, `"tools"`) > strings.Index(begin, `"messages"`) {
				t.Errorf("the tools do not stand before the messages: %s", begin)
			}
		}
		if again := s.bodies[0]; len(again) > 0 {
			if _, err := m.Generate(t.Context(), conversation(), nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(again), string(s.bodies[len(s.bodies)-1])); diff != "" {
				t.Errorf("the same request gave other bytes:\n%s", diff)
			}
		}
	})
}

func TestKeysAreSent(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t, stream(d.events(d.hello...)))
		if _, _, err := generate(t.Context(), d.once(t, s)); err != nil {
			t.Fatal(err)
		}
		h := s.headers[0]
		want := http.Header{"Authorization": {"Bearer " + secretKey}}
		if d.name == "anthropic" {
			want = http.Header{"X-Api-Key": {secretKey}, "Anthropic-Version": {"2023-06-01"}}
		}
		for name := range want {
			if h.Get(name) != want.Get(name) {
				t.Errorf("header %s is %q, want %q", name, h.Get(name), want.Get(name))
			}
		}
	})
}
