// Package llmtool is the vocabulary of LLM-backed tools: tools whose work is done by a language
// model that was given a prompt.
//
//	triage, err := llmtool.Define(llmtool.Definition{
//		ID:           "acme:triage@1.0.0",
//		Description:  "Decides how urgent a ticket is.",
//		InputSchema:  json.RawMessage(`{"type":"object","required":["ticket"],"properties":{"ticket":{"type":"string"}}}`),
//		OutputSchema: json.RawMessage(`{"type":"object","required":["urgent"],"properties":{"urgent":{"type":"boolean"}}}`),
//		SystemPrompt: "You sort tickets of a help desk.",
//		UserTemplate: "Is this urgent?\n\n{{ticket}}",
//		ModelPreference: llmtool.Preference{Preferred: "openai/gpt-5.4-nano"},
//	})
//
// What Define makes is an ordinary tool. It is registered with a kernel, is called through the
// gate like any other, and the kernel has a model do its work: the best one that was measured,
// else the preferred one, else its fallbacks. [DefinitionOf] gives the definition back.
//
// # Laws
//
//   - A definition is checked when the tool is made: its templates, its schemas, its models. One
//     with a mistake is no tool.
//   - A template is filled in once: no input can name another variable, or become a template.
//   - What a model answers is validated against the output schema. What does not match is an
//     error, never a result.
package llmtool

import (
	"encoding/json"
	"strings"

	"callgate/tool"
)

// Format is what the model is asked to answer with.
type Format string

// The formats. The zero value is JSON where there is an output schema, and Text where there is none.
const (
	Text Format = "text"
	JSON Format = "json"
)

// Definition is an LLM-backed tool.
type Definition struct {
	ID          string // namespace:name@version
	Description string // for the model that calls it
	// InputSchema is the JSON Schema of the arguments, an object. Its defaults are filled in.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema of the answer; empty: any.
	OutputSchema json.RawMessage
	// OutputSchemaFrom names the argument that is the schema of the answer, in the place of
	// OutputSchema.
	OutputSchemaFrom string
	// SystemPrompt and UserTemplate are templates over the arguments: {{name}}, {{a.path.0}},
	// {{list | numbered}}, {{list | bulleted}}.
	SystemPrompt string
	UserTemplate string
	OutputFormat Format
	// OutputExample is an answer to imitate. It must match OutputSchema.
	OutputExample json.RawMessage
	// Variants are other prompts for certain models or modes.
	Variants []Variant
	// ModelPreference is who is asked where nothing was measured.
	ModelPreference Preference
	// RecommendedThreshold is the score, of 100, that a model must reach in a benchmark to be
	// recommended; 0 is 100.
	RecommendedThreshold float64
	Tags                 []string
	// Repairs is how often a model is shown what is wrong with its answer; nil is once.
	Repairs *int

	// PrepareInput makes the variables of the templates out of the arguments; nil: they are the
	// arguments. It may change the map.
	PrepareInput func(input map[string]any) (map[string]any, error)
	// ResolveMaxTokens bounds the answer; nil, or a result of 0: as ModelPreference says.
	ResolveMaxTokens func(input map[string]any, target Target) int
	// ResolveOutput says what must be true of the answer to one input; nil: what OutputSchema says.
	ResolveOutput func(input map[string]any) (Output, error)
}

// Output is what must be true of the answer to one input, and what is made of it.
type Output struct {
	// Schema is what the model is told to answer with; empty: the definition's OutputSchema.
	Schema json.RawMessage
	// Finish makes the result out of an answer that matches the schema, or says what is wrong with
	// it, which the model is shown; nil: the answer is the result. The result must match the
	// definition's OutputSchema.
	Finish func(answer json.RawMessage) (json.RawMessage, error)
}

// Preference is which models to ask, in order. A model is named provider/model.
type Preference struct {
	Preferred string
	// Fallbacks are asked in their order when a model fails.
	Fallbacks []string
	// TooLong and Refused are asked in the place of Fallbacks where the input is too long for a
	// model, and where a model or its filter declined. Empty: Fallbacks.
	TooLong []string
	Refused []string
	// OrDefault has the default model asked where none of these can be: there is no key for them.
	OrDefault bool
	// MaxTokens bounds the answer; 0: the model does.
	MaxTokens   int
	Temperature *float64
}

// Variant is another prompt of the same tool. An empty field is that of the definition.
type Variant struct {
	ID           string
	Description  string
	SystemPrompt string
	UserTemplate string

	OutputExample    json.RawMessage
	OutputSchema     json.RawMessage
	ResolveMaxTokens func(input map[string]any, target Target) int

	// Modes are the values of the argument mode for which it is; empty: for any.
	Modes []string
	// Models and Providers are the models, as provider/model, and the providers for which it is.
	Models    []string
	Providers []string
	// Match are parts of provider/model for which it is: "claude", "openai/".
	Match   []string
	Default bool
}

// Target is the model that is about to be asked.
type Target struct {
	Provider string
	Model    string
	Window   int // tokens; 0: not known
	// Count estimates the tokens of a text.
	Count func(text string) int
}

// Name writes provider/model.
func (t Target) Name() string { return t.Provider + "/" + t.Model }

// SplitModel splits provider/model at its first slash.
func SplitModel(name string) (provider, model string, err error) {
	provider, model, ok := strings.Cut(name, "/")
	if !ok || provider == "" || model == "" {
		return "", "", tool.Errorf("llmtool.SplitModel", tool.Invalid, "%q names no model", tool.Truncate(name)).
			WithHint("write provider/model, as openai/gpt-5.4-nano")
	}
	return provider, model, nil
}

// Models returns the preferred model and the fallbacks, each once.
func (p Preference) Models() []string {
	var all []string
	seen := map[string]bool{"": true}
	for _, name := range append([]string{p.Preferred}, p.Fallbacks...) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}
