package agent_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/agent"
	"callgate/internal/agent/calltext"
	"callgate/internal/conversation/history"
	"callgate/internal/provider"
	"callgate/llm"
)

// form is one of the two forms of an API: how a piece of text, a piece of a call and an end
// are written.
type form struct {
	provider, model string
	text            func(string) string
	call            func(name, args string) string // with the arguments so far
	end             func(stop string) string       // stop: end, tools or length
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

var forms = []form{
	{
		provider: "openai", model: "gpt-4o",
		text: func(s string) string {
			return `data: {"choices":[{"index":0,"delta":{"content":` + quoted(s) + `}}]}` + "\n\n"
		},
		call: func(name, args string) string {
			return `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"` + name +
				`","arguments":` + quoted(args) + `}}]}}]}` + "\n\n"
		},
		end: func(stop string) string {
			stop = map[string]string{"end": "stop", "tools": "tool_calls", "length": "length"}[stop]
			return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + stop + `"}]}` + "\n\ndata: [DONE]\n\n"
		},
	},
	{
		provider: "anthropic", model: "claude-sonnet-4-5",
		text: func(s string) string {
			return `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quoted(s) + "}}\n\n"
		},
		call: func(name, args string) string {
			return `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"` + name +
				`","input":{}}}` + "\n\n" +
				`data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":` + quoted(args) + "}}\n\n"
		},
		end: func(stop string) string {
			stop = map[string]string{"end": "end_turn", "tools": "tool_use", "length": "max_tokens"}[stop]
			return `data: {"type":"message_delta","delta":{"stop_reason":"` + stop + `"}}` + "\n\ndata: {\"type\":\"message_stop\"}\n\n"
		},
	},
}

// reply answers one request of a scripted server.
type reply func(http.ResponseWriter)

// streams answers with events; torn cuts the connection after them.
func streams(torn bool, events ...string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Join(events, ""))
		if torn {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// serves opens a model of a form at a server that gives the replies, and records the
// requests.
func (f form) serves(t *testing.T, replies ...reply) (llm.Model, func() []string) {
	var mu sync.Mutex
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		n := len(bodies)
		bodies = append(bodies, string(body))
		mu.Unlock()
		replies[min(n, len(replies)-1)](w)
	}))
	t.Cleanup(s.Close)
	m, _, err := provider.New(provider.Config{
		Provider: f.provider, Model: f.model, BaseURL: s.URL + "/v1", Key: "key-for-tests",
		Retry: provider.Retry{Base: 1, MaxDelay: 1}, Env: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bodies)
	}
}

// The turn of a model behind a server that limits the rate, breaks off in the middle of an
// answer with a call, cuts an answer and a call off, and at last answers.
func TestTurnOverBothForms(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		for _, inText := range []bool{false, true} {
			t.Run(fmt.Sprint(form.provider, " in text: ", inText), func(t *testing.T) {
				t.Parallel()
				limit := func(w http.ResponseWriter) {
					w.Header().Set("Retry-After-Ms", "1")
					w.WriteHeader(http.StatusTooManyRequests)
				}
				call := form.call
				if inText {
					call = func(name, args string) string {
						return form.text(`<tool_call>{"name": "` + name + `", "arguments": ` + args)
					}
				}
				whole := func(name, args string) string {
					if inText {
						return call(name, args) + form.text("}</tool_call>")
					}
					return call(name, args)
				}
				m, bodies := form.serves(t, limit,
					streams(true, form.text("I wri"), call("write", `{"n":1}`)),
					streams(false, form.text("Looking."), whole("look", `{"n":2}`), form.end("tools")),
					streams(false, call("write", `{"text":"lo`), form.end("length")),
					streams(false, form.text("It is fo"), form.end("length")),
					streams(false, form.text("rty-two."), form.end("end")))
				f := setup(t, func(c *agent.Config) {
					c.Model = &agent.ModelConfig{Model: m}
					if inText {
						c.Model.Parser = parser{}
					}
				})
				var waits []llm.Retry
				end, err := f.Turn(t.Context(), llm.TextMessage(llm.User, "go"),
					agent.Observer{Wait: func(r llm.Retry) { waits = append(waits, r) }})
				text := transcript(f.log)
				if err != nil || end.Reason != history.Done || !slices.Equal(f.tools.made, []string{`look {"n":2}`}) {
					t.Errorf("%+v, %v, made %v\n%s", end, err, f.tools.made, text)
				}
				if len(waits) != 2 || waits[0].Kind != llm.RateLimited || waits[0].Replaces || !waits[1].Replaces {
					t.Errorf("waits %+v", waits)
				}
				if !strings.Contains(text, "write was not called") || strings.Contains(text, "I wri") ||
					!strings.Contains(text, "assistant: It is fo") || !strings.HasSuffix(text, "assistant: rty-two.\n") {
					t.Error(text)
				}
				if asked := bodies(); len(asked) != 6 || !strings.Contains(asked[5], "Go on exactly where you stopped") {
					t.Errorf("%d requests", len(asked))
				}
			})
		}
	}
}

// parser finds calls as the kernel does.
type parser struct{}

func (parser) Start() (func(string) string, func() (string, []llm.ToolCall)) {
	p := &calltext.Parser{}
	return p.Write, p.Close
}
