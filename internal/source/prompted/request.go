package prompted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"sync"

	"callgate/internal/source/prompted/template"
	"callgate/llm"
	"callgate/llmtool"
	"callgate/tool"
)

// jsonRules tell a model how to answer with JSON. The schema and the example below them stand
// between tags and not in code fences, for the rules ask for an answer without any.
const jsonRules = "Answer with one JSON value and nothing else: no words before or after it, no comments, " +
	"and no code fence around it."

// mostTokens is what an answer may have where nobody knows what a model can write.
const mostTokens = 1_000_000

// room is how much a model is asked for: no more than it can write, whatever a definition or its input says.
func room(tokens, maxOutput int) int {
	return min(tokens, cmp.Or(max(0, maxOutput), mostTokens), mostTokens)
}

// request is what a model is sent for a definition, as it is for that model.
func (t *templates) request(d llmtool.Definition, values map[string]any, c candidate) (llm.Request, error) {
	system, err := t.render(d, "system prompt", d.SystemPrompt, values)
	if err != nil {
		return llm.Request{}, err
	}
	user, err := t.render(d, "user template", d.UserTemplate, values)
	if err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{
		System: system, Messages: []llm.Message{llm.TextMessage(llm.User, user)},
		MaxTokens: d.ModelPreference.MaxTokens, Temperature: d.ModelPreference.Temperature,
		CacheKey: d.ID, Once: true, // calls of one tool begin alike, and differ in what they are given
	}
	if d.Format() == llmtool.JSON {
		req.System = strings.TrimSpace(system + "\n\n" + structure(d))
		req.Output = d.OutputSchema
	}
	if d.ResolveMaxTokens != nil {
		if n := d.ResolveMaxTokens(values, c.Target); n > 0 {
			req.MaxTokens = n
		}
	}
	req.MaxTokens = room(req.MaxTokens, c.MaxOutput)
	return req, nil
}

// variables are the values of a definition's templates.
func variables(d llmtool.Definition, input map[string]any) (map[string]any, error) {
	if d.PrepareInput == nil {
		return input, nil
	}
	values, err := d.PrepareInput(input)
	if err != nil {
		return nil, tool.Errorf("prompted.prepare", tool.Invalid, "the tool %s cannot use its input: %w", d.ID, err)
	}
	return values, nil
}

// templates are the parsed templates of one definition and its variants, by their texts.
type templates struct{ parsed sync.Map }

func (t *templates) parse(text string) (*template.Template, error) {
	if known, ok := t.parsed.Load(text); ok {
		return known.(*template.Template), nil
	}
	parsed, err := template.Parse(text)
	if err == nil {
		t.parsed.Store(text, parsed)
	}
	return parsed, err
}

func (t *templates) render(d llmtool.Definition, of, text string, values map[string]any) (string, error) {
	parsed, err := t.parse(text)
	if err == nil {
		text, err = parsed.Render(values)
	}
	if err != nil {
		return "", tool.Errorf("prompted.render", tool.Invalid, "the %s of %s: %w", of, d.ID, err).
			WithHint("give the argument, or give it a default in the input schema")
	}
	return text, nil
}

// structure tells a model which JSON to write.
func structure(d llmtool.Definition) string {
	var out strings.Builder
	out.WriteString(jsonRules)
	if len(d.OutputSchema) > 0 {
		out.WriteString("\nIt must be valid under this JSON Schema:\n<schema>\n" + compact(d.OutputSchema) + "\n</schema>")
	}
	if len(d.OutputExample) > 0 {
		out.WriteString("\nThis is an example of its form, not of its content:\n<example>\n" +
			compact(d.OutputExample) + "\n</example>")
	}
	return out.String()
}

// compact takes the white space out of JSON, which costs tokens.
func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// repair is the message that shows a model what is wrong with its answer.
func repair(err error) llm.Message {
	return llm.TextMessage(llm.User, "Your answer cannot be used: "+tool.TruncateTo(err.Error(), 2000)+
		"\n\nWrite the whole answer again, mended. "+jsonRules)
}
