package question

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/tool"
)

// Reply is what a user answers, before it was checked.
type Reply struct {
	Approve  bool           `json:"approve"`            // false: the user says no
	Feedback string         `json:"feedback,omitempty"` // why not
	Text     string         `json:"text,omitempty"`     // in the user's words
	Choices  []string       `json:"choices,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`  // of a form, by name: as typed, or of the field's type
	Content  *string        `json:"content,omitempty"` // as the user edited it; nil: as it was
}

// Given is a reply that fits its question. It holds no password.
type Given struct {
	Approved bool    `json:"approved"`
	Feedback string  `json:"feedback,omitempty"`
	Response string  `json:"response,omitempty"` // for a reader
	Raw      any     `json:"raw,omitempty"`      // a text, a list of choices, or the values of a form
	Edited   *string `json:"edited,omitempty"`   // the content, where the user changed it
	Default  bool    `json:"default,omitempty"`  // nobody answered: these are the question's defaults
	// Secrets are the passwords, by the name under which each is kept. They are not written.
	Secrets map[string]string `json:"-"`
}

// Read checks a reply. Its error says of every part that does not fit what is wrong with
// it. secretName names the secret that keeps a field's password.
func Read(q Question, r Reply, secretName func(field string) string) (Given, error) {
	if !r.Approve {
		return Given{Feedback: limitFeedback(r.Feedback)}, nil
	}
	if strings.TrimSpace(r.Feedback) != "" {
		return Given{}, mistake("the answer says yes and gives a reason for a no: answer without a reason, or decline with it")
	}
	g := Given{Approved: true}
	if r.Content != nil {
		if err := g.edit(q, *r.Content); err != nil {
			return Given{}, err
		}
	}
	var err error
	switch {
	case len(q.Form) > 0:
		err = g.readForm(q.Form, r, secretName)
	case len(r.Fields) > 0:
		err = mistake("the question has no form: answer in words")
	case len(q.Choices) > 0:
		err = g.readChoices(q, r)
	default:
		err = g.readText(q, r)
	}
	if err != nil {
		return Given{}, err
	}
	return g, nil
}

const maxFeedback = 500

// limitFeedback bounds what a user says with a no, as for approvals.
func limitFeedback(text string) string {
	text = strings.TrimSpace(clean(text))
	if runes := []rune(text); len(runes) > maxFeedback {
		return string(runes[:maxFeedback]) + "…"
	}
	return text
}

func (g *Given) edit(q Question, content string) error {
	content = strings.ToValidUTF8(content, "")
	switch {
	case q.Content == "" && content != "":
		return mistake("the question has no content to edit")
	case len(content) > MaxContent:
		return mistake("the content has %d bytes, and %d are the most", len(content), MaxContent)
	case content != q.Content:
		g.Edited = &content
	}
	return nil
}

func (g *Given) readText(q Question, r Reply) error {
	text := clean(r.Text)
	if !q.Multiline {
		text = strings.TrimSpace(text)
	}
	if len(r.Choices) > 0 {
		return mistake("the question has no choices")
	}
	if text == "" {
		text = q.Default
	}
	switch {
	case len(text) > maxReply:
		return mistake("the answer has %d bytes, and %d are the most", len(text), maxReply)
	case text == "" && (q.ResponseType == Approval || q.Content != ""):
		text = "approved"
	case text == "":
		return mistake("the answer is empty")
	}
	g.Response, g.Raw = text, text
	return nil
}

func (g *Given) readChoices(q Question, r Reply) error {
	chosen := slices.Clone(r.Choices)
	if len(chosen) == 0 && strings.TrimSpace(r.Text) == "" && q.Default != "" {
		chosen = q.defaultReply().Choices
	}
	own := strings.TrimSpace(clean(r.Text))
	var picked []string
	for _, c := range chosen {
		o, err := pick(strings.TrimSpace(c), q.Choices)
		switch {
		case err == nil:
		case q.AllowCustom:
			o = strings.TrimSpace(clean(c))
		default:
			return err
		}
		if o != "" && !slices.Contains(picked, o) {
			picked = append(picked, o)
		}
	}
	if own != "" {
		o, err := pick(own, q.Choices)
		if err != nil && !q.AllowCustom {
			return err
		}
		if err != nil {
			o = own
		}
		if !slices.Contains(picked, o) {
			picked = append(picked, o)
		}
	}
	return g.setChosen(q, picked)
}

func (g *Given) setChosen(q Question, picked []string) error {
	if !q.AllowMultiple {
		if len(picked) != 1 {
			return mistake("choose one of %s", strings.Join(q.Choices, ", "))
		}
		if len(picked[0]) > maxReply {
			return mistake("the answer has more than %d bytes", maxReply)
		}
		g.Response, g.Raw = picked[0], picked[0]
		return nil
	}
	switch {
	case len(picked) < q.MinSelect:
		return mistake("choose at least %d", q.MinSelect)
	case q.MaxSelect > 0 && len(picked) > q.MaxSelect:
		return mistake("choose at most %d", q.MaxSelect)
	case len(picked) > 2*MaxChoices:
		return mistake("choose at most %d", 2*MaxChoices)
	case len(picked) == 0:
		g.Response, g.Raw = "selected nothing", []string{}
		return nil
	}
	g.Response, g.Raw = "selected "+strings.Join(picked, ", "), picked
	return nil
}

