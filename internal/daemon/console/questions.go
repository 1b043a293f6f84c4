package console

import (
	"net/http"
	"net/url"
	"slices"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/tool"
)

// questionPages answers what agents ask.
type questionPages struct{ *Console }

func (c *questionPages) routes() map[string]serve {
	return map[string]serve{"GET /questions/{id}": c.question, "POST /questions/{id}": c.answerQuestion}
}

// questionData is what the page of a question shows.
type questionData struct {
	protocol.Question
	Pending bool
	Error   *tool.Error
}

func (c *questionPages) question(w http.ResponseWriter, r *http.Request) error {
	q, err := client.QuestionsOf(c.Client(r)).Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.showQuestion(w, r, q, nil)
}

func (c *questionPages) showQuestion(w http.ResponseWriter, r *http.Request, q protocol.Question, refused error) error {
	d := questionData{Question: q, Pending: q.State == protocol.QuestionPending}
	if refused != nil {
		d.Error = asError(refused)
	}
	return c.show(w, r, "question", page{Title: "A question", Nav: "approvals", Data: d})
}

func (c *questionPages) answerQuestion(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	all := client.QuestionsOf(c.Client(r))
	q, err := all.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	reply := protocol.AnswerQuestion{Reply: readReply(q.Question, r.PostForm), By: c.Person(r).Name}
	_, err = all.Answer(r.Context(), q.ID, reply)
	if err == nil {
		return back(w, r, "/questions/"+url.PathEscape(q.ID))
	}
	if tool.KindOf(err) == tool.Invalid {
		return c.showQuestion(w, r, q, err)
	}
	return err
}

// readReply reads a form: the kernel says what of it does not fit.
func readReply(q question.Question, written url.Values) question.Reply {
	reply := question.Reply{
		Approve: written.Get("action") != "deny", Feedback: written.Get("reason"), Text: written.Get("text"),
	}
	reply.Choices = slices.DeleteFunc(slices.Clone(written["choice"]), func(s string) bool { return s == "" })
	if content := written.Get("content"); written.Has("content") && content != q.Content {
		reply.Content = &content
	}
	for _, f := range q.Form {
		if reply.Fields == nil {
			reply.Fields = map[string]any{}
		}
		if list := written["field."+f.Name]; len(list) == 1 {
			reply.Fields[f.Name] = list[0]
		} else if len(list) > 1 {
			reply.Fields[f.Name] = list
		}
	}
	return reply
}
