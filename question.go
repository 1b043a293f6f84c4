package callgate

import (
	"context"
	"iter"
	"time"

	"callgate/internal/feed"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/questions"
	"callgate/internal/question"
	"callgate/tool"
)

// Questions are what agents ask their users, and what was asked before.
type Questions struct{ q *questions.Queue }

// Question is one thing that an agent asks: words, choices, or a form.
type Question struct {
	ID        string
	State     QuestionState
	Call      string // the call that asked
	Asker     tool.Principal
	Workspace string
	Text      string
	Content   string // Markdown to be reviewed, which the user may edit
	Choices   Choices
	Form      []FormField
	Default   string // what counts when nobody answers
	YesOrNo   bool   // only a yes or a no is asked for
	Multiline bool   // the answer may have more than one line
	AskedAt   time.Time
	Deadline  time.Time // until then it can be answered
	Answer    string    // what was answered, for a reader: a form is a list
	By        string    // who answered
}

// Choices are what a user chooses from.
type Choices struct {
	Texts    []string // none: there is nothing to choose from
	Several  bool     // more than one may be chosen
	Min, Max int      // how many, of Several; a Max of zero is as many as there are
	Custom   bool     // the user's own words will do
}

// FormField is one field of a form.
type FormField struct {
	Name, Label    string
	Type           string // text, number, select …: docs/guides/questions.md has them all
	Description    string
	Options        []string // of select and multiselect
	Placeholder    string
	Default        any // of the field's type; nil: none
	Required       bool
	Min, Max, Step *float64
	Pattern        string
	MinLength      int
}

// QuestionState is how a question stands.
type QuestionState string

// The states. A question that is asked becomes one of the others, once.
const (
	QuestionAsked     QuestionState = "pending"
	QuestionAnswered  QuestionState = "answered"
	QuestionDenied    QuestionState = "denied"
	QuestionExpired   QuestionState = "expired"   // nobody answered in time
	QuestionWithdrawn QuestionState = "withdrawn" // its agent was stopped
)

// Reply is a user's answer to a question. One that does not fit is Invalid, says what is
// wrong, and settles nothing.
type Reply struct {
	Deny     bool
	Feedback string         // with Deny: why not
	Text     string         // in the user's words
	Choices  []string       // of those that were shown
	Fields   map[string]any // of a form, by name: as typed, or of the field's type
	Content  *string        // as the user edited it; nil: as it was
	By       string         // who answers; required
}

func questionOf(r questions.Request) Question {
	q := r.Question
	asked := Question{
		ID: r.ID, State: QuestionState(r.State), Call: r.Call, Asker: r.Principal, Workspace: r.Workspace,
		Text: q.Text, Content: q.Content, Default: q.Default, YesOrNo: q.ResponseType == question.Approval,
		Multiline: q.Multiline, AskedAt: r.AskedAt, Deadline: r.Deadline, By: r.By,
		Choices: Choices{q.Choices, q.AllowMultiple, q.MinSelect, q.MaxSelect, q.AllowCustom},
		Form: each(q.Form, func(f question.Field) FormField {
			return FormField{
				Name: f.Name, Label: f.Label, Type: string(f.Type), Description: f.Description, Options: f.Options,
				Placeholder: f.Placeholder, Default: f.Default, Required: f.Required, Min: f.Min, Max: f.Max,
				Step: f.Step, Pattern: f.Pattern, MinLength: f.MinLength,
			}
		}),
	}
	if r.Given != nil {
		asked.Answer = r.Given.Response + r.Given.Feedback
	}
	return asked
}

// Questions returns what agents ask their users.
func (k *Kernel) Questions() Questions { return Questions{k.k.Questions} }

// List returns the questions in a state, oldest first; an empty state is any.
func (q Questions) List(ctx context.Context, state QuestionState) ([]Question, error) {
	list, err := q.q.List(ctx, questions.State(state))
	return each(list, questionOf), err
}

// Get returns one question.
func (q Questions) Get(ctx context.Context, id string) (Question, error) {
	r, err := q.q.Get(ctx, id)
	return questionOf(r), err
}

// Answer answers a question; the first answer counts. A program that holds the kernel has
// a human's authority: it must know that a human gave this answer, and says who.
func (q Questions) Answer(ctx context.Context, id string, r Reply) error {
	if r.By == "" {
		return tool.Errorf("callgate.Answer", tool.Invalid, "an answer needs By: the human who gave it")
	}
	_, err := q.q.AnswerVouched(ctx, approval.Voucher{By: r.By}, id, question.Reply{
		Approve: !r.Deny, Feedback: r.Feedback, Text: r.Text, Choices: r.Choices, Fields: r.Fields, Content: r.Content,
	})
	return err
}

// Watch yields the questions that wait, and then each one as it is asked and as it is
// settled, until ctx is done. One that is asked as the watch begins may come twice.
func (q Questions) Watch(ctx context.Context) iter.Seq2[Question, error] {
	return func(yield func(Question, error) bool) {
		for r, err := range q.q.Watch(ctx) {
			if !yield(questionOf(r), err) {
				return
			}
		}
	}
}

// forwardQuestions pushes what the conversation's agent asks, and those that work for it,
// until they stop.
func (c *Conversation) forwardQuestions(ctx context.Context, events *feed.Feed[Event], stopped <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	seen := map[string]bool{}
	for r, err := range c.k.Questions.Watch(ctx) {
		if err != nil {
			return // it can be answered all the same
		}
		asker, err := c.k.Conversations.Get(r.Principal.Session)
		ours := r.Principal.Session == c.ID() || err == nil && asker.WorksFor(c.ID())
		if ours && r.State == questions.Pending && !seen[r.ID] {
			seen[r.ID] = true
			asked := questionOf(r)
			events.Push(Event{Kind: EventQuestion, At: r.AskedAt, Question: &asked})
		}
	}
}
