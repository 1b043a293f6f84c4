package llmtool

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/source/prompted/template"
	"callgate/tool"
)

// Define makes a tool out of a definition, or says what is wrong with it.
func Define(d Definition) (*tool.Tool, error) {
	id, err := d.check()
	if err != nil {
		return nil, err
	}
	if len(d.InputSchema) == 0 {
		d.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	t := &tool.Tool{
		ID: id,
		Spec: tool.Spec{
			Name: id.Dotted(), Description: d.Description, Input: d.InputSchema, Output: d.outputSchema(),
			Tags: slices.Clone(d.Tags),
		},
		// A model is asked and nothing changes, but what it is sent leaves the machine.
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Network: true},
		Handler: unbound{d},
	}
	return t, t.Validate()
}

// DefineTemplate makes a tool out of one template: its variables are its arguments, all of them
// required, and the model's text is its result.
func DefineTemplate(id, description, text string, models Preference) (*tool.Tool, error) {
	parsed, err := template.Parse(text)
	if err != nil {
		return nil, tool.Errorf("llmtool.DefineTemplate", tool.Invalid, "the template of %s: %w", tool.Truncate(id), err)
	}
	properties := map[string]any{}
	for _, name := range parsed.Variables() {
		properties[name] = map[string]any{"description": "the " + name}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(properties) > 0 {
		schema["required"] = parsed.Variables()
	}
	input, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	return Define(Definition{
		ID: id, Description: description, InputSchema: input, UserTemplate: text, OutputFormat: Text, ModelPreference: models,
	})
}

// DefinitionOf returns the definition that a tool was made of.
func DefinitionOf(t *tool.Tool) (Definition, bool) {
	if h, ok := t.Handler.(interface{ Definition() Definition }); ok {
		return h.Definition(), true
	}
	return Definition{}, false
}

// unbound is a tool that no kernel knows yet.
type unbound struct{ d Definition }

// Definition returns what the tool was made of.
func (u unbound) Definition() Definition { return u.d }

// Execute says that the tool needs a kernel.
func (u unbound) Execute(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
	return nil, tool.Errorf("llmtool.Execute", tool.Unavailable, "the tool %s is not registered with a kernel", u.d.ID).
		WithHint("give it to callgate.Open in Config.Tools, or to Kernel.Register")
}

// outputSchema is what a result's data must match; text has none.
func (d Definition) outputSchema() json.RawMessage {
	if d.Format() == Text {
		return nil
	}
	return d.OutputSchema
}

// Format is the format in force.
func (d Definition) Format() Format {
	switch {
	case d.OutputFormat != "":
		return d.OutputFormat
	case len(d.OutputSchema) > 0 || d.OutputSchemaFrom != "":
		return JSON
	}
	return Text
}

// check reports the first mistake.
func (d Definition) check() (tool.ID, error) {
	const op = "llmtool.Define"
	id, err := tool.ParseID(d.ID)
	if err != nil {
		return id, err
	}
	fail := func(hint, format string, args ...any) (tool.ID, error) {
		return id, tool.Errorf(op, tool.Invalid, "the tool "+d.ID+": "+format, args...).WithHint("%s", hint)
	}
	switch {
	case strings.TrimSpace(d.Description) == "":
		return fail("say what it does, for the model that calls it", "it has no description")
	case strings.TrimSpace(d.UserTemplate) == "" && !d.everyVariantHasTemplate():
		return fail("write userTemplate, such as: Sum up {{content}}", "it has no user template")
	case d.OutputFormat != "" && d.OutputFormat != Text && d.OutputFormat != JSON:
		return fail("write text or json", "its output format is %q", d.OutputFormat)
	case d.OutputFormat == Text && len(d.OutputSchema) > 0:
		return fail("leave the schema out, or ask for json", "its output is text, which no schema describes")
	case d.OutputSchemaFrom != "" && len(d.OutputSchema) > 0:
		return fail("leave one of them out", "it has an output schema, and one from its argument %s", d.OutputSchemaFrom)
	case d.RecommendedThreshold < 0 || d.RecommendedThreshold > 100:
		return fail("write a number from 0 to 100", "its threshold is %v", d.RecommendedThreshold)
	case d.Repairs != nil && (*d.Repairs < 0 || *d.Repairs > maxRepairs):
		return fail("write a number from 0 to 5", "it has %d repair rounds", *d.Repairs)
	case d.ModelPreference.MaxTokens < 0:
		return fail("write a positive number, or none", "its max tokens are %d", d.ModelPreference.MaxTokens)
	}
	if len(d.InputSchema) > 0 && !isObject(d.InputSchema) {
		return fail("write a JSON Schema of type object", "its input schema is no JSON object")
	}
	if len(d.OutputSchema) > 0 && !isObject(d.OutputSchema) {
		return fail("write a JSON Schema", "its output schema is no JSON object")
	}
	if len(d.OutputExample) > 0 && !json.Valid(d.OutputExample) {
		return fail("write an answer as the model should write it", "its output example is no JSON")
	}
	p := d.ModelPreference
	for _, name := range slices.Concat(p.Models(), p.TooLong, p.Refused) {
		if _, _, err := SplitModel(name); err != nil {
			return id, err
		}
	}
	if err := d.checkTemplates(); err != nil {
		return id, err
	}
	return id, d.checkVariants()
}

// maxRepairs is how many repair rounds a definition may ask for.
const maxRepairs = 5

func (d Definition) everyVariantHasTemplate() bool {
	return len(d.Variants) > 0 && !slices.ContainsFunc(d.Variants, func(v Variant) bool { return v.UserTemplate == "" })
}

func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) && json.Valid(raw)
}

// checkTemplates parses the templates, and looks their variables up where it is known which there are.
func (d Definition) checkTemplates() error {
	const op = "llmtool.Define"
	texts := []struct{ of, text string }{{"its system prompt", d.SystemPrompt}, {"its user template", d.UserTemplate}}
	for _, v := range d.Variants {
		texts = append(texts, []struct{ of, text string }{
			{"the system prompt of its variant " + v.ID, v.SystemPrompt},
			{"the user template of its variant " + v.ID, v.UserTemplate},
		}...)
	}
	known, closed := d.arguments()
	for _, one := range texts {
		parsed, err := template.Parse(one.text)
		if err != nil {
			return tool.Errorf(op, tool.Invalid, "the tool %s: %s: %w", d.ID, one.of, err)
		}
		for _, name := range parsed.Variables() {
			if closed && !slices.Contains(known, name) {
				return tool.Errorf(op, tool.Invalid, "the tool %s: %s names {{%s}}, which its input schema does not have",
					d.ID, one.of, name).WithHint("it has %s", strings.Join(known, ", "))
			}
		}
	}
	return nil
}

// arguments returns the properties of the input schema, and whether there are no other variables.
func (d Definition) arguments() (names []string, closed bool) {
	var schema struct {
		Properties           map[string]json.RawMessage `json:"properties"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
		PatternProperties    json.RawMessage            `json:"patternProperties"`
	}
	if json.Unmarshal(d.InputSchema, &schema) != nil || d.PrepareInput != nil || len(schema.Properties) == 0 {
		return nil, false
	}
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	open := len(schema.PatternProperties) > 0 || isObject(schema.AdditionalProperties) ||
		string(schema.AdditionalProperties) == "true"
	return names, !open
}
