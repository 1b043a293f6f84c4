package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/internal/fence"
	"callgate/llmtool"
)

// Summarize sums a text up.
func Summarize() llmtool.Definition {
	const balanced = "You summarize texts. Keep what a reader needs to act on the text without having read it: " +
		"names, numbers, decisions, what is open. Add nothing that the text does not say." + dataRule
	const strict = "You summarize texts, and only that.\n- Say what the text says, in its own terms.\n" +
		"- Leave out opinions about it and words about your task.\n- Keep names, numbers and decisions exact.\n" +
		"- Write in the language of the text." + dataRule
	return llmtool.Definition{
		ID:          ID("summarize"),
		Description: "Sums up a text: a summary and its key points.",
		InputSchema: object(map[string]any{
			"content": described("string", "the text"),
			"maxLength": map[string]any{
				"type": "integer", "minimum": 20, "maximum": 1_000_000, "description": "characters of the summary at most",
			},
			"maxTokens": map[string]any{
				"type": "integer", "minimum": 20, "maximum": 200_000,
				"description": "tokens of the whole answer at most; goes before maxLength",
			},
			"focus": map[string]any{"type": "string", "default": "", "description": "what to look at above all"},
		}, "content"),
		OutputSchema: object(map[string]any{
			"summary": described("string", "the summary"), "keyPoints": listOf("string", "its points, one sentence each", 0),
		}, "summary", "keyPoints"),
		UserTemplate: "Summarize this text.{{limit}}{{focus}}\n\n{{content}}",
		Variants: []llmtool.Variant{
			{ID: "strict", Providers: []string{"anthropic", "gemini", "google"}, SystemPrompt: strict},
			{ID: "balanced", Default: true, SystemPrompt: balanced},
		},
		PrepareInput: prepareSummary,
		ResolveMaxTokens: func(input map[string]any, _ llmtool.Target) int {
			if n := number(input["maxTokens"]); n > 0 {
				return n
			}
			if n := number(input["maxLength"]); n > 0 { // it is written as JSON, and has its key points beside it
				return (n+3)/4*16/10 + 400
			}
			return 0
		},
		ResolveOutput: func(input map[string]any) (llmtool.Output, error) {
			limit := number(input["maxLength"])
			if limit == 0 {
				return llmtool.Output{}, nil
			}
			return llmtool.Output{Finish: func(answer json.RawMessage) (json.RawMessage, error) {
				return shorten(answer, limit)
			}}, nil
		},
		ModelPreference: ask(800, 0.3), RecommendedThreshold: 95, Tags: []string{"text", "summary"},
	}
}

// prepareSummary makes the variables of the prompt.
func prepareSummary(input map[string]any) (map[string]any, error) {
	limit, focus := "", ""
	if n := number(input["maxLength"]); n > 0 {
		limit = fmt.Sprintf(" The summary has at most %d characters.", n)
	}
	if n := number(input["maxTokens"]); n > 0 {
		limit += fmt.Sprintf(" The whole answer has at most about %d words.", max(n*2/3, 10))
	}
	if text, _ := input["focus"].(string); strings.TrimSpace(text) != "" {
		focus = "\nLook above all at this:\n" + fence.Data(text)
	}
	input["limit"], input["focus"] = limit, focus
	return asData(input, "content"), nil
}

// shorten holds a summary to its length: models count characters badly.
func shorten(answer json.RawMessage, limit int) (json.RawMessage, error) {
	var out struct {
		Summary   string   `json:"summary"`
		KeyPoints []string `json:"keyPoints"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(out.Summary) <= limit {
		return answer, nil
	}
	cut := string([]rune(out.Summary)[:limit-1])
	if i := strings.LastIndexFunc(cut, unicode.IsSpace); i > len(cut)/2 { // at the end of a word
		cut = cut[:i]
	}
	out.Summary = strings.TrimRightFunc(cut, unicode.IsSpace) + "…"
	return json.Marshal(out)
}

// number reads a whole number of the arguments; 0: there is none. The schemas bound it.
func number(value any) int {
	switch n := value.(type) {
	case float64:
		return int(n)
	case json.Number:
		i, _ := n.Int64()
		return int(i)
	case int:
		return n
	}
	return 0
}
