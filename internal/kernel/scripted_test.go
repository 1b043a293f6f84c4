package kernel_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// line is one answer of a scripted model: words, and calls as "name {json}".
type line struct {
	text    string
	calls   []string
	reached chan<- struct{} // closed when the request comes; may be nil
	waits   <-chan struct{} // the answer waits for it; may be nil
}

// scriptedModel plays a provider on loopback, in both dialects: each request is
// answered by the next line. It keeps what it was asked.
type scriptedModel struct {
	*httptest.Server
	mu    sync.Mutex
	lines []line
	asked []json.RawMessage
	gate  chan struct{} // when set, an answer waits for it

	stopAt  int           // the request that is never answered; 0: none
	reached chan struct{} // told when it has come
}

// stop has one request never be answered; the channel tells when it has come.
func (m *scriptedModel) stop(at int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopAt, m.reached = at, make(chan struct{}, 8)
	return m.reached
}

// last is what the model was asked last.
func (m *scriptedModel) last() json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[len(m.asked)-1]
}

// restart gives the model new lines, and has it answer everything.
func (m *scriptedModel) restart(lines ...line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines, m.stopAt = lines, 0
}

func scripted(t testing.TB, lines ...line) *scriptedModel {
	m := &scriptedModel{lines: lines}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *scriptedModel) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	m.asked = append(m.asked, body)
	next := line{text: "the script is over"}
	if len(m.lines) > 0 {
		next, m.lines = m.lines[0], m.lines[1:]
	}
	var gate <-chan struct{} = m.gate
	if m.stopAt > 0 && len(m.asked) == m.stopAt {
		gate = make(chan struct{}) // for ever
		m.reached <- struct{}{}
	}
	m.mu.Unlock()
	if next.reached != nil {
		close(next.reached)
	}
	if next.waits != nil {
		gate = next.waits
	}
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		_, _ = io.WriteString(w, inMessages(next))
		return
	}
	_, _ = io.WriteString(w, inChat(next))
}

func quoteJSON(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

func inChat(l line) string {
	var b strings.Builder
	piece := func(format string, args ...any) { fmt.Fprintf(&b, "data: "+format+"\n\n", args...) }
	piece(`{"id":"x","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]}`, quoteJSON(l.text))
	for i, c := range l.calls {
		name, args, _ := strings.Cut(c, " ")
		piece(`{"id":"x","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":%s,"arguments":""}}]},"finish_reason":null}]}`, i, i, quoteJSON(name))
		for _, half := range []string{args[:len(args)/2], args[len(args)/2:]} {
			piece(`{"id":"x","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]},"finish_reason":null}]}`, i, quoteJSON(half))
		}
	}
	reason := "stop"
	if len(l.calls) > 0 {
		reason = "tool_calls"
	}
	piece(`{"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}`, reason)
	piece(`{"id":"x","model":"m","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110}}`)
	return b.String() + "data: [DONE]\n\n"
}

func inMessages(l line) string {
	var b strings.Builder
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: "+format+"\n\n", append([]any{kind}, args...)...)
	}
	event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":100,"output_tokens":1}}}`)
	n := 0
	if l.text != "" {
		event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quoteJSON(l.text))
		event("content_block_stop", `{"type":"content_block_stop","index":0}`)
		n++
	}
	for i, c := range l.calls {
		name, args, _ := strings.Cut(c, " ")
		event("content_block_start", `{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"call_%d","name":%s,"input":{}}}`, n, i, quoteJSON(name))
		for _, half := range []string{args[:len(args)/2], args[len(args)/2:]} {
			event("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, n, quoteJSON(half))
		}
		event("content_block_stop", `{"type":"content_block_stop","index":%d}`, n)
		n++
	}
	reason := "end_turn"
	if len(l.calls) > 0 {
		reason = "tool_use"
	}
	event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"%s","stop_sequence":null},"usage":{"output_tokens":10}}`, reason)
	event("message_stop", `{"type":"message_stop"}`)
	return b.String()
}
