// Package question is what an agent asks its user, and what the user replies.
//
// # Law
//
// A question that was parsed can be answered: its choices and fields are sound, its
// defaults fit them. A reply counts only when every part of it fits the question, and
// then its values have the types of their fields. The value of a password is in no
// answer: an answer names the secret that keeps it.
package question

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/tool"
)

// The bounds of a question.
const (
	MaxText    = 4_000   // characters of what is asked
	MaxContent = 256_000 // bytes of what is shown to be reviewed
	MaxChoices = 50
	MaxFields  = 50
	MaxWord    = 500 // characters of a choice, a label, an option

	MinTimeout     = 10 * time.Second
	MaxTimeout     = 1800 * time.Second
	DefaultTimeout = 300 * time.Second
)

// IDPrefix begins the ID of every question.
const IDPrefix = "q"

// ResponseType is what kind of reply is asked for.
type ResponseType string

// The kinds of reply.
const (
	Answer   ResponseType = "answer"   // words, choices, or a form
	Approval ResponseType = "approval" // yes or no
)

// Question is one thing that an agent asks. Make one with Parse.
type Question struct {
	Text          string        `json:"question"`
	Content       string        `json:"content,omitempty"` // Markdown, which the user may edit
	Choices       []string      `json:"choices,omitempty"`
	AllowMultiple bool          `json:"allow_multiple,omitempty"`
	MinSelect     int           `json:"min_select,omitempty"`
	MaxSelect     int           `json:"max_select,omitempty"` // 0: as many as there are
	AllowCustom   bool          `json:"allow_custom,omitempty"`
	Form          []Field       `json:"form,omitempty"`
	Default       string        `json:"default,omitempty"`
	Placeholder   string        `json:"placeholder,omitempty"`
	Multiline     bool          `json:"multiline,omitempty"`
	ResponseType  ResponseType  `json:"response_type,omitempty"`
	Timeout       time.Duration `json:"-"` // what is kept has a deadline
}

const op = "context_builder.ask_user"

func invalid(format string, args ...any) *tool.Error {
	return tool.Errorf(op, tool.Invalid, format, args...)
}

// asked is a question as a model writes it.
type asked struct {
	Question      string
	Content       *string
	Choices       []string
	AllowMultiple bool  `json:"allow_multiple"`
	MinSelect     int   `json:"min_select"`
	MaxSelect     int   `json:"max_select"`
	AllowCustom   *bool `json:"allow_custom"`
	Form          []askedField
	Default       json.RawMessage
	Placeholder   string
	Multiline     bool
	ResponseType  string `json:"response_type"`
	Timeout       *float64
}

// Parse reads the arguments of ask_user. Its errors say what to write instead.
func Parse(args json.RawMessage) (Question, error) {
	var in asked
	if err := json.Unmarshal(args, &in); err != nil {
		return Question{}, invalid("the question cannot be read: %v", err)
	}
	q := Question{
		Text: strings.TrimSpace(in.Question), AllowMultiple: in.AllowMultiple, MinSelect: in.MinSelect,
		MaxSelect: in.MaxSelect, AllowCustom: in.AllowCustom == nil || *in.AllowCustom,
		Placeholder: tool.Truncate(in.Placeholder), Multiline: in.Multiline, Timeout: DefaultTimeout,
	}
	if in.Content != nil {
		q.Content = *in.Content
	}
	for _, c := range in.Choices {
		q.Choices = append(q.Choices, strings.TrimSpace(c))
	}
	if in.Timeout != nil {
		seconds := *in.Timeout
		if !(seconds >= MinTimeout.Seconds() && seconds <= MaxTimeout.Seconds()) {
			return Question{}, invalid("timeout is %v, and must be 10 to 1800 seconds", seconds)
		}
		q.Timeout = time.Duration(seconds * float64(time.Second))
	}
	if err := q.checkText(); err != nil {
		return Question{}, err
	}
	var err error
	if q.ResponseType, err = responseType(in.ResponseType); err != nil {
		return Question{}, err
	}
	if err := q.checkChoices(); err != nil {
		return Question{}, err
	}
	if q.Form, err = parseForm(in.Form); err != nil {
		return Question{}, err
	}
	return q, q.setDefault(in.Default)
}

func responseType(text string) (ResponseType, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "answer", "text", "question":
		return Answer, nil
	case "approval", "approve", "confirm", "confirmation":
		return Approval, nil
	}
	return "", invalid("response_type is %q", tool.Truncate(text)).WithHint("use answer or approval")
}

