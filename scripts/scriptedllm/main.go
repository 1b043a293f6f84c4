// Scriptedllm plays a language model for tests of real coding agents: it
// answers their requests on loopback from a script of tool calls, in the words
// of whichever API they speak (OpenAI's chat completions and responses,
// Anthropic's messages).
//
// The script is a JSON file:
//
//	{"steps": [
//	  {"tool": "search_tools", "args": {"query": "read a file"}, "want": "filesystem.read"},
//	  {"tool": "filesystem__delete", "args": {"path": "a"}, "again": "waiting for approval", "want": "deleted"}],
//	 "done": "all steps were made"}
//
// Each step is a call of the offered tool whose name ends with the step's, for
// agents put names of their own in front. A result that holds the words of
// "again" has the same call made once more; one that lacks those of "want" ends
// the script with the word UNEXPECTED and what came instead. After the last step
// the model says "done".
//
// Nothing is kept between requests. Agents send the whole conversation each
// time, so how far a script is follows from the results in it, and one server
// may be used by any number of agents at once.
//
// Usage: scriptedllm -script FILE [-listen 127.0.0.1:0] [-log FILE]. The address
// that it listens on is the first line it prints.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

// script is what the model does.
type script struct {
	Steps []step `json:"steps"`
	Done  string `json:"done"`
}

// step is one call, and how its result is taken.
type step struct {
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	Again string          `json:"again"`
	Want  string          `json:"want"`
}

// offered is a tool as an agent offers it. Some agents put their tools into
// namespaces, and want the namespace back.
type offered struct{ space, name string }

// turn is what the model says next: a call, or words.
type turn struct {
	id   string // of the call; empty: words
	tool offered
	args string
	text string
}

// next follows the script through the results so far.
func (s *script) next(tools []offered, results []string) turn {
	at := 0
	for _, r := range results {
		if at >= len(s.Steps) {
			break
		}
		step := s.Steps[at]
		switch {
		case step.Again != "" && strings.Contains(r, step.Again):
		case strings.Contains(r, step.Want):
			at++
		default:
			return turn{text: fmt.Sprintf("UNEXPECTED result of %s: %s", step.Tool, r)}
		}
	}
	if at >= len(s.Steps) {
		return turn{text: s.Done}
	}
	step := s.Steps[at]
	for _, t := range tools {
		if strings.HasSuffix(t.name, step.Tool) {
			return turn{id: fmt.Sprintf("call_%d", len(results)), tool: t, args: string(step.Args)}
		}
	}
	return turn{text: fmt.Sprintf("UNEXPECTED: no tool %s is offered among %v", step.Tool, tools)}
}

