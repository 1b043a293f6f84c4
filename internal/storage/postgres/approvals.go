package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"callgate/internal/gate/approval"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// maxApprovals is the longest list when no limit is given.
const maxApprovals = 1000

// approvalStore is approval.Store on PostgreSQL. The state has a column of its own, which counts; the request is kept
// as it was asked.
type approvalStore struct{ db *pgnode.DB }

var _ approval.Store = (*approvalStore)(nil)

// Create inserts the request, whatever state it carries, as pending.
func (s *approvalStore) Create(ctx context.Context, r approval.Request) error {
	const op = "postgres.Create"
	r.State, r.Answer = approval.Pending, nil
	content, err := json.Marshal(r)
	if err != nil {
		return unwritable(op, "the request", err)
	}
	err = s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const insert = "INSERT INTO approvals (node, id, state, request) VALUES ($1, $2, $3, $4) " +
			"ON CONFLICT (node, id) DO NOTHING"
		n, err := t.Exec(ctx, insert, s.db.NodeID(), text(r.ID), string(r.State), content)
		if err == nil && n == 0 {
			err = tool.Errorf(op, tool.Conflict, "approval %s already exists", r.ID)
		}
		return err
	})
	return pgnode.ConvertError(op, err)
}

// Get returns one request.
func (s *approvalStore) Get(ctx context.Context, id string) (approval.Request, error) {
	const op = "postgres.Get"
	found, err := s.list(ctx, "AND id = $2", text(id))
	switch {
	case err != nil:
		return approval.Request{}, pgnode.ConvertError(op, err)
	case len(found) == 0:
		return approval.Request{}, tool.Errorf(op, tool.NotFound, "there is no approval %q", id).
			WithHint("callgate approvals lists those that wait")
	}
	return found[0], nil
}

// List returns the newest, oldest of them first.
func (s *approvalStore) List(ctx context.Context, state approval.State, limit int) ([]approval.Request, error) {
	if limit <= 0 {
		limit = maxApprovals
	}
	rest, args := "ORDER BY num DESC LIMIT $2", []any{limit}
	if state != "" {
		rest, args = "AND state = $3 "+rest, append(args, string(state))
	}
	found, err := s.list(ctx, rest, args...)
	if err != nil {
		return nil, pgnode.ConvertError("postgres.List", err)
	}
	slices.Reverse(found)
	return found, nil
}

// list selects among the node's, $1.
func (s *approvalStore) list(ctx context.Context, rest string, args ...any) ([]approval.Request, error) {
	return pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (r approval.Request, err error) {
		var state approval.State
		var request, answer []byte
		if err := row.Scan(&state, &request, &answer); err != nil {
			return r, err
		}
		err = json.Unmarshal(request, &r)
		r.State = state
		if err == nil && answer != nil {
			err = json.Unmarshal(answer, &r.Answer)
		}
		if err != nil {
			return r, unreadable("postgres.approvals", "an approval", err)
		}
		return r, nil
	}, "SELECT state, request, answer FROM approvals WHERE node = $1 "+rest, append([]any{s.db.NodeID()}, args...)...)
}

// Settle is one compare-and-set.
func (s *approvalStore) Settle(
	ctx context.Context, id string, from, to approval.State, answer *approval.Answer,
) (moved bool, err error) {
	const op = "postgres.Settle"
	var content []byte
	if answer != nil {
		if content, err = json.Marshal(answer); err != nil {
			return false, unwritable(op, "the answer", err)
		}
	}
	err = s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const update = "UPDATE approvals SET state = $2, answer = coalesce($3, answer) " +
			"WHERE node = $1 AND id = $4 AND state = $5"
		n, err := t.Exec(ctx, update, s.db.NodeID(), string(to), content, text(id), string(from))
		moved = n == 1
		return err
	})
	return moved && err == nil, pgnode.ConvertError(op, err)
}
