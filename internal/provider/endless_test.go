package provider_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

// forever answers with a first piece and then with one event again and again, until the client leaves.
func forever(first, again string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, err := io.WriteString(w, first)
		for err == nil {
			_, err = io.WriteString(w, again)
		}
	}
}

// endlessStreams are streams without an end, by API: what comes first, and what comes again and again.
func endlessStreams() map[string]map[string][2]string {
	text := strings.Repeat("x", 2000)
	chunk := func(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }
	call := func(name, args string) string {
		return chunk(`{"tool_calls":[{"index":0,"id":"c","function":{` + name + `"arguments":"` + args + `"}}]}`)
	}
	block := func(b string) string { return `{"type":"content_block_start","index":0,"content_block":` + b + `}` }
	delta := func(kind, field string) string {
		return `{"type":"content_block_delta","index":0,"delta":{"type":"` + kind + `","` + field + `":"` + text + `"}}`
	}
	return map[string]map[string][2]string{
		"openai": {
			"text":          {"", chunk(`{"content":"` + text + `"}`)},
			"reasoning":     {"", chunk(`{"reasoning_content":"` + text + `"}`)},
			"args":          {call(`"name":"n",`, "{"), call("", text)},
			"nameless args": {"", call("", text)},
			"extra": {call(`"name":"n",`, "{"),
				chunk(`{"tool_calls":[{"index":0,"extra_content":{"a":"` + text + `"}}]}`)},
		},
		"anthropic": {
			"text":      {block(`{"type":"text","text":""}`), delta("text_delta", "text")},
			"reasoning": {block(`{"type":"thinking","thinking":""}`), delta("thinking_delta", "thinking")},
			"signature": {block(`{"type":"thinking","thinking":""}`), delta("signature_delta", "signature")},
			"args":      {block(`{"type":"tool_use","id":"c","name":"n","input":{}}`), delta("input_json_delta", "partial_json")},
			"inputs":    {"", block(`{"type":"tool_use","id":"c","name":"n","input":{"a":"` + text + `"}}`)},
			"redacted":  {"", block(`{"type":"redacted_thinking","data":"` + text + `"}`)},
			"explanations": {"", `{"type":"message_delta","delta":{"stop_reason":"refusal",` +
				`"stop_details":{"explanation":"` + text + `"}}}`},
		},
	}
}

// TestEndlessStreams: whatever a provider sends without end, the response is cut, and what it held until then
// was no more than twice the limit.
func TestEndlessStreams(t *testing.T) {
	for _, d := range dialects {
		for kind, s := range endlessStreams()[d.name] {
			t.Run(d.name+"/"+kind, func(t *testing.T) {
				first := ""
				if s[0] != "" {
					first = d.open(s[0])
				}
				endless := serve(t, forever(first, d.open(s[1])))
				model := d.once(t, endless)
				base, peak, seen := live(), uint64(0), 0
				_, err := model.Generate(t.Context(), ask, func(x llm.Delta) {
					if seen += len(x.Text); seen > 2<<20 { // what is live, without garbage
						peak, seen = max(peak, live()), 0
					}
				})
				e := asError(t, err)
				if !strings.Contains(e.Message, "too long") {
					t.Fatalf("it ended with %+v", e)
				}
				if peak = max(peak, live()); peak > base+2*apiclient.MaxResponse {
					t.Errorf("it held %d MiB", (peak-base)>>20)
				}
				if e.Partial != nil && len(e.Partial.Message.Text()) > 64<<10 {
					t.Errorf("%d bytes of it are kept", len(e.Partial.Message.Text()))
				}
			})
		}
	}
}

// live is how many bytes of the heap are in use.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
