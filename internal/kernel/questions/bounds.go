package questions

import (
	"context"

	"callgate/internal/document"
	"callgate/tool"
)

// How many questions may wait: of one session, and in all.
const (
	maxOfSession = 20
	maxPending   = 200
)

// mayAsk returns an error if too many questions wait already.
func (q *Queue) mayAsk(ctx context.Context, r Request) error {
	pending, err := q.list(ctx, open)
	if err != nil {
		return err
	}
	own := 0
	for _, other := range pending {
		if other.Principal.Session == r.Principal.Session {
			own++
		}
	}
	if own < maxOfSession && len(pending) < maxPending {
		return nil
	}
	return tool.Errorf("ask_user", tool.Limited, "%d questions of this session wait for the user already, %d in all",
		own, len(pending)).WithHint("wait for an answer, or go on without one")
}

// drop deletes a question that was settled long ago, and what its form kept secret.
func (q *Queue) drop(ctx context.Context, r Request) {
	for _, f := range r.Question.Form {
		if f.IsSecret() {
			_ = q.opt.Secrets.Delete(SecretName(r.ID, f.Name))
		}
	}
	_, _ = q.opt.Documents.Write(ctx, document.Change{Collection: done, Key: r.ID, If: r.version})
}
