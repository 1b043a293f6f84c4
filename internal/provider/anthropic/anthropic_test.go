package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/provider/anthropic"
	"callgate/internal/provider/apiclient"
	"callgate/llm"
	"callgate/tool"
)

// wire is a transport that answers without a network and keeps the requests.
type wire struct {
	answers []answer
	bodies  []string
	urls    []string
}

type answer struct {
	status int
	body   string
	json   bool // not a stream
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	w.bodies, w.urls = append(w.bodies, string(body)), append(w.urls, req.URL.String())
	a := w.answers[min(len(w.bodies), len(w.answers))-1]
	header := http.Header{"Content-Type": {"text/event-stream"}}
	if a.json {
		header.Set("Content-Type", "application/json")
	}
	return &http.Response{
		StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body)), Request: req,
	}, nil
}

// events returns a stream of the given events, between its first and its last one.
func events(pieces ...string) answer {
	var b strings.Builder
	all := append([]string{`{"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":1,"output_tokens":1}}}`}, pieces...)
	for _, p := range append(all, `{"type":"message_stop"}`) {
		_, after, _ := strings.Cut(p, `"type":"`)
		kind, _, _ := strings.Cut(after, `"`)
		b.WriteString("event: " + kind + "\ndata: " + p + "\n\n")
	}
	return answer{status: 200, body: b.String()}
}

func client(model string, answers ...answer) (*anthropic.Client, *wire) {
	w := &wire{answers: answers}
	return anthropic.New(anthropic.Config{Model: model, Endpoint: apiclient.Endpoint{
		Provider: "anthropic", BaseURL: "https://host/v1/", HTTP: &http.Client{Transport: w},
	}}), w
}

