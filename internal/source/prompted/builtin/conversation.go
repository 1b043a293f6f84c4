package builtin

import (
	_ "embed" // the instructions
	"strings"

	"callgate/llmtool"
)

//go:embed conversation.md
var conversationPrompt string

// Conversation sums up the part of a conversation that an agent is no longer shown. It is no tool
// that anybody calls: compaction runs it, with the model that the app names for that.
func Conversation() llmtool.Definition {
	return llmtool.Definition{
		ID:          ID("summarize-conversation"),
		Description: "Sums up the part of a conversation that an agent is no longer shown.",
		InputSchema: object(map[string]any{
			"earlier":      described("string", "the summary so far, which is extended"),
			"conversation": described("string", "what happened since"),
			"words":        described("integer", "how long it may be"),
		}, "earlier", "conversation", "words"),
		OutputFormat: llmtool.Text,
		SystemPrompt: strings.TrimSpace(conversationPrompt),
		UserTemplate: "{{earlier}}What happened since:\n<conversation>\n{{conversation}}\n</conversation>\n\n" +
			"Write the summary now, in at most {{words}} words.",
		PrepareInput: func(input map[string]any) (map[string]any, error) {
			for _, name := range []string{"earlier", "conversation"} {
				text, _ := input[name].(string)
				input[name] = unended(text)
			}
			if input["earlier"] != "" {
				input["earlier"] = "The summary so far:\n<earlier>\n" + input["earlier"].(string) + "\n</earlier>\n\n"
			}
			return input, nil
		},
	}
}

// unended keeps a text from ending the block that it stands in.
func unended(text string) string {
	for _, tag := range []string{"</earlier", "</conversation"} {
		text = strings.ReplaceAll(text, tag, "<\u200b"+tag[1:])
	}
	return text
}
