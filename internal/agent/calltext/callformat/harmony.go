package callformat

import (
	"encoding/json"
	"strings"

	"callgate/internal/agent/calltext/laxjson"
	"callgate/llm"
)

// Header is the header of a message in the harmony format.
type Header struct {
	To, Channel string
	End         int // the start of the message's text
}

const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:/"

// ReadHeader reads the header of a harmony message.
func ReadHeader(in *Input, i int) (Header, bool) {
	const mark = "<|message|>"
	k := in.Near(i, mark, 200)
	if k < 0 || strings.ContainsAny(in.S[i:k], "\n{") {
		return Header{}, false
	}
	h := Header{End: k + len(mark)}
	if _, to, ok := strings.Cut(in.S[i:k], "to="); ok {
		h.To = to[:len(to)-len(strings.TrimLeft(to, nameBytes))]
	}
	if c := strings.LastIndex(in.S[i:k], "<|channel|>"); c >= 0 {
		rest := strings.TrimSpace(in.S[i+c+len("<|channel|>") : k])
		h.Channel = rest[:len(rest)-len(strings.TrimLeft(rest, nameBytes))]
	}
	return h, true
}

// IsHarmonyEnd reports whether a harmony message ends at i: with a token of its own,
// or because another message begins.
func IsHarmonyEnd(in *Input, i int) bool { return in.After(i, messageEnds) > 0 }

var (
	harmonyEnds = []string{"<|call|>", "<|end|>", "<|return|>", "<|eom|>", "<|eot|>"}
	messageEnds = append([]string{"<|start|>", "<|channel|>"}, harmonyEnds...)
)

// readHarmony reads a message that is addressed to a tool.
func readHarmony(in *Input, i int) ([]llm.ToolCall, int) {
	h, ok := ReadHeader(in, i)
	if !ok || h.To == "" {
		return nil, i
	}
	name, isFunction := in.name(h.To), strings.HasPrefix(h.To, "functions.")
	if name == "" || !isFunction && (in.Known == nil || !in.Known(name)) {
		return nil, i // addressed to a person, or to a tool of the model's maker
	}
	k := in.Space(h.End)
	args, end, ok := readArguments(in, k, harmonyEnds)
	if !ok {
		if !isFunction || in.At(k) == '<' {
			return nil, i
		}
		if end = in.First(k, harmonyEnds); end < 0 {
			end = len(in.S)
		}
		args = laxjson.Quoted(strings.TrimSpace(in.S[k:end]))
		if end == k && !in.End(k) {
			args = json.RawMessage("{}")
		}
	}
	if k := in.After(in.Space(end), harmonyEnds); k > 0 {
		end = k
	}
	return []llm.ToolCall{{Name: name, Args: args}}, end
}