// readForm reads every field, and says of all that do not fit what is wrong.
func (g *Given) readForm(form []Field, r Reply, secretName func(string) string) error {
	values, lines, wrong := map[string]any{}, []string{}, []string{}
	unknown := maps.Clone(r.Fields)
	for _, f := range form {
		delete(unknown, f.Name)
		value, err := f.Value(r.Fields[f.Name])
		if value == nil && err == nil {
			value, err = f.Value(f.Default) // it may have been read from JSON since
		}
		switch {
		case err != nil:
			wrong = append(wrong, f.Name+": "+messageOf(err))
			continue
		case value == nil && f.Required:
			wrong = append(wrong, f.Name+": is needed")
			continue
		case value == nil:
			continue
		}
		if f.IsSecret() {
			if secretName == nil {
				wrong = append(wrong, f.Name+": no password can be kept here")
				continue
			}
			name, text := secretName(f.Name), value.(string)
			if g.Secrets == nil {
				g.Secrets = map[string]string{}
			}
			g.Secrets[name] = text
			value = "given, and kept as the secret " + name
		}
		values[f.Name] = value
		lines = append(lines, "- "+f.Label+": "+indentMore(ValueText(value)))
	}
	for name := range unknown {
		wrong = append(wrong, fmt.Sprintf("%s: there is no such field", tool.Truncate(name)))
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return mistake("%s", strings.Join(wrong, "; "))
	}
	if len(lines) == 0 {
		lines = append(lines, "(nothing)")
	}
	g.Response, g.Raw = strings.Join(lines, "\n"), values
	return nil
}

// indentMore keeps a value of more lines within its bullet.
func indentMore(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// Silence is the reply of nobody: the defaults, where there are some.
func (q *Question) Silence() (Given, bool) {
	if !q.HasDefault() {
		return Given{}, false
	}
	r := q.defaultReply()
	if len(q.Form) > 0 {
		r = Reply{Approve: true}
	}
	g, err := Read(*q, r, nil)
	g.Default = true
	return g, err == nil
}

// Result is what a model is told.
type Result struct {
	Status           string `json:"status"` // approved, denied, timeout, or no_approval_queue
	Question         string `json:"question"`
	UserResponse     string `json:"user_response,omitempty"`
	RawResponse      any    `json:"raw_response,omitempty"`
	UserFeedback     string `json:"user_feedback,omitempty"`
	Content          string `json:"content,omitempty"`
	ContentWasEdited *bool  `json:"content_was_edited,omitempty"`
	EditedContent    string `json:"edited_content,omitempty"`
	DefaultUsed      bool   `json:"default_used,omitempty"`
	Hint             string `json:"hint,omitempty"`
}

// The statuses of a result.
const (
	StatusApproved = "approved"
	StatusDenied   = "denied"
	StatusTimeout  = "timeout"
	StatusNoHuman  = "no_approval_queue"
)

// Outcome is what a model is told of a reply; of nil, that nobody answered.
func (q *Question) Outcome(g *Given) Result {
	r := Result{Question: q.Text}
	switch {
	case g == nil:
		r.Status = StatusTimeout
		r.Hint = "nobody answered in time; go on without the answer if you can, and say what you assumed"
		return r
	case g.Default:
		r.Status, r.DefaultUsed = StatusTimeout, true
		r.Hint = "nobody answered in time; the default counts"
	case g.Approved:
		r.Status = StatusApproved
	}
	if !g.Approved {
		if r.Status == "" {
			r.Status = StatusDenied
		}
		r.UserResponse, r.UserFeedback = g.Feedback, g.Feedback
		if r.UserResponse == "" {
			r.UserResponse = "no"
		}
		return r
	}
	r.UserResponse, r.RawResponse = g.Response, g.Raw
	if q.Content != "" {
		edited := g.Edited != nil
		if r.ContentWasEdited = &edited; edited {
			r.EditedContent = *g.Edited
		} else {
			r.Content = q.Content
		}
	}
	return r
}

// Summary is the result in a line.
func (r Result) Summary() string {
	first, _, more := strings.Cut(r.UserResponse, "\n")
	if utf8.RuneCountInString(first) > 120 || more {
		first = tool.Truncate(first) + " …"
	}
	switch {
	case r.Status == StatusApproved:
		return "the user answered: " + first
	case r.Status == StatusDenied && r.UserFeedback != "":
		return "the user said no: «" + strings.NewReplacer("«", "‹", "»", "›").Replace(first) + "»"
	case r.Status == StatusDenied:
		return "the user said no"
	case r.DefaultUsed:
		return "nobody answered in time; the default counts: " + first
	}
	return "nobody answered in time"
}
