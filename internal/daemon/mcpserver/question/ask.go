//lint:file-ignore SA1019 servers still ask for models and roots

package question

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Asker asks clients of the stateful protocol, who are sent requests of their
// own. The zero value works, once its Middleware is installed.
//
// The SDK refuses answers to forms whose schema it does not know. So it is given
// a form without its schema, and the middleware sends the whole form instead.
type Asker struct {
	mu    sync.Mutex
	forms map[*sdk.ElicitParams]*sdk.ElicitParams // the whole form, by the one that the SDK is given
}

// Reply is the answer of a client to a question.
type Reply struct {
	Question *Question
	Answer   Answer
}

// Ask puts every part of a question to a client and sends the reply. If ctx ends
// first, the question itself gets the answer so far. A refusal that comes within
// a time in which no human answers is marked as automatic.
func (a *Asker) Ask(
	ctx context.Context, session *sdk.ServerSession, q *Question, automaticWithin time.Duration, replies chan<- Reply,
) {
	q.askedAt = time.Now()
	r := Reply{q, Answer{Parts: sdk.InputResponseMap{}}}
	var mu sync.Mutex
	var parts sync.WaitGroup
	for key, p := range q.Parts {
		parts.Go(func() {
			res, err := a.request(ctx, session, p)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				r.Answer.Parts[key] = res
			} else if _, form := p.(*sdk.ElicitParams); !form { // a form without an answer is just not answered
				r.Answer.Err = err
			}
		})
	}
	parts.Wait()
	r.Answer.Automatic = q.isAutomatic(r.Answer, automaticWithin)
	select {
	case replies <- r:
	case <-ctx.Done():
		q.Reply(r.Answer)
	}
}

// request sends one part of a question.
func (a *Asker) request(
	ctx context.Context, session *sdk.ServerSession, p sdk.InputRequest,
) (sdk.InputResponse, error) {
	switch p := p.(type) {
	case *sdk.ElicitParams:
		bare := *p
		bare.RequestedSchema = nil
		bare.Mode = cmp.Or(bare.Mode, "form") // the SDK would send a copy of a form without one
		defer a.register(&bare, p)()
		return session.Elicit(ctx, &bare)
	case *sdk.CreateMessageWithToolsParams:
		return session.CreateMessageWithTools(ctx, p)
	case *sdk.ListRootsParams:
		return session.ListRoots(ctx, p)
	}
	return nil, fmt.Errorf("a client cannot be asked for a %T", p)
}

// register has the middleware send whole in place of bare, until the returned
// function is called.
func (a *Asker) register(bare, whole *sdk.ElicitParams) (remove func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.forms == nil {
		a.forms = map[*sdk.ElicitParams]*sdk.ElicitParams{}
	}
	a.forms[bare] = whole
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.forms, bare)
	}
}

// Middleware is the server's sending middleware: it sends the whole form.
func (a *Asker) Middleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if bare, ok := req.GetParams().(*sdk.ElicitParams); ok {
			a.mu.Lock()
			whole := a.forms[bare]
			a.mu.Unlock()
			if session, ok := req.GetSession().(*sdk.ServerSession); ok && whole != nil {
				req = &sdk.ServerRequest[sdk.Params]{Session: session, Params: whole}
			}
		}
		return next(ctx, method, req)
	}
}
