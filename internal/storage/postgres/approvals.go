package postgres

import (
	"context"
	"encoding/json"
	"math"
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
		const insert = "INSERT INTO approvals (node, id, state, request, mac) VALUES ($1, $2, $3, $4, $5) " +
			"ON CONFLICT (node, id) DO NOTHING"
		mac := s.db.Sign(s.signed(r.ID, string(r.State), content, nil))
		n, err := t.Exec(ctx, insert, s.db.NodeID(), text(r.ID), string(r.State), content, mac)
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
	if err := found[0].believe(s); err != nil {
		return approval.Request{}, err
	}
	return found[0].read()
}

// List returns the newest, oldest of them first. What is not believed is passed over, and does not count towards the
// limit.
func (s *approvalStore) List(ctx context.Context, state approval.State, limit int) (all []approval.Request, err error) {
	if limit <= 0 {
		limit = maxApprovals
	}
	rest, args := "AND num < $2 ORDER BY num DESC LIMIT $3", []any{int64(math.MaxInt64), limit}
	if state != "" {
		rest, args = "AND state = $4 "+rest, append(args, string(state))
	}
	for {
		asked := limit - len(all)
		args[1] = asked
		found, err := s.list(ctx, rest, args...)
		if err != nil {
			return nil, pgnode.ConvertError("postgres.List", err)
		}
		for i := range found {
			if found[i].believe(s) != nil {
				continue
			}
			r, err := found[i].read()
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		if len(found) < asked || len(all) == limit {
			slices.Reverse(all)
			return all, nil
		}
		args[0] = found[len(found)-1].num
	}
}

// approvalRow is an approval as its row has it.
type approvalRow struct {
	num                  int64
	id, state            string
	request, answer, mac []byte
}

func (s *approvalStore) signed(id, state string, request, answer []byte) pgnode.Signed {
	return pgnode.SignedApproval(s.db.NodeID(), id, state, request, answer)
}

// believe returns an error for an approval that no node wrote.
func (r *approvalRow) believe(s *approvalStore) error {
	return s.db.Believe(r.mac, s.signed(r.id, r.state, r.request, r.answer))
}

func (r *approvalRow) read() (a approval.Request, err error) {
	err = json.Unmarshal(r.request, &a)
	a.State = approval.State(r.state)
	if err == nil && r.answer != nil {
		err = json.Unmarshal(r.answer, &a.Answer)
	}
	if err != nil {
		return a, unreadable("postgres.approvals", "an approval", err)
	}
	return a, nil
}

const selectApprovals = "SELECT num, id, state, request, answer, mac FROM approvals WHERE node = $1 "

func scanApproval(row pgx.CollectableRow) (r approvalRow, err error) {
	err = row.Scan(&r.num, (*text)(&r.id), &r.state, &r.request, &r.answer, &r.mac)
	return r, err
}

// list selects among the node's, $1.
func (s *approvalStore) list(ctx context.Context, rest string, args ...any) ([]approvalRow, error) {
	return pgnode.Query(ctx, s.db, scanApproval, selectApprovals+rest, append([]any{s.db.NodeID()}, args...)...)
}

// Settle is one compare-and-set, of a row that is believed.
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
		const look = selectApprovals + "AND id = $2 AND state = $3 FOR UPDATE"
		r, err := pgnode.QueryOneTx(ctx, t, scanApproval, look, s.db.NodeID(), text(id), string(from))
		if pgnode.Absent(err) {
			moved = false
			return nil
		}
		if err == nil {
			err = r.believe(s)
		}
		if err != nil {
			return err
		}
		kept := content
		if answer == nil {
			kept = r.answer
		}
		const update = "UPDATE approvals SET state = $2, answer = $3, mac = $4 WHERE node = $1 AND num = $5"
		mac := s.db.Sign(s.signed(id, string(to), r.request, kept))
		n, err := t.Exec(ctx, update, s.db.NodeID(), string(to), kept, mac, r.num)
		moved = n == 1
		return err
	})
	return moved && err == nil, pgnode.ConvertError(op, err)
}