func generate(t *testing.T, c *anthropic.Client, req llm.Request) *llm.Response {
	t.Helper()
	res, err := c.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func result(id string, content ...tool.Content) llm.Part {
	return llm.Part{Result: &llm.ToolResult{ID: id, Name: "ls", Content: content}}
}

func called(id, args string) llm.Part {
	return llm.Part{Call: &llm.ToolCall{ID: id, Name: "ls", Args: json.RawMessage(args)}}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	hot := 0.5
	failed := result("a", tool.Text("no"))
	failed.Result.IsError = true
	c, w := client("claude-sonnet-4-5", events())
	generate(t, c, llm.Request{
		System: "Be <brief>.", MaxTokens: 9, Temperature: &hot, Stop: []string{"END"}, ToolChoice: "required",
		Tools: []llm.ToolDef{
			{Name: "ls", Description: "lists", Schema: json.RawMessage(`{"type":"object", "properties":{"z":{},"a":{}}}`)},
			{Name: "now"},
		},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{
				{Text: "look"}, {Text: "  "}, {Image: &llm.Image{MIME: "image/png", Data: []byte{1}}},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{{Text: "I look."}, called("a", `{"x":1}`), called("b/é", `"{broken"`), called("c", ``)}},
			// The results come in another order than the calls, in two messages, with the user's text between.
			{Role: llm.Tool, Parts: []llm.Part{
				result("c"), result("b/é", tool.Text("bee"), tool.Image("image/png", []byte{2})),
			}},
			llm.TextMessage(llm.User, "hurry"),
			{Role: llm.Tool, Parts: []llm.Part{failed}},
			llm.TextMessage(llm.System, "a note"),
			{Role: llm.Assistant},
			llm.TextMessage(llm.User, "more"),
		},
	})
	_, after, _ := strings.Cut(w.bodies[0], `"id":"toolu_`)
	id, _, _ := strings.Cut(after, `"`)
	want := `{"model":"claude-sonnet-4-5","stream":true,"max_tokens":9,"temperature":0.5,"stop_sequences":["END"],"tool_choice":{"type":"any"},` +
		`"tools":[{"name":"ls","description":"lists","input_schema":{"type":"object","properties":{"z":{},"a":{}}}},{"name":"now","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],` +
		`"system":[{"type":"text","text":"Be <brief>.","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQ=="},"cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"ls","input":{"x":1}},{"type":"tool_use","id":"toolu_` + id + `","name":"ls","input":{"malformed_arguments":"{broken"}},{"type":"tool_use","id":"c","name":"ls","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"no"}],"is_error":true},` +
		`{"type":"tool_result","tool_use_id":"toolu_` + id + `","content":[{"type":"text","text":"bee"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"Ag=="}}]},` +
		`{"type":"tool_result","tool_use_id":"c"},{"type":"text","text":"hurry"},{"type":"text","text":"a note"},{"type":"text","text":"more","cache_control":{"type":"ephemeral"}}]}]}`
	if diff := cmp.Diff(want, w.bodies[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := w.urls[0], "https://host/v1/messages"; got != want {
		t.Errorf("asked at %s, want %s", got, want)
	}
}

func TestNoCache(t *testing.T) {
	t.Parallel()
	c, w := client("claude-x", events())
	generate(t, c, llm.Request{
		System: "s", NoCache: true, Tools: []llm.ToolDef{{Name: "x"}},
		Messages: []llm.Message{llm.TextMessage(llm.User, "hi")},
	})
	if strings.Contains(w.bodies[0], "cache_control") || !strings.Contains(w.bodies[0], `"max_tokens":8192`) {
		t.Errorf("cache marks, or no limit: %s", w.bodies[0])
	}
}

// TestReasoningGoesBack: what the model signed goes back to it unchanged, and to no other model.
func TestReasoningGoesBack(t *testing.T) {
	t.Parallel()
	answer := events(
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"seal-of-nothing"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"secret"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"ls","input":{}}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"signature_delta","signature":"seal"}}`,
		`{"type":"content_block_stop","index":3}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"b","name":"ls","input":{"whole":1}}}`,
		`{"type":"content_block_stop","index":4}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`,
	)
	c, w := client("claude-x", answer)
	res := generate(t, c, llm.Request{})
	again := llm.Request{Messages: []llm.Message{
		llm.TextMessage(llm.User, "hi"), res.Message, {Role: llm.Tool, Parts: []llm.Part{result("a"), result("b")}},
	}}
	generate(t, c, again)
	want := `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"seal-of-nothing"},{"type":"redacted_thinking","data":"secret"},{"type":"tool_use","id":"a","name":"ls","input":{}},` +
		`{"type":"thinking","thinking":"hm","signature":"seal"},{"type":"tool_use","id":"b","name":"ls","input":{"whole":1}}]}`
	if !strings.Contains(w.bodies[1], want) {
		t.Errorf("got  %s\nwant %s", w.bodies[1], want)
	}
	again.Model = "claude-y"
	generate(t, c, again)
	if strings.Contains(w.bodies[2], "thinking") || !strings.Contains(w.bodies[2], `"tool_use"`) {
		t.Errorf("another model got the reasoning: %s", w.bodies[2])
	}
	data, err := json.Marshal(res.Message)
	if err != nil {
		t.Fatal(err)
	}
	var kept llm.Message
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res.Message, kept); diff != "" {
		t.Errorf("a conversation that stores them as JSON loses something:\n%s", diff)
	}
}

func TestEffort(t *testing.T) {
	t.Parallel()
	hot := 0.5
	for _, tc := range []struct{ model, has, lacks string }{
		{"claude-sonnet-4-5-20250929", `"max_tokens":2148,"thinking":{"type":"enabled","budget_tokens":2048}`, "temperature"},
		{"claude-opus-5-5", `"max_tokens":100,"temperature":0.5,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}`, "budget"},
	} {
		c, w := client(tc.model, events())
		res := generate(t, c, llm.Request{MaxTokens: 100, Effort: "low", Temperature: &hot})
		if !strings.Contains(w.bodies[0], tc.has) || strings.Contains(w.bodies[0], tc.lacks) {
			t.Errorf("%s: %s", tc.model, w.bodies[0])
		}
		if warned := len(res.Warnings) > 0; warned != (tc.lacks == "temperature") {
			t.Errorf("%s: warnings %q", tc.model, res.Warnings)
		}
	}
}

func TestRejectedParameters(t *testing.T) {
	t.Parallel()
	hot := 0.5
	c, w := client(
		"claude-opus-5-5",
		answer{
			status: 400,
			body:   `{"type":"error","error":{"type":"invalid_request_error","message":"temperature is deprecated for this model"}}`,
		},
		events(),
	)
	for range 2 {
		res := generate(t, c, llm.Request{Temperature: &hot})
		if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "temperature") {
			t.Errorf("warnings %q", res.Warnings)
		}
	}
	if len(w.bodies) != 3 || strings.Contains(w.bodies[2], "temperature") {
		t.Errorf("%d requests, the last %s", len(w.bodies), w.bodies[len(w.bodies)-1])
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]llm.Stop{
		"end_turn": llm.StopEnd, "stop_sequence": llm.StopEnd, "max_tokens": llm.StopLength,
		"model_context_window_exceeded": llm.StopLength, "refusal": llm.StopRefusal,
		"pause_turn": llm.StopPause, "something new": llm.StopEnd,
	} {
		c, _ := client(
			"claude-x",
			events(
				`{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_details":{"type":"refusal","explanation":"because"}},"usage":{}}`,
			),
		)
		if res := generate(t, c, llm.Request{}); res.Stop != want || len(res.Warnings) != 1 {
			t.Errorf("%s: %+v, want %s", reason, res, want)
		}
	}
}

