package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"callgate/internal/gate/approval"
	"callgate/tool"
)

// maxApprovals is the longest list when no limit is given.
const maxApprovals = 1000

// approvalStore is approval.Store on SQLite. The state has a column of its own,
// which counts; the request is kept as it was asked.
type approvalStore struct{ db *DB }

var _ approval.Store = (*approvalStore)(nil)

// Create inserts the request, whatever state it carries, as pending.
func (s *approvalStore) Create(ctx context.Context, r approval.Request) error {
	const op = "sqlite.Create"
	r.State, r.Answer = approval.Pending, nil
	text, err := json.Marshal(r)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Invalid, Message: "the request cannot be written", Err: err}
	}
	if err := s.db.refuses(); err != nil {
		return err
	}
	const insert = "INSERT INTO approvals (id, state, request) VALUES (?, ?, ?)"
	_, err = s.db.write.ExecContext(ctx, insert, r.ID, string(r.State), text)
	if err = convertError(op, err); tool.KindOf(err) == tool.Conflict {
		return tool.Errorf(op, tool.Conflict, "approval %s already exists", r.ID)
	}
	return err
}

// Get returns one request.
func (s *approvalStore) Get(ctx context.Context, id string) (approval.Request, error) {
	const op = "sqlite.Get"
	found, err := s.list(ctx, "WHERE id = ?", id)
	switch {
	case err != nil:
		return approval.Request{}, convertError(op, err)
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
	rest, args := "ORDER BY num DESC LIMIT ?", []any{limit}
	if state != "" {
		rest, args = "WHERE state = ? "+rest, []any{string(state), limit}
	}
	found, err := s.list(ctx, rest, args...)
	if err != nil {
		return nil, convertError("sqlite.List", err)
	}
	slices.Reverse(found)
	return found, nil
}

func (s *approvalStore) list(ctx context.Context, rest string, args ...any) ([]approval.Request, error) {
	found, err := s.db.read.QueryContext(ctx, "SELECT state, request, answer FROM approvals "+rest, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var all []approval.Request
	for found.Next() {
		var state string
		var request, answer sql.RawBytes // not copied: a request may hold large arguments
		if err := found.Scan(&state, &request, &answer); err != nil {
			return nil, err
		}
		r, err := readRequest(state, request, answer)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, found.Err()
}

func readRequest(state string, request, answer []byte) (approval.Request, error) {
	var r approval.Request
	err := json.Unmarshal(request, &r)
	r.State = approval.State(state)
	if err == nil && answer != nil {
		err = json.Unmarshal(answer, &r.Answer)
	}
	if err != nil {
		return r, unreadable("sqlite.approvals", "an approval", err)
	}
	return r, nil
}

// Settle is one compare-and-set.
func (s *approvalStore) Settle(
	ctx context.Context, id string, from, to approval.State, answer *approval.Answer,
) (bool, error) {
	const op = "sqlite.Settle"
	var text []byte
	if answer != nil {
		var err error
		if text, err = json.Marshal(answer); err != nil {
			return false, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the answer cannot be written", Err: err}
		}
	}
	if err := s.db.refuses(); err != nil {
		return false, err
	}
	const update = "UPDATE approvals SET state = ?, answer = coalesce(?, answer) WHERE id = ? AND state = ?"
	given := sql.Null[[]byte]{V: text, Valid: text != nil}
	done, err := s.db.write.ExecContext(ctx, update, string(to), given, id, string(from))
	if err != nil {
		return false, convertError(op, err)
	}
	n, err := done.RowsAffected()
	if err != nil {
		return false, convertError(op, err)
	}
	return n == 1, nil
}
