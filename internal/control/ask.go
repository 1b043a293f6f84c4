package control

import (
	"context"
	"encoding/json"
	"errors"

	"callgate/internal/question"
	"callgate/tool"
)

// FeatureQuestions is the feature of ask_user: it is shown where a human can answer.
const FeatureQuestions = "questions"

const askText = "Ask the user and wait: a decision, a fact you cannot find out, " +
	"a yes to a plan (content, which they may edit)."

// askSchema is short, for every request pays for it. What it does not list is taken all the
// same, and a field of an unknown type is answered with the types: see [question.Parse].
const askSchema = `{"type":"object","properties":{"question":{"type":"string"},"content":{"type":"string"},` +
	`"choices":{"type":"array","items":{"type":"string"}},"allow_multiple":{"type":"boolean"},` +
	`"form":{"type":"array","items":{"type":"object"},"description":"{name, type, label, options, required}"},` +
	`"default":{},"timeout":{"type":"number"}},"required":["question"]}`

// AskTool makes ask_user. ask puts a question to the user of a call's session, and
// returns what came of it; an error of the kind Unavailable says that nobody can answer.
func AskTool(ask func(ctx context.Context, call tool.Call, q question.Question) (question.Result, error)) *tool.Tool {
	run := func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		q, err := question.Parse(call.Args)
		if err != nil {
			return nil, err
		}
		told, err := ask(ctx, call, q)
		if tool.KindOf(err) == tool.Unavailable {
			return nobodyAnswers(q, err)
		}
		if errors.Is(err, question.ErrKept) {
			e := tool.Errorf("context_builder.ask_user", tool.Cancelled, "%w", err)
			return &tool.Result{Status: tool.Failure, Summary: e.Message, Error: e, Again: true}, nil
		}
		if err != nil {
			return nil, err
		}
		return tool.OK(told.Summary(), told)
	}
	t := define(Namespace, "ask_user", askText, askSchema, run)
	t.Runtime.Feature = FeatureQuestions
	t.Runtime.MaxResult = 2*question.MaxContent + 64<<10 // the user's own words are not cut
	return t
}

// nobodyAnswers is the result where no human can be asked.
func nobodyAnswers(q question.Question, why error) (*tool.Result, error) {
	e, ok := why.(*tool.Error)
	if !ok {
		return nil, why
	}
	data, err := json.Marshal(question.Result{Status: question.StatusNoHuman, Question: q.Text})
	if err != nil {
		return nil, why
	}
	return &tool.Result{Status: tool.Failure, Summary: e.Message, Data: data, Error: e}, nil
}