// flat reads the words of a result, which is a string or a list of parts.
func flat(raw json.RawMessage) string {
	var words string
	if json.Unmarshal(raw, &words) == nil {
		return words
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	for _, p := range parts {
		words += p.Text + "\n"
	}
	return words
}

// object is a piece of an answer.
type object = map[string]any

// api is one way to speak with a model: it reads the tools and the results so
// far from a request, and writes a turn, as events or whole.
type api struct {
	read  func(body []byte) (tools []offered, results []string, stream bool, err error)
	write func(t turn, stream bool) (events []object, whole object)
	end   string // a last line of a stream, beside the events
}

func readChat(body []byte) (tools []offered, results []string, stream bool, err error) {
	var q struct {
		Stream bool `json:"stream"`
		Tools  []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, nil, false, err
	}
	for _, t := range q.Tools {
		tools = append(tools, offered{name: t.Function.Name})
	}
	for _, m := range q.Messages {
		if m.Role == "tool" {
			results = append(results, flat(m.Content))
		}
	}
	return tools, results, q.Stream, nil
}

func writeChat(t turn, stream bool) ([]object, object) {
	message, reason := object{"role": "assistant", "content": t.text}, "stop"
	if t.id != "" {
		call := object{"index": 0, "id": t.id, "type": "function",
			"function": object{"name": t.tool.name, "arguments": t.args}}
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": []object{call}}, "tool_calls"
	}
	answer := func(kind string, choice object) object {
		choice["index"] = 0
		return object{"id": "chat", "object": kind, "created": 1, "model": "scripted", "choices": []object{choice},
			"usage": object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
	}
	if !stream {
		return nil, answer("chat.completion", object{"message": message, "finish_reason": reason})
	}
	return []object{
		answer("chat.completion.chunk", object{"delta": message, "finish_reason": nil}),
		answer("chat.completion.chunk", object{"delta": object{}, "finish_reason": reason}),
	}, nil
}

func readResponses(body []byte) (tools []offered, results []string, stream bool, err error) {
	var q struct {
		Tools []struct {
			Type  string `json:"type"`
			Name  string `json:"name"`
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"tools"`
		Input json.RawMessage `json:"input"` // words, or items
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, nil, false, err
	}
	for _, t := range q.Tools {
		if t.Type != "namespace" {
			tools = append(tools, offered{name: t.Name})
		}
		for _, inner := range t.Tools {
			tools = append(tools, offered{t.Name, inner.Name})
		}
	}
	var items []struct {
		Type   string          `json:"type"`
		Output json.RawMessage `json:"output"`
	}
	_ = json.Unmarshal(q.Input, &items) // mere words hold no results
	for _, i := range items {
		if strings.HasSuffix(i.Type, "_call_output") {
			results = append(results, flat(i.Output))
		}
	}
	return tools, results, true, nil
}

func writeResponses(t turn, _ bool) ([]object, object) {
	item := object{"type": "message", "id": "said", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": t.text, "annotations": []object{}}}}
	if t.id != "" {
		item = object{"type": "function_call", "id": "fc_" + t.id, "call_id": t.id,
			"name": t.tool.name, "arguments": t.args, "status": "completed"}
		if t.tool.space != "" {
			item["namespace"] = t.tool.space
		}
	}
	usage := object{"input_tokens": 1, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 1, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 2}
	whole := object{"id": "response", "object": "response", "status": "completed", "output": []object{item},
		"usage": usage}
	return []object{
		{"type": "response.created", "response": object{"id": "response"}},
		{"type": "response.output_item.added", "output_index": 0, "item": item},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": whole},
	}, nil
}

func readMessages(body []byte) (tools []offered, results []string, stream bool, err error) {
	var q struct {
		Stream bool `json:"stream"`
		Tools  []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Messages []struct {
			Content json.RawMessage `json:"content"` // words, or blocks
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, nil, false, err
	}
	for _, t := range q.Tools {
		tools = append(tools, offered{name: t.Name})
	}
	for _, m := range q.Messages {
		var blocks []struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(m.Content, &blocks)
		for _, b := range blocks {
			if b.Type == "tool_result" {
				results = append(results, flat(b.Content))
			}
		}
	}
	return tools, results, q.Stream, nil
}

func writeMessages(t turn, stream bool) ([]object, object) {
	block, begun, reason := object{"type": "text", "text": t.text}, object{"type": "text", "text": ""}, "end_turn"
	delta := object{"type": "text_delta", "text": t.text}
	if t.id != "" {
		block = object{"type": "tool_use", "id": "toolu_" + t.id, "name": t.tool.name, "input": json.RawMessage(t.args)}
		begun = object{"type": "tool_use", "id": "toolu_" + t.id, "name": t.tool.name, "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": t.args}, "tool_use"
	}
	message := func(content []object, reason any) object {
		return object{"id": "message", "type": "message", "role": "assistant", "model": "scripted", "content": content,
			"stop_reason": reason, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1}}
	}
	if !stream {
		return nil, message([]object{block}, reason)
	}
	return []object{
		{"type": "message_start", "message": message([]object{}, nil)},
		{"type": "content_block_start", "index": 0, "content_block": begun},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{
			"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
			"usage": object{"output_tokens": 1},
		},
		{"type": "message_stop"},
	}, nil
}

// serve answers requests of one API.
func (s *script) serve(a api, journal *log.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the agent has gone
		}
		tools, results, stream, err := a.read(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		t := s.next(tools, results)
		if len(tools) == 0 { // a question beside the task, such as for a title
			t = turn{text: "a title"}
		}
		journal.Printf("%s: %d tools, results %q, says %+v", r.URL.Path, len(tools), results, t)
		events, whole := a.write(t, stream)
		if whole != nil {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			if kind, named := e["type"]; named {
				fmt.Fprintf(w, "event: %s\n", kind)
			}
			data, _ := json.Marshal(e) // of plain values
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		fmt.Fprint(w, a.end)
	}
}

func main() {
	file := flag.String("script", "", "the script, a JSON file")
	listen := flag.String("listen", "127.0.0.1:0", "the address to listen on")
	logFile := flag.String("log", os.DevNull, "a file for what is asked and said")
	flag.Parse()
	text, err := os.ReadFile(*file)
	var s script
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	out, logErr := os.Create(*logFile)
	ln, listenErr := net.Listen("tcp", *listen)
	for _, err := range []error{err, logErr, listenErr} {
		if err != nil {
			log.Fatal(err)
		}
	}
	journal := log.New(out, "", log.LstdFlags)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(api{readChat, writeChat, "data: [DONE]\n\n"}, journal))
	mux.HandleFunc("POST /v1/responses", s.serve(api{readResponses, writeResponses, ""}, journal))
	mux.HandleFunc("POST /v1/messages", s.serve(api{readMessages, writeMessages, ""}, journal))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		journal.Printf("%s %s: not ours", r.Method, r.URL.Path)
		models := []object{{"id": "scripted", "object": "model"}}
		_ = json.NewEncoder(w).Encode(object{"object": "list", "data": models, "input_tokens": 1})
	})
	fmt.Println(ln.Addr())
	log.Fatal(http.Serve(ln, mux))
}