func TestErrorsInsideAStream(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Kind{
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                 llm.Overloaded,
		`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`:                       llm.RateLimited,
		`{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`:             llm.Unavailable,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`:    llm.ContextOverflow,
		`{"type":"error","error":{"type":"invalid_request_error","message":"messages: wrong order"}}`: llm.BadRequest,
		`no JSON`: llm.Unavailable,
	} {
		c, _ := client("claude-x", answer{status: 200, body: "event: error\ndata: " + body + "\n\n"})
		_, err := c.Generate(t.Context(), llm.Request{}, nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != want || strings.Contains(err.Error(), "https://") {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// streamOf returns a stream of events without types.
func streamOf(data ...string) answer {
	return answer{status: 200, body: "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"}
}

// TestOtherServers reads what servers send that are only compatible with the API.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	const hello = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}`
	const stop = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`
	const message = `{"type":"message","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"s"},` +
		`{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"ls","input":{"x":1}},` +
		`{"type":"tool_use","id":"b","name":"ls"}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2}}`
	for _, tc := range []struct {
		name   string
		answer answer
		text   string
		calls  string
		usage  llm.Usage
		kind   llm.Kind // "" for a response
	}{
		{"events without a type", streamOf(hello, stop), "hi", "", llm.Usage{Output: 2}, ""},
		{"[DONE] at the end", streamOf(hello, stop, "[DONE]"), "hi", "", llm.Usage{Output: 2}, ""},
		{"[DONE] in place of an end", streamOf(hello, "[DONE]"), "", "", llm.Usage{}, llm.BrokenStream},
		{"no empty line at the end", answer{status: 200, body: strings.TrimSpace(streamOf(hello, stop).body)},
			"hi", "", llm.Usage{Output: 2}, ""},
		{"a field of another type", streamOf(`{"type":"ping","index":"x","delta":[]}`, stop), "", "", llm.Usage{Output: 2}, ""},
		{"an error without its event", streamOf(`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`),
			"", "", llm.Usage{}, llm.Overloaded},
		{"an error without a type", streamOf(`{"error":{"message":"m","code":402}}`), "", "", llm.Usage{}, llm.Billing},
		{"not a stream", answer{200, message, true}, "hi", `ls {"x":1}; ls {}`, llm.Usage{Input: 3, Output: 2}, ""},
		{"not a stream, and an error", answer{200, `{"error":{"type":"rate_limit_error","message":"m"}}`, true},
			"", "", llm.Usage{}, llm.RateLimited},
		{"not a stream, and nothing", answer{200, `{}`, true}, "", "", llm.Usage{}, llm.BrokenStream},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, _ := client("claude-x", tc.answer)
			res, err := c.Generate(t.Context(), llm.Request{}, nil)
			var e *llm.Error
			if tc.kind != "" {
				if !errors.As(err, &e) || e.Kind != tc.kind {
					t.Errorf("error %v, want %s", err, tc.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, call := range res.Message.Calls() {
				calls = append(calls, call.Name+" "+string(call.Args))
			}
			if res.Message.Text() != tc.text || strings.Join(calls, "; ") != tc.calls || res.Usage != tc.usage {
				t.Errorf("response %+v", res)
			}
		})
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://host", "https://host/", "https://host/v1", "https://host/v1/", "https://host//"} {
		w := &wire{answers: []answer{events()}}
		e := apiclient.Endpoint{BaseURL: base, HTTP: &http.Client{Transport: w}}
		c := anthropic.New(anthropic.Config{Endpoint: e})
		generate(t, c, llm.Request{})
		if got, want := w.urls[0], "https://host/v1/messages"; got != want {
			t.Errorf("%s: asked at %s, want %s", base, got, want)
		}
	}
}

// FuzzStream feeds the assembler anything: it never panics, calls have ids and valid arguments, and the watcher
// sees the text of the response.
func FuzzStream(f *testing.F) {
	f.Add(
		events(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"","name":"x","input":{"a":[1]}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
		).body,
	)
	f.Add(
		events(
			`{"type":"content_block_delta","index":7,"delta":{"type":"signature_delta","signature":"s"}}`,
			`{"type":"content_block_stop","index":9}`,
		).body,
	)
	f.Add(
		events(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}`,
		).body,
	)
	f.Add(
		events(
			`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`,
			`{"type":"message_delta","usage":{"input_tokens":-5}}`,
		).body,
	)
	f.Fuzz(func(t *testing.T, body string) {
		c, _ := client("claude-x", answer{status: 200, body: body})
		var seen strings.Builder
		res, err := c.Generate(t.Context(), llm.Request{}, func(d llm.Delta) {
			if d.Kind == llm.DeltaText {
				seen.WriteString(d.Text)
			}
		})
		if err != nil {
			if !errors.As(err, new(*llm.Error)) {
				t.Errorf("error of type %T", err)
			}
			return
		}
		if seen.String() != res.Message.Text() {
			t.Errorf("saw %q, the response says %q", seen.String(), res.Message.Text())
		}
		for _, call := range res.Message.Calls() {
			if call.ID == "" || !json.Valid(call.Args) {
				t.Errorf("call %+v", call)
			}
		}
		if _, err := json.Marshal(res); err != nil {
			t.Error(err)
		}
		if _, err := c.Generate(t.Context(), llm.Request{Messages: []llm.Message{res.Message}}, nil); err != nil {
			t.Errorf("the response cannot be sent back: %v", err)
		}
	})
}
