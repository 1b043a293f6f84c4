package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Questions is what a kernel does with what agents ask.
type Questions struct{ client *Client }

// QuestionsOf returns what agents ask of a kernel's users.
func QuestionsOf(c *Client) Questions { return Questions{c} }

// List lists the questions in a state, or all.
func (q Questions) List(ctx context.Context, state protocol.QuestionState) ([]protocol.Question, error) {
	var list []protocol.Question
	err := q.client.get(ctx, "/v1/questions", url.Values{"state": {string(state)}}, &list)
	return list, err
}

// Get returns one question.
func (q Questions) Get(ctx context.Context, id string) (protocol.Question, error) {
	var r protocol.Question
	err := q.client.get(ctx, "/v1/questions/"+url.PathEscape(id), nil, &r)
	return r, err
}

// Answer answers a question.
func (q Questions) Answer(ctx context.Context, id string, a protocol.AnswerQuestion) (protocol.Question, error) {
	var r protocol.Question
	err := q.client.do(ctx, http.MethodPost, "/v1/questions/"+url.PathEscape(id)+"/answer", nil, a, &r)
	return r, err
}

// Challenge asks what a person must do before their answer counts.
func (q Questions) Challenge(ctx context.Context, id string) (protocol.Challenge, error) {
	var ch protocol.Challenge
	err := q.client.do(ctx, http.MethodPost, "/v1/questions/"+url.PathEscape(id)+"/challenge", nil, nil, &ch)
	return ch, err
}
