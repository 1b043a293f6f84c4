package protocol

import (
	"time"

	"callgate/internal/question"
	"callgate/tool"
)

// The routes of what agents ask their users. An answer takes what a yes to an approval takes.
const (
	RouteQuestions         = "GET /v1/questions"
	RouteQuestion          = "GET /v1/questions/{id}"
	RouteAnswerQuestion    = "POST /v1/questions/{id}/answer"
	RouteQuestionChallenge = "POST /v1/questions/{id}/challenge"
)

// Question is what an agent asks its user, or asked.
type Question struct {
	ID        string            `json:"id"`
	State     QuestionState     `json:"state"`
	Question  question.Question `json:"question"`
	Call      string            `json:"call"`
	Principal tool.Principal    `json:"principal"`
	Workspace string            `json:"workspace"`
	AppFile   string            `json:"app_file,omitempty"`
	Asker     Requester         `json:"asker,omitzero"`
	AskedAt   time.Time         `json:"asked_at"`
	Deadline  time.Time         `json:"deadline"`
	Given     *question.Given   `json:"given,omitempty"` // what was answered
	By        string            `json:"by,omitempty"`    // who settled it
	At        time.Time         `json:"at,omitzero"`
	Node      string            `json:"node,omitempty"` // that has it, where several share a database and all are asked
}

// QuestionState is how a question stands.
type QuestionState string

// The states.
const (
	QuestionPending   QuestionState = "pending"
	QuestionAnswered  QuestionState = "answered"
	QuestionDenied    QuestionState = "denied"
	QuestionExpired   QuestionState = "expired"
	QuestionWithdrawn QuestionState = "withdrawn"
)

// AnswerQuestion answers a question.
type AnswerQuestion struct {
	question.Reply
	By string `json:"by,omitempty"`
}
