package kerneltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

func quoteJSON(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// halves cuts a text in two: a provider sends arguments in pieces.
func halves(text string) []string { return []string{text[:len(text)/2], text[len(text)/2:]} }

// inChat writes an answer as the stream of a chat completion.
func inChat(a Answer) string {
	var b strings.Builder
	event := func(format string, args ...any) { fmt.Fprintf(&b, "data: "+format+"\n\n", args...) }
	choice := func(delta string, reason any) {
		finish, _ := json.Marshal(reason)
		event(`{"id":"x","model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, delta, finish)
	}
	choice(`{"role":"assistant","content":`+quoteJSON(a.Text)+`}`, nil)
	for i, c := range a.Calls {
		name, args, _ := strings.Cut(c, " ")
		const begin = `{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":%s,"arguments":""}}]}`
		choice(fmt.Sprintf(begin, i, i, quoteJSON(name)), nil)
		for _, half := range halves(args) {
			choice(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quoteJSON(half)), nil)
		}
	}
	reason := "stop"
	if len(a.Calls) > 0 {
		reason = "tool_calls"
	}
	choice(`{}`, cmp.Or(a.Stop, reason))
	u := cmp.Or(a.Usage, Usage{Input: 100, Output: 10})
	event(`{"id":"x","model":"m","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d}}}`, u.Input, u.Output, u.Input+u.Output, u.Cached)
	return b.String() + "data: [DONE]\n\n"
}

// inMessages writes an answer as the stream of a message.
func inMessages(a Answer) string {
	var b strings.Builder
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(&b, "event: "+kind+"\ndata: {\"type\":\""+kind+"\""+format+"}\n\n", args...)
	}
	blocks := 0
	block := func(begin string, deltas ...string) {
		event("content_block_start", `,"index":%d,"content_block":%s`, blocks, begin)
		for _, delta := range deltas {
			event("content_block_delta", `,"index":%d,"delta":%s`, blocks, delta)
		}
		event("content_block_stop", `,"index":%d`, blocks)
		blocks++
	}
	u := cmp.Or(a.Usage, Usage{Input: 100, Output: 10})
	event("message_start", `,"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],`+
		`"stop_reason":null,"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}`,
		u.Input-u.Cached, u.Cached)
	if a.Text != "" {
		block(`{"type":"text","text":""}`, `{"type":"text_delta","text":`+quoteJSON(a.Text)+`}`)
	}
	for i, c := range a.Calls {
		name, args, _ := strings.Cut(c, " ")
		var deltas []string
		for _, half := range halves(args) {
			deltas = append(deltas, `{"type":"input_json_delta","partial_json":`+quoteJSON(half)+`}`)
		}
		block(fmt.Sprintf(`{"type":"tool_use","id":"call_%d","name":%s,"input":{}}`, i, quoteJSON(name)), deltas...)
	}
	reason := "end_turn"
	if len(a.Calls) > 0 {
		reason = "tool_use"
	}
	event("message_delta", `,"delta":{"stop_reason":"%s","stop_sequence":null},"usage":{"output_tokens":%d}`,
		cmp.Or(a.Stop, reason), u.Output)
	event("message_stop", ``)
	return b.String()
}