func (q *Question) checkText() error {
	switch {
	case q.Text == "":
		return invalid("the question is empty").WithHint("say in question what you want to know")
	case utf8.RuneCountInString(q.Text) > MaxText:
		return invalid("the question has more than %d characters", MaxText).
			WithHint("ask shortly, and put what is to be read into content")
	case len(q.Content) > MaxContent:
		return invalid("the content has %d bytes, and %d are the most", len(q.Content), MaxContent).
			WithHint("write it into a file, and ask about the file")
	case !utf8.ValidString(q.Text) || !utf8.ValidString(q.Content):
		return invalid("the question is not UTF-8")
	}
	return nil
}

func (q *Question) checkChoices() error {
	if len(q.Choices) == 0 {
		q.AllowMultiple, q.MinSelect, q.MaxSelect = false, 0, 0
		return nil
	}
	if q.ResponseType == Approval {
		return invalid("an approval is yes or no, and has no choices").WithHint("leave out response_type or choices")
	}
	if err := checkWords("choices", q.Choices, MaxChoices); err != nil {
		return err
	}
	if !q.AllowMultiple {
		q.MinSelect, q.MaxSelect = 0, 0
		return nil
	}
	if q.MinSelect < 0 || q.MinSelect > len(q.Choices) {
		return invalid("min_select is %d, and there are %d choices", q.MinSelect, len(q.Choices))
	}
	if q.MaxSelect < 0 || q.MaxSelect > 0 && q.MaxSelect < q.MinSelect {
		return invalid("max_select is %d, and min_select %d", q.MaxSelect, q.MinSelect)
	}
	return nil
}

// checkWords reports a list of which a person could not choose.
func checkWords(what string, words []string, most int) error {
	if len(words) > most {
		return invalid("there are %d %s, and %d are the most", len(words), what, most)
	}
	for i, w := range words {
		switch {
		case w == "":
			return invalid("%s has an empty entry, the %dth", what, i+1)
		case utf8.RuneCountInString(w) > MaxWord:
			return invalid("the %dth of %s has more than %d characters", i+1, what, MaxWord)
		case slices.Contains(words[:i], w):
			return invalid("%s has %q twice", what, tool.Truncate(w))
		}
	}
	return nil
}

// setDefault keeps the default, if the question can be answered with it.
func (q *Question) setDefault(raw json.RawMessage) error {
	if len(q.Form) > 0 && len(q.Choices) > 0 {
		return invalid("a question has choices or a form").
			WithHint("make the choices the options of a field of the type select")
	}
	if len(q.Form) > 0 && q.ResponseType == Approval {
		return invalid("an approval is yes or no, and has no form").WithHint("leave out response_type or form")
	}
	text, err := scalarText(raw)
	if err != nil {
		return invalid("default: %v", err).WithHint("give the answer that counts when nobody answers, as text")
	}
	if text == "" {
		return nil
	}
	if len(q.Form) > 0 {
		return invalid("a form has no default of its own").WithHint("give each field its default")
	}
	if _, ok := parseBool(text); q.ResponseType == Approval && !ok {
		return invalid("the default of an approval is %q", tool.Truncate(text)).WithHint("use yes or no")
	}
	q.Default = text
	if _, err := Read(*q, q.defaultReply(), nil); err != nil {
		q.Default = ""
		return invalid("the default does not answer the question: %s", messageOf(err))
	}
	return nil
}

// defaultReply is the reply of nobody.
func (q *Question) defaultReply() Reply {
	switch {
	case q.ResponseType == Approval:
		if yes, ok := parseBool(q.Default); yes && ok {
			return Reply{Approve: true}
		}
		return Reply{Feedback: q.Default}
	case len(q.Choices) > 0 && q.AllowMultiple:
		return Reply{Approve: true, Choices: splitList(q.Default, q.Choices)}
	case len(q.Choices) > 0:
		return Reply{Approve: true, Choices: []string{q.Default}}
	}
	return Reply{Approve: true, Text: q.Default}
}

// HasDefault reports whether silence answers the question.
func (q *Question) HasDefault() bool {
	if len(q.Form) == 0 {
		return q.Default != ""
	}
	for _, f := range q.Form {
		if f.Required && f.Default == nil {
			return false
		}
	}
	return slices.ContainsFunc(q.Form, func(f Field) bool { return f.Default != nil })
}

// scalarText is a JSON value as a person would write it.
func scalarText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", fmt.Errorf("it cannot be read")
	}
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return strings.TrimSpace(v), nil
	case bool, float64:
		return strings.TrimSpace(string(raw)), nil
	case []any:
		var parts []string
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return "", fmt.Errorf("a list holds texts")
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ", "), nil
	}
	return "", fmt.Errorf("it is an object")
}

// ErrKept is of a call whose question stays though the call was cut off: made again under its ID, it
// finds the question, and the answer to it.
var ErrKept = errors.New("the question stays")
