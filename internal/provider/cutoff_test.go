package provider_test

import (
	"strings"
	"testing"

	"callgate/llm"
)

// cutCall returns the pieces of a response with a whole call and one whose arguments the
// limit of tokens cut off after the given text.
func cutCall(d dialect, args string) []string {
	if d.name == "openai" {
		quote := func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
		return []string{
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\":1}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"write","arguments":"` + quote(args) + `"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
		}
	}
	pieces := []string{
		`{"type":"message_start","message":{"type":"message","role":"assistant","content":[]}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"look","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"write","input":{}}}`,
	}
	if args != "" {
		pieces = append(pieces, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"`+
			strings.ReplaceAll(args, `"`, `\"`)+`"}}`)
	}
	return append(pieces, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`)
}

// The arguments of a call that the limit of tokens cut off are never an object: not even
// when nothing of them had come.
func TestCallsThatWereCutOff(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		for args, want := range map[string]string{``: `""`, `{"path":"/ho`: `"{\"path\":\"/ho"`} {
			s := serve(t, stream(d.events(cutCall(d, args)...)))
			res, _, err := generate(t.Context(), d.once(t, s))
			if err != nil || res.Stop != llm.StopLength {
				t.Fatalf("%+v, %v", res, err)
			}
			calls := res.Message.Calls()
			if len(calls) != 2 || string(calls[0].Args) != `{"n":1}` || string(calls[1].Args) != want {
				t.Errorf("%q: calls %s", args, calls)
			}
		}
	})
}
