package lsp

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/lsp/langserver"
	"callgate/tool"
)

//go:embed cancel_request.md
var cancelRequestDoc string

const cancelRequestInput = `{
  "type": "object",
  "properties": {
    "id": {"type": "string", "minLength": 1, "maxLength": 100, "description": "The id that the request was given."}
  },
  "required": ["id"],
  "additionalProperties": false
}`

const cancelRequestOutput = `{
  "type": "object",
  "properties": {"id": {"type": "string"}, "cancelled": {"type": "boolean"}},
  "required": ["id", "cancelled"]
}`

func cancelRequestTool(p *pool) module.Definition {
	return module.Definition{
		Name: "cancel_request", Doc: cancelRequestDoc, Input: cancelRequestInput, Output: cancelRequestOutput,
		Examples: []tool.Example{module.Example("stop a search for references", `{"id": "refs-1"}`)},
		Aliases: []string{
			"stop a language server request", "annuler une requête", "Anfrage abbrechen", "cancelar una petición",
			"cancelar um pedido", "取消请求", "リクエストを取り消す", "отменить запрос",
		},
		Tags:    []string{"code", "language server", "cancel"},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Idempotent: true},
		Handler: handler("cancel_request", func(_ context.Context, c *request, in cancelArgs) (*tool.Result, error) {
			cancelled := p.cancel(requestKey{c.call.Principal.Session, in.ID})
			text := "the request was cancelled"
			if !cancelled {
				text = "no request with this id is running"
			}
			return tool.OK(text, map[string]any{"id": in.ID, "cancelled": cancelled})
		}),
	}
}

type cancelArgs struct {
	ID string `json:"id"`
}

// cancellable makes a request one that can be cancelled by its id, until done.
func (p *pool) cancellable(ctx context.Context, c *request, id string) (_ context.Context, done func(), err error) {
	if id == "" {
		return ctx, func() {}, nil
	}
	k := requestKey{c.call.Principal.Session, id}
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.requests[k]; taken {
		cancel(nil)
		return nil, nil, tool.Errorf(c.Op, tool.Conflict, "a request with the id %q is running", id).
			WithHint("give another id")
	}
	p.requests[k] = cancel
	return ctx, func() {
		p.mu.Lock()
		delete(p.requests, k)
		p.mu.Unlock()
		cancel(nil)
	}, nil
}

func (p *pool) cancel(k requestKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	cancel, ok := p.requests[k]
	if ok {
		cancel(langserver.ErrCancelled)
	}
	return ok
}
