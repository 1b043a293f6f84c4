package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/provider/apiclient"
	"callgate/internal/provider/openai"
	"callgate/llm"
	"callgate/tool"
)

// wire is a transport that answers without a network and keeps the bodies of the requests.
type wire struct {
	answers []answer
	bodies  []string
}

type answer struct {
	status      int
	contentType string
	body        string
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	w.bodies = append(w.bodies, string(body))
	a := w.answers[min(len(w.bodies), len(w.answers))-1]
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(strings.NewReader(a.body)),
		Request: req,
	}, nil
}

func events(pieces ...string) answer {
	return answer{200, "text/event-stream", "data: " + strings.Join(pieces, "\n\ndata: ") + "\n\ndata: [DONE]\n\n"}
}

func client(q openai.Quirks, answers ...answer) (*openai.Client, *wire) {
	w := &wire{answers: answers}
	return openai.New(openai.Config{Model: "m", Quirks: q, Endpoint: apiclient.Endpoint{
		Provider: "p", BaseURL: "https://host/v1", HTTP: &http.Client{Transport: w},
	}}), w
}

// delta returns a chunk with the given delta.
func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

const finish = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

// TestCallsInPieces reads calls as the various servers split them.
func TestCallsInPieces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		pieces []string
		want   string // name args; name args
	}{
		{"two, their pieces mixed", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"two","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"y\":"}},{"index":0,"function":{"arguments":"{\"x\":"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"2}"}}]}`),
		}, `one {"x":1}; two {"y":2}`},
		{"the second first", []string{
			delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"two","arguments":"{}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}`),
		}, `one {}; two {}`},
		{"no index, whole calls", []string{
			delta(`{"tool_calls":[{"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"name":"two","arguments":"{}"}}]}`),
		}, `one {"x":1}; two {}`},
		{"no index, in pieces", []string{
			delta(`{"tool_calls":[{"id":"a","function":{"name":"one","arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"name":"two"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"arguments":"{\"y\":2}"}}]}`),
		}, `one {"x":1}; two {"y":2}`},
		{"neither index nor id", []string{
			delta(`{"tool_calls":[{"function":{"name":"one","arguments":"{}"}}]}`),
			delta(`{"tool_calls":[{"function":{"name":"one","arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`),
			delta(`{"tool_calls":[{"function":{"name":"two","arguments":"{}"}}]}`),
		}, `one {}; one {"x":1}; two {}`},
		{"index 0 for all", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"two","arguments":"{\"y\":2}"}}]}`),
		}, `one {"x":1}; two {"y":2}`},
		{"index 0 for all, without ids", []string{
			delta(`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"{\"x\":1}"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"{\"x\":2}"}}]}`),
		}, `one {"x":1}; one {"x":2}`},
		{"id and name every time", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":":1}"}}]}`),
		}, `one {"x":1}`},
		{"name every time", []string{
			delta(`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":":1}"}}]}`),
		}, `one {"x":1}`},
		{"a new id every time", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"id":"z","function":{"arguments":":1}"}}]}`),
		}, `one {"x":1}`},
		{"the name late", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"name":"one","arguments":":1}"}}]}`),
		}, `one {"x":1}`},
		{"arguments as an object", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":{"x":1}}}]}`)}, `one {"x":1}`},
		{"arguments null", []string{delta(`{"content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":null}}]}`)}, `one {}`},
		{"no arguments", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one"}}]}`)}, `one {}`},
		{"quoted twice", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"\"{\\\"x\\\":1}\""}}]}`)}, `one {"x":1}`},
		{"not JSON", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"x=1"}}]}`)}, `one "x=1"`},
		{"an index that is not a number", []string{delta(`{"tool_calls":[{"index":"0","id":"a","function":{"name":"one","arguments":"{}"}}]}`)}, `one {}`},
		{"an empty call", []string{delta(`{"tool_calls":[{"index":0}]}`), delta(`{"tool_calls":[{"index":1,"id":"a","function":{"name":"one"}}]}`)}, `one {}`},
		{"no list at all", []string{delta(`{"tool_calls":null}`)}, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := client(openai.Quirks{}, events(append(tc.pieces, finish)...))
			res, err := c.Generate(t.Context(), llm.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			seen := map[string]bool{}
			for _, call := range res.Message.Calls() {
				got = append(got, call.Name+" "+string(call.Args))
				if call.ID == "" || seen[call.ID] {
					t.Errorf("id %q is empty or was used before", call.ID)
				}
				seen[call.ID] = true
			}
			if got := strings.Join(got, "; "); got != tc.want {
				t.Errorf("calls %s, want %s", got, tc.want)
			}
			if want := map[bool]llm.Stop{true: llm.StopTools, false: llm.StopEnd}[tc.want != ""]; res.Stop != want {
				t.Errorf("stopped for %s, want %s", res.Stop, want)
			}
		})
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer answer
		text   string
		reason string
		stop   llm.Stop
		usage  llm.Usage
	}{
		{"no [DONE]", answer{200, "text/event-stream", "data: " + delta(`{"content":"a"}`) + "\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{}}]}\n\n"}, "a", "", llm.StopEnd, llm.Usage{}},
		{"no reason", events(delta(`{"content":"a"}`)), "a", "", llm.StopEnd, llm.Usage{}},
		{"a null error in every chunk", events(`{"error":null,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`, `{"error":null,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`), "a", "", llm.StopEnd, llm.Usage{}},
		{"length", events(delta(`{"content":"a"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`), "a", "", llm.StopLength, llm.Usage{}},
		{"a refusal in a field of its own", events(delta(`{"refusal":"I will not."}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`), "I will not.", "", llm.StopRefusal, llm.Usage{}},
		{"a second choice", events(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`), "a", "", llm.StopEnd, llm.Usage{}},
		{"reasoning of OpenRouter", events(delta(`{"reasoning":"hm"}`), delta(`{"content":"a"}`)), "a", "hm", llm.StopEnd, llm.Usage{}},
		{"reasoning under two names", events(delta(`{"reasoning_content":"hm","reasoning":"hm"}`), delta(`{"content":"a"}`)), "a", "hm", llm.StopEnd, llm.Usage{}},
		{"reasoning of Mistral", events(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), delta(`{"content":[{"type":"text","text":"a"}]}`)), "a", "hm", llm.StopEnd, llm.Usage{}},
		{"counts of DeepSeek", events(delta(`{"content":"a"}`), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}}`), "a", "", llm.StopEnd, llm.Usage{Input: 10, CachedInput: 8, Output: 2}},
		{"counts of Groq", events(delta(`{"content":"a"}`), `{"choices":[],"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}}`), "a", "", llm.StopEnd, llm.Usage{Input: 10, Output: 2}},
		{"counts of xAI", events(delta(`{"content":"a"}`), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":5}}}`), "a", "", llm.StopEnd, llm.Usage{Input: 10, Output: 7, Reasoning: 5}},
		{"counts and cost of OpenRouter", events(delta(`{"content":"a"}`), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"cost":0.000321}}`), "a", "", llm.StopEnd, llm.Usage{Input: 10, Output: 2, Cost: 321, Priced: true}},
		{"not a stream", answer{200, "application/json; charset=utf-8", `{"model":"m2","choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`}, "a", "", llm.StopEnd, llm.Usage{Input: 1, Output: 1}},
		{"no empty line at the end", answer{200, "text/event-stream", "data: " + delta(`{"content":"a"}`) + "\n\ndata: [DONE]"}, "a", "", llm.StopEnd, llm.Usage{}},
		{"events with a type", answer{200, "text/event-stream", "event: message\ndata: " + delta(`{"content":"a"}`) + "\n\ndata: [DONE]\n\n"}, "a", "", llm.StopEnd, llm.Usage{}},
		{"lines that end with CRLF", answer{200, "text/event-stream", "data: " + delta(`{"content":"a"}`) + "\r\n\r\ndata: [DONE]\r\n\r\n"}, "a", "", llm.StopEnd, llm.Usage{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := client(openai.Quirks{}, tc.answer)
			res, err := c.Generate(t.Context(), llm.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			reason := ""
			for _, p := range res.Message.Parts {
				if p.Reasoning != nil {
					reason += p.Reasoning.Text
				}
			}
			if res.Message.Text() != tc.text || reason != tc.reason || res.Stop != tc.stop || res.Usage != tc.usage {
				t.Errorf("response %+v", res)
			}
		})
	}
}

func TestErrorsInsideResponses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer answer
		kind   llm.Kind
	}{
		{"in the stream", events(`{"error":{"message":"no money","code":402}}`), llm.Billing},
		{"in an event of its own", answer{200, "text/event-stream", "event: error\ndata: {\"message\":\"no money\",\"code\":402}\n\n"}, llm.Billing},
		{"in a choice", events(`{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502,"message":"upstream"}}]}`), llm.Unavailable},
		{"only a finish reason", events(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`), llm.BrokenStream},
		{"not a stream", answer{200, "application/json", `{"error":{"message":"maximum context length is 5"}}`}, llm.ContextOverflow},
		{"not a stream, and nothing", answer{200, "application/json", `{}`}, llm.BrokenStream},
		{"plain text", answer{200, "text/plain", "hello?"}, llm.BrokenStream},
		{"a failed generation", answer{400, "application/json", `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=x>"}}`}, llm.FailedGeneration},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := client(openai.Quirks{}, tc.answer)
			_, err := c.Generate(t.Context(), llm.Request{}, nil)
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != tc.kind || e.Partial != nil {
				t.Errorf("error %v, want %s", err, tc.kind)
			}
		})
	}
}

// TestRejectedParameters: a parameter that the model does not accept is left out from then on, with a warning.
func TestRejectedParameters(t *testing.T) {
	t.Parallel()
	reject := func(message string) answer {
		return answer{400, "application/json", `{"error":{"message":"` + message + `","type":"invalid_request_error"}}`}
	}
	ok := events(delta(`{"content":"a"}`), finish)
	c, w := client(openai.Quirks{}, reject("stream_options is not supported"),
		reject("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."),
		reject("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
		ok)
	cold := 0.0
	req := llm.Request{Temperature: &cold, MaxTokens: 7}
	for turn := range 2 {
		res, err := c.Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "temperature") {
			t.Errorf("turn %d: warnings %q, want one about the temperature", turn, res.Warnings)
		}
	}
	if len(w.bodies) != 5 {
		t.Errorf("%d requests, want 3 rejected and 2 answered", len(w.bodies))
	}
	last := w.bodies[len(w.bodies)-1]
	for _, name := range []string{"stream_options", "temperature", `"max_tokens"`} {
		if strings.Contains(last, name) {
			t.Errorf("%s is still sent: %s", name, last)
		}
	}
	if !strings.Contains(last, `"max_completion_tokens":7`) {
		t.Errorf("the limit is lost: %s", last)
	}
	// A server that keeps rejecting is not asked for ever.
	c, w = client(openai.Quirks{}, reject("unknown parameter stream_options"))
	if _, err := c.Generate(t.Context(), req, nil); err == nil || len(w.bodies) != 2 {
		t.Errorf("error %v after %d requests, want one after 2", err, len(w.bodies))
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	hot := 0.5
	long := strings.Repeat("x", 50)
	req := llm.Request{
		System: "Be <brief>.", MaxTokens: 9, Temperature: &hot, Stop: []string{"END"}, CacheKey: "s1", ToolChoice: "ls",
		Effort: "low",
		Tools: []llm.ToolDef{
			{Name: "ls", Description: "lists", Schema: json.RawMessage(`{"type":"object", "properties":{"z":{},"a":{}}}`)},
			{Name: "now"},
		},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: "look"}, {Image: &llm.Image{MIME: "image/png", Data: []byte{1}}}}},
			{Role: llm.Assistant, Parts: []llm.Part{
				{Reasoning: &llm.Reasoning{Provider: "p", Text: "mine"}},
				{Reasoning: &llm.Reasoning{Provider: "another", Text: "not mine"}},
				{Reasoning: &llm.Reasoning{Provider: "p", Call: long, Data: `{"google":{"thought_signature":"sig"}}`}},
				{
					Call: &llm.ToolCall{ID: long, Name: "ls", Args: json.RawMessage(`{"a":1}`)},
				}, {Call: &llm.ToolCall{ID: "123456789", Name: "ls", Args: json.RawMessage(`"{broken"`)}}}},
			{Role: llm.Tool, Parts: []llm.Part{{Result: &llm.ToolResult{ID: long, Name: "ls", Content: []tool.Content{
				tool.Text("x"), tool.Image("image/png", []byte{2}), tool.Text("y"),
			}}}}},
			{Role: llm.Tool, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "123456789", Name: "ls", IsError: true}}}},
			llm.TextMessage(llm.Assistant, "done"),
		},
	}
	const head = `{"model":"m","stream":true,"stream_options":{"include_usage":true},`
	const rest = `"temperature":0.5,"stop":["END"],"reasoning_effort":"low",`
	const tools = `"tool_choice":{"function":{"name":"ls"},"type":"function"},"tools":[{"type":"function","function":{"name":"ls","description":"lists","parameters":{"type":"object","properties":{"z":{},"a":{}}}}},{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}],` +
		`"messages":[{"role":"system","content":"Be <brief>."},{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AQ=="}}]},`
	const tail = `{"role":"user","content":[{"type":"text","text":"A picture from the result of ls:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,Ag=="}}]},{"role":"assistant","content":"done"}]}`
	calls := func(first, second, extra string) string {
		return `"tool_calls":[{"id":"` + first + `","type":"function","function":{"name":"ls","arguments":"{\"a\":1}"}` + extra + `},{"id":"` + second + `","type":"function","function":{"name":"ls","arguments":"{\"malformed_arguments\":\"{broken\"}"}}]},`
	}
	for _, tc := range []struct {
		name   string
		quirks openai.Quirks
		want   func(short string) string
		length int // of the id in place of the long one
	}{
		{"no quirks", openai.Quirks{}, func(id string) string {
			return head + `"max_tokens":9,` + rest + tools + `{"role":"assistant","content":null,` + calls(id, "123456789", "") +
				`{"role":"tool","content":"x\ny","tool_call_id":"` + id + `"},{"role":"tool","content":"","tool_call_id":"123456789"},` + tail
		}, 40},
		{"OpenAI", openai.Quirks{CompletionTokens: true, CacheKey: true}, func(id string) string {
			return head + `"max_completion_tokens":9,` + rest + `"prompt_cache_key":"s1",` + tools + `{"role":"assistant","content":null,` + calls(id, "123456789", "") +
				`{"role":"tool","content":"x\ny","tool_call_id":"` + id + `"},{"role":"tool","content":"","tool_call_id":"123456789"},` + tail
		}, 40},
		{"DeepSeek", openai.Quirks{Reasoning: "reasoning_content"}, func(id string) string {
			return head + `"max_tokens":9,` + rest + tools + `{"role":"assistant","content":null,"reasoning_content":"mine",` + calls(id, "123456789", "") +
				`{"role":"tool","content":"x\ny","tool_call_id":"` + id + `"},{"role":"tool","content":"","tool_call_id":"123456789"},` + tail
		}, 40},
		{"Mistral", openai.Quirks{IDLength: 9, ToolNames: true}, func(id string) string {
			return head + `"max_tokens":9,` + rest + tools + `{"role":"assistant","content":null,` + calls(id, "123456789", "") +
				`{"role":"tool","content":"x\ny","name":"ls","tool_call_id":"` + id + `"},{"role":"tool","content":"","name":"ls","tool_call_id":"123456789"},` + tail
		}, 9},
		{"Gemini", openai.Quirks{ExtraContent: true}, func(id string) string {
			return head + `"max_tokens":9,` + rest + tools + `{"role":"assistant","content":null,` + calls(id, "123456789", `,"extra_content":{"google":{"thought_signature":"sig"}}`) +
				`{"role":"tool","content":"x\ny","tool_call_id":"` + id + `"},{"role":"tool","content":"","tool_call_id":"123456789"},` + tail
		}, 40},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, w := client(tc.quirks, events(finish))
			if _, err := c.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(w.bodies[0], `"tool_call_id":"`)
			id, _, _ := strings.Cut(after, `"`)
			if len(id) != tc.length {
				t.Errorf("the long id became %q, want %d bytes", id, tc.length)
			}
			if diff := cmp.Diff(tc.want(id), w.bodies[0]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestExtraContentGoesBack(t *testing.T) {
	t.Parallel()
	c, w := client(
		openai.Quirks{ExtraContent: true},
		events(
			delta(
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}}]}`,
			),
			finish,
		),
	)
	res, err := c.Generate(t.Context(), llm.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Generate(t.Context(), llm.Request{Messages: []llm.Message{res.Message}}, nil); err != nil {
		t.Fatal(err)
	}
	if want := `"extra_content":{"google":{"thought_signature":"sig"}}`; !strings.Contains(w.bodies[1], want) {
		t.Errorf("the signature did not go back: %s", w.bodies[1])
	}
}

func TestInvalidSchema(t *testing.T) {
	t.Parallel()
	c, w := client(openai.Quirks{}, events(finish))
	_, err := c.Generate(t.Context(), llm.Request{Tools: []llm.ToolDef{{Name: "x", Schema: json.RawMessage(`{`)}}}, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.BadRequest || len(w.bodies) != 0 {
		t.Errorf("error %v, %d requests", err, len(w.bodies))
	}
}

// FuzzStream feeds the assembler anything: it never panics, calls have ids and valid arguments, and the watcher
// sees the text of the response.
func FuzzStream(f *testing.F) {
	f.Add(
		"data: " + delta(
			`{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{"}}]}`,
		) + "\n\ndata: " + finish + "\n\n",
	)
	f.Add(
		"data: " + delta(
			`{"tool_calls":[{"function":{"name":"x"}},{"index":-5,"function":{"arguments":{}}},{"index":9,"id":"q"}]}`,
		) + "\n\ndata: [DONE]\n\n",
	)
	f.Add("data: {\"error\":null,\"usage\":{\"cost\":1e300}}\n\n: c\n\nevent: x\ndata: {}\n\ndata: [DONE]\n\n")
	f.Add("data: " + delta(`{"content":[{"thinking":[{"text":"t"}]}],"reasoning":7}`) + "\n\ndata: [DONE]\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		c, _ := client(openai.Quirks{ExtraContent: true}, answer{200, "text/event-stream", body})
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
