package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptedModel answers requests in the form of OpenAI's, one answer of a file after
// the other, and the last one again. An answer is words, or words and calls.
type scriptedModel struct {
	mu      sync.Mutex
	answers []modelAnswer
	bodies  []string
}

type modelAnswer struct {
	Text   string `json:"text"`
	Finish string `json:"finish"` // why it ends; "": as its calls say
	Status int    `json:"status"` // of the response; 0: 200
	After  string `json:"after"`  // Retry-After of a response that fails
	Breaks bool   `json:"breaks"` // the connection ends after the words
	Calls  []struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"calls"`
}

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	m.mu.Lock()
	a := m.answers[min(len(m.bodies), len(m.answers)-1)]
	m.bodies = append(m.bodies, string(body))
	m.mu.Unlock()
	a.write(w)
}

// write answers a request.
func (a modelAnswer) write(w http.ResponseWriter) {
	if a.After != "" {
		w.Header().Set("Retry-After", a.After)
	}
	if a.Status != 0 {
		http.Error(w, `{"error":{"message":"`+a.Text+`"}}`, a.Status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta map[string]any, finish any) {
		line, _ := json.Marshal(map[string]any{"id": "c", "model": "m", "choices": []any{
			map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", line)
	}
	chunk(map[string]any{"role": "assistant", "content": a.Text}, nil)
	if a.Breaks {
		return
	}
	finish := "stop"
	for i, c := range a.Calls {
		finish = "tool_calls"
		chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprint("call", i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": string(c.Args)}}}}, nil)
	}
	if a.Finish != "" {
		finish = a.Finish
	}
	chunk(map[string]any{}, finish)
	fmt.Fprintf(w, "data: %s\n\n", `{"id":"c","model":"m","choices":[],"usage":{"prompt_tokens":1000000,"completion_tokens":10}}`)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// model ANSWERS.json: starts a model on loopback, and sets MODEL to its address.
// model said PATTERN: the newest request has a text; model lacks PATTERN: it has not;
// model never PATTERN: none has it.
func (s scripts) model(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 2 {
		m := ts.Value(modelKey{}).(*startedModel).model
		m.mu.Lock()
		defer m.mu.Unlock()
		switch last := m.bodies[len(m.bodies)-1]; {
		case args[0] == "said" && !strings.Contains(last, args[1]):
			ts.Fatalf("the model was not told %q, but: %s", args[1], last)
		case args[0] == "lacks" && strings.Contains(last, args[1]):
			ts.Fatalf("the model was told %q", args[1])
		case args[0] == "never" && strings.Contains(strings.Join(m.bodies, "\n"), args[1]):
			ts.Fatalf("the model was told %q", args[1])
		}
		return
	}
	m := &scriptedModel{}
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &m.answers); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	server := httptest.NewServer(m)
	ts.Defer(server.Close)
	ts.Value(modelKey{}).(*startedModel).model = m
	ts.Setenv("MODEL", server.URL+"/v1")
}

type modelKey struct{}

type startedModel struct{ model *scriptedModel }
