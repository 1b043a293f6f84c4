//lint:file-ignore SA1019 servers want models and roots all the same

package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// inputQuestion is what only the client can answer: whether a call may run, or what a
// server wants to know of its human, its model or its roots. It may have several
// parts, which are put together and answered together.
type inputQuestion struct {
	asked    sdk.InputRequestMap // nil: there is no use in asking here again
	approval bool                // whether the call may run
	answer   chan clientAnswer
	at       time.Time // when a client of the old handshake was asked
}

// clientAnswer is what a client said to a question.
type clientAnswer struct {
	answers sdk.InputResponseMap
	nobody  bool  // the client has no human at it
	err     error // why there is no answer
}

// approvalKey is the part of a question that asks whether a call may run.
const approvalKey = "approval"

func newQuestion(asked sdk.InputRequestMap, approval bool) *inputQuestion {
	return &inputQuestion{asked: asked, approval: approval, answer: make(chan clientAnswer, 1)}
}

// reply hands the answer to whoever asked. There is room for one, and one is given.
func (q *inputQuestion) reply(s clientAnswer) { q.answer <- s }

// own returns those answers that are to this question's parts.
func (q *inputQuestion) own(answers sdk.InputResponseMap) sdk.InputResponseMap {
	own := sdk.InputResponseMap{}
	for key := range q.asked {
		if answers[key] != nil {
			own[key] = answers[key]
		}
	}
	return own
}

// form is what the human said in the form of an approval, or nil.
func (s clientAnswer) form() *sdk.ElicitResult {
	res, _ := s.answers[approvalKey].(*sdk.ElicitResult)
	return res
}

// unanswered reports whether the human would not say if the call may run.
func (q *inputQuestion) unanswered(s clientAnswer) bool {
	form := s.form()
	return q.approval && (form == nil || form.Action != "accept" && form.Action != "decline")
}

// isAutomatic reports whether a client said no to an approval by itself, as those
// do that run without a human.
func (q *inputQuestion) isAutomatic(s clientAnswer, fast time.Duration) bool {
	form := s.form()
	return q.approval && form != nil && form.Action != "accept" && time.Since(q.at) < fast
}

// legacyReply is the answer of a client of the old handshake.
type legacyReply struct {
	*inputQuestion
	clientAnswer
}

// ask asks a client of the old handshake, every part by itself.
func (h *endpoint) ask(ctx context.Context, session *sdk.ServerSession, q *inputQuestion, to chan<- legacyReply) {
	q.at = time.Now()
	r := legacyReply{q, clientAnswer{answers: sdk.InputResponseMap{}}}
	var mu sync.Mutex
	var parts sync.WaitGroup
	for key, p := range q.asked {
		parts.Go(func() {
			res, err := sendInput(ctx, session, p)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				r.answers[key] = res
			} else if _, form := p.(*sdk.ElicitParams); !form { // no form is an answer too
				r.err = err
			}
		})
	}
	parts.Wait()
	select {
	case to <- r:
	case <-ctx.Done(): // the request is over; whoever asked is told so
		q.reply(r.clientAnswer)
	}
}

func sendInput(ctx context.Context, session *sdk.ServerSession, p sdk.InputRequest) (sdk.InputResponse, error) {
	switch p := p.(type) {
	case *sdk.ElicitParams:
		bare := *p
		bare.RequestedSchema = nil // the SDK would refuse answers to forms that it does not know
		return session.Elicit(context.WithValue(ctx, formKey{}, p), &bare)
	case *sdk.CreateMessageWithToolsParams:
		return session.CreateMessageWithTools(ctx, p)
	case *sdk.ListRootsParams:
		return session.ListRoots(ctx, p)
	}
	return nil, fmt.Errorf("a client cannot be asked for a %T", p)
}

// formKey finds the form that a client is really sent.
type formKey struct{}

// send puts the whole form back into a question to a client.
func (h *endpoint) send(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if whole, ok := ctx.Value(formKey{}).(*sdk.ElicitParams); ok && method == "elicitation/create" {
			if session, ok := req.GetSession().(*sdk.ServerSession); ok {
				req = &sdk.ServerRequest[sdk.Params]{Session: session, Params: whole}
			}
		}
		return next(ctx, method, req)
	}
}

// supportsForms reports whether a client shows forms to its human.
func supportsForms(c *sdk.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}
