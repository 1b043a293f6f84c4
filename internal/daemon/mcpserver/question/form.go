package question

import (
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	asked "callgate/internal/question"
	"callgate/internal/visible"
)

// # What an agent asks, as a form
//
// A form of the protocol is flat: texts, numbers, truths, and one of several texts. So each
// of several choices is a truth of its own. The protocol forbids a form that asks for a
// password: a question with one has no form, and is answered elsewhere.

// The fields of a form beside those of the question.
const (
	fieldAnswer   = "answer"
	fieldChoice   = "choice"
	fieldApprove  = "approve"
	fieldFeedback = "feedback"
	fieldContent  = "content"
)

// Form is the form of a question that an agent asks, and reads what a client sends back.
type Form struct {
	asks    asked.Question
	content string // the name of the field that has the content; "": there is none
	no      string // the name of the field for a no
}

// NewForm returns the form of a question; false if no form may ask it.
func NewForm(q asked.Question) (*Form, bool) {
	if slices.ContainsFunc(q.Form, func(f asked.Field) bool { return f.IsSecret() }) {
		return nil, false
	}
	f := &Form{asks: q, no: freeName(q, fieldFeedback)}
	if q.Content != "" {
		f.content = freeName(q, fieldContent)
	}
	return f, true
}

// freeName is a name that no field of the question has.
func freeName(q asked.Question, name string) string {
	for slices.ContainsFunc(q.Form, func(f asked.Field) bool { return f.Name == name }) {
		name += "_"
	}
	return name
}

// Params is the form as a client is sent it; note stands above it.
func (f *Form) Params(client, note string) *sdk.ElicitParams {
	var b strings.Builder
	if note != "" {
		b.WriteString(visible.ClipLines(note, maxMessage) + "\n\n")
	}
	b.WriteString("The agent at " + visible.Clip(client, 200) + " asks: " + visible.ClipLines(f.asks.Text, maxMessage))
	if f.content != "" {
		b.WriteString("\n\n" + visible.ClipLines(f.asks.Content, maxMessage))
	}
	s := &schema{Type: "object", Properties: map[string]property{}}
	f.fill(s)
	if f.content != "" {
		s.Properties[f.content] = property{
			Type: "string", Title: "Content", Description: "You may edit it.", Default: f.asks.Content,
		}
	}
	s.Properties[f.no] = property{
		Type: "string", Title: "Or say no", Description: "What the agent is told in place of an answer.",
	}
	return &sdk.ElicitParams{Mode: "form", Message: b.String(), RequestedSchema: s}
}

// schema is the flat schema of a form.
type schema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required,omitempty"`
}

type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Format      string   `json:"format,omitempty"`
	Minimum     *float64 `json:"minimum,omitempty"`
	Maximum     *float64 `json:"maximum,omitempty"`
	MinLength   int      `json:"minLength,omitempty"`
	Default     any      `json:"default,omitempty"`
}

func (f *Form) fill(s *schema) {
	q := f.asks
	switch {
	case len(q.Form) > 0:
		for _, field := range q.Form {
			addField(s, field)
		}
	case q.ResponseType == asked.Approval:
		s.Properties[fieldApprove] = property{Type: "boolean", Title: "Yes", Description: "Whether you agree."}
	case len(q.Choices) > 0 && q.AllowMultiple:
		addEach(s, fieldChoice, q.Choices, nil)
	case len(q.Choices) > 0:
		s.Properties[fieldChoice] = property{
			Type: "string", Title: "Choice", Enum: q.Choices, Default: orNil(q.Default, q.Choices),
		}
	}
	if len(q.Form) == 0 && q.ResponseType != asked.Approval && (len(q.Choices) == 0 || q.AllowCustom) {
		p := property{Type: "string", Title: "Your answer", Description: visible.Text(q.Placeholder)}
		if len(q.Choices) > 0 {
			p.Title = "Or in your own words"
		} else if q.Default != "" {
			p.Default = q.Default
		}
		s.Properties[fieldAnswer] = p
	}
}

// orNil is a default that is one of the choices.
func orNil(text string, choices []string) any {
	if slices.Contains(choices, text) {
		return text
	}
	return nil
}

// addEach adds a truth for each choice.
func addEach(s *schema, name string, choices []string, chosen any) {
	on, _ := chosen.([]string)
	for i, c := range choices {
		p := property{Type: "boolean", Title: visible.Text(c)}
		if slices.Contains(on, c) {
			p.Default = true
		}
		s.Properties[nth(name, i)] = p
	}
}

func nth(name string, i int) string { return name + "_" + strconv.Itoa(i+1) }

func addField(s *schema, f asked.Field) {
	p := property{
		Type: "string", Title: visible.Text(f.Label), Description: visible.ClipLines(f.Description, maxMessage),
		Default: f.Default, MinLength: f.MinLength,
	}
	if f.Pattern != "" {
		p.Description = strings.TrimSpace(p.Description + " It must match " + visible.Text(f.Pattern) + ".")
	}
	switch f.Type {
	case asked.Number, asked.Range:
		p.Type, p.Minimum, p.Maximum = "number", f.Min, f.Max
	case asked.Integer, asked.Rating:
		p.Type, p.Minimum, p.Maximum = "integer", f.Min, f.Max
	case asked.Boolean:
		p.Type = "boolean"
	case asked.Select:
		p.Enum = f.Options
	case asked.MultiSelect:
		addEach(s, f.Name, f.Options, f.Default)
		return
	case asked.Date:
		p.Format = "date"
	case asked.Email:
		p.Format = "email"
	case asked.URL:
		p.Format = "uri"
	}
	s.Properties[f.Name] = p
	if f.Required && f.Default == nil {
		s.Required = append(s.Required, f.Name)
	}
}

// Reply reads what a client sent back: a form that was filled in, or declined. It reports
// false for one that decides nothing.
func (f *Form) Reply(got *sdk.ElicitResult) (asked.Reply, bool) {
	if got == nil || got.Action != "accept" && got.Action != "decline" {
		return asked.Reply{}, false
	}
	text := func(name string) string { t, _ := got.Content[name].(string); return t }
	if why := strings.TrimSpace(text(f.no)); got.Action == "decline" || why != "" {
		return asked.Reply{Feedback: why}, true
	}
	r := asked.Reply{Approve: true, Text: text(fieldAnswer)}
	if f.content != "" {
		if edited, ok := got.Content[f.content].(string); ok && edited != f.asks.Content {
			r.Content = &edited
		}
	}
	q := f.asks
	switch {
	case len(q.Form) > 0:
		r.Text, r.Fields = "", map[string]any{}
		for _, field := range q.Form {
			if field.Type == asked.MultiSelect {
				r.Fields[field.Name] = eachChosen(got.Content, field.Name, field.Options)
			} else {
				r.Fields[field.Name] = got.Content[field.Name]
			}
		}
	case q.ResponseType == asked.Approval:
		r.Approve, _ = got.Content[fieldApprove].(bool)
	case q.AllowMultiple:
		r.Choices = eachChosen(got.Content, fieldChoice, q.Choices)
	case text(fieldChoice) != "" && r.Text == "":
		r.Choices = []string{text(fieldChoice)}
	}
	return r, true
}

func eachChosen(content map[string]any, name string, choices []string) (chosen []string) {
	for i, c := range choices {
		if on, _ := content[nth(name, i)].(bool); on {
			chosen = append(chosen, c)
		}
	}
	return chosen
}
