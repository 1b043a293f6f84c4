package scripted

import (
	"encoding/json"
	"strings"

	"callgate/internal/lazyregexp"
)

// Form is a way in which a program and a model speak with each other.
type Form string

// The forms.
const (
	Anthropic Form = "anthropic" // the messages API, streaming
	OpenAI    Form = "openai"    // chat completions, streaming
	Text      Form = "text"      // chat completions without tools: calls stand in the text
)

func readAnthropic(body []byte) (*Request, error) {
	var q struct {
		System json.RawMessage `json:"system"`
		Tools  []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Schema      Schema `json:"input_schema"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	r := &Request{System: words(q.System), Bytes: len(body)}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, Tool(t))
	}
	for _, in := range q.Messages {
		m := Message{Role: in.Role, Text: words(in.Content)}
		var blocks []struct {
			Type    string          `json:"type"`
			Call    string          `json:"tool_use_id"`
			Content json.RawMessage `json:"content"`
			Failed  bool            `json:"is_error"`
		}
		_ = json.Unmarshal(in.Content, &blocks) // mere words hold no results
		for _, b := range blocks {
			if b.Type == "tool_result" {
				m.Results = append(m.Results, Result{Call: b.Call, Text: words(b.Content), Failed: b.Failed})
			}
		}
		r.Messages = append(r.Messages, m)
	}
	return r, nil
}

func readOpenAI(body []byte) (*Request, error) {
	var q struct {
		Tools []struct {
			Function struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				Schema      Schema `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Call    string          `json:"tool_call_id"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	r := &Request{Bytes: len(body)}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, Tool(t.Function))
	}
	for _, in := range q.Messages {
		text := words(in.Content)
		switch in.Role {
		case "system", "developer":
			r.System += text + "\n"
		case "tool":
			r.Messages = append(r.Messages, Message{Role: "tool", Results: []Result{{Call: in.Call, Text: text}}})
		default:
			if last := len(r.Messages) - 1; in.Role == "user" && last >= 0 && len(r.Messages[last].Results) > 0 {
				shown := &r.Messages[last].Results[0] // pictures of a result come after it, in a message of their own
				shown.Text += strings.Join(picture.FindAllString(text, -1), "\n")
			}
			r.Messages = append(r.Messages, Message{Role: in.Role, Text: text})
		}
	}
	return r, nil
}

var (
	picture    = lazyregexp.New(`a picture in the colour #[0-9a-f]{6}`)
	textResult = lazyregexp.New(`(?s)<tool_result\b[^>]*>\n?(.*?)\n?</tool_result>`)
	textTool   = lazyregexp.New(`(?m)^(?:#+ |- |\* )?` + "[`*]*" + `([A-Za-z_][\w.-]*)` + "[`*]*" + `(?:\s*[:—-].*)?$`)
)

// readText reads a request in which tools, calls and results are all text.
func readText(body []byte) (*Request, error) {
	r, err := readOpenAI(body)
	if err != nil {
		return nil, err
	}
	r.AsText = len(r.Tools) == 0
	if !r.AsText {
		return r, nil
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != "user" {
			continue
		}
		for _, found := range textResult.FindAllStringSubmatch(m.Text, -1) {
			m.Results = append(m.Results, Result{Text: found[1] + strings.Join(picture.FindAllString(m.Text, -1), "\n")})
		}
		m.Text = textResult.ReplaceAllString(m.Text, "")
	}
	r.Tools = toolsInText(r.System)
	return r, nil
}

// toolsInText finds tools in a prompt: a name on a line of its own or at the
// beginning of one, and below it, before the next name, a JSON Schema of an object.
func toolsInText(prompt string) []Tool {
	var tools []Tool
	name, about := "", ""
	for line := range strings.Lines(prompt) {
		at := strings.Index(line, `{"`)
		var s Schema
		isSchema := strings.HasPrefix(line, "parameters") || strings.Contains(line, `"properties"`)
		if at >= 0 && isSchema && json.Unmarshal([]byte(strings.TrimSpace(line[at:])), &s) == nil {
			if name != "" {
				tools = append(tools, Tool{Name: name, Description: about, Schema: s})
				name, about = "", ""
			}
			continue
		}
		m := textTool.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m != nil && (line[0] == '#' || name == "" && strings.ContainsAny(m[1], "_.")) {
			name, about = m[1], line
			continue
		}
		about += line
	}
	return tools
}

// object is a piece of an answer.
type object = map[string]any

// pieces cuts a text in two, as a stream does.
func pieces(text string) []string {
	if len(text) < 2 {
		return []string{text}
	}
	cut := len(text) / 2
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return []string{text[:cut], text[cut:]}
}

// writeAnthropic returns the events of an answer. A stop of max_tokens is one
// that was cut off.
func writeAnthropic(a Answer, sent int, stop string) []object {
	events := []object{{"type": "message_start", "message": object{"id": "message", "type": "message",
		"role": "assistant", "model": "scripted", "content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": sent, "output_tokens": 1}}}}
	index := 0
	block := func(begun object, deltas []object) {
		events = append(events, object{"type": "content_block_start", "index": index, "content_block": begun})
		for _, d := range deltas {
			events = append(events, object{"type": "content_block_delta", "index": index, "delta": d})
		}
		events = append(events, object{"type": "content_block_stop", "index": index})
		index++
	}
	if a.Text != "" {
		var deltas []object
		for _, p := range pieces(a.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": p})
		}
		block(object{"type": "text", "text": ""}, deltas)
	}
	for _, c := range a.Calls {
		var deltas []object
		for _, p := range pieces(c.Args) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": p})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas)
	}
	if stop == "" {
		stop = "end_turn"
		if len(a.Calls) > 0 {
			stop = "tool_use"
		}
	}
	return append(events, object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": received(a)}}, object{"type": "message_stop"})
}

// writeOpenAI returns the events of an answer, as chunks of a chat completion.
func writeOpenAI(a Answer, sent int, stop string) []object {
	var events []object
	chunk := func(delta object, reason any) {
		events = append(events, object{"id": "chat", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if a.Text != "" {
		for _, p := range pieces(a.Text) {
			chunk(object{"content": p}, nil)
		}
	}
	for i, c := range a.Calls {
		parts := pieces(c.Args)
		chunk(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": parts[0]}}}}, nil)
		for _, p := range parts[1:] {
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	if stop == "max_tokens" {
		stop = "length"
	}
	if stop == "" {
		stop = "stop"
		if len(a.Calls) > 0 {
			stop = "tool_calls"
		}
	}
	chunk(object{}, stop)
	return append(events, object{"id": "chat", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
		"choices": []object{}, "usage": object{"prompt_tokens": sent, "completion_tokens": received(a),
			"total_tokens": sent + received(a)}})
}

// inText puts the calls of an answer into its text, in the form that Callgate's
// prompt asks for, which many models were trained on.
func inText(a Answer) Answer {
	for _, c := range a.Calls {
		name, _ := json.Marshal(c.Name)
		a.Text += "\n<tool_call>{\"name\": " + string(name) + ", \"arguments\": " + c.Args + "}</tool_call>"
	}
	a.Calls = nil
	return a
}

// received is the size of an answer in tokens, of four bytes each.
func received(a Answer) int {
	n := len(a.Text)
	for _, c := range a.Calls {
		n += len(c.Name) + len(c.Args)
	}
	return (n + 3) / 4
}
