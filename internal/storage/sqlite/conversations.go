package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"callgate/internal/conversation/history"
	"callgate/tool"
)

// conversationStore is history.Store on SQLite. A conversation's info is kept
// whole, with the columns beside it that lists and appends ask for.
type conversationStore struct{ db *DB }

var (
	_ history.Store   = (*conversationStore)(nil)
	_ history.Deleter = (*conversationStore)(nil)
)

// Create adds a conversation.
func (s *conversationStore) Create(ctx context.Context, info history.Info) error {
	const op = "sqlite.Create"
	info.Events = 0
	text, err := json.Marshal(info)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Invalid, Message: "the conversation cannot be written", Err: err}
	}
	if err := s.db.refuses(); err != nil {
		return err
	}
	const insert = "INSERT INTO conversations (id, updated, last, info) VALUES (?, ?, 0, ?)"
	_, err = s.db.write.ExecContext(ctx, insert, info.ID, info.Updated.UnixNano(), text)
	if err = convertError(op, err); tool.KindOf(err) == tool.Conflict {
		return tool.Errorf(op, tool.Conflict, "the conversation %s already exists", info.ID)
	}
	return err
}

// Append adds events, unless another writer was faster.
func (s *conversationStore) Append(ctx context.Context, info history.Info, after int64, events []history.Event) error {
	const op = "sqlite.Append"
	if len(events) == 0 {
		return nil
	}
	info.Events = after + int64(len(events))
	line, err := json.Marshal(info)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Invalid, Message: "the conversation cannot be written", Err: err}
	}
	texts := make([][]byte, len(events))
	for i, e := range events {
		e.Seq = after + int64(i) + 1
		if texts[i], err = json.Marshal(e); err != nil {
			return &tool.Error{Op: op, Kind: tool.Invalid, Message: "an event cannot be written", Err: err}
		}
	}
	return convertError(op, s.db.transactNoSync(ctx, func(tx *sql.Tx) error {
		const update = "UPDATE conversations SET updated = ?, last = ?, info = ? WHERE id = ? AND last = ?"
		done, err := tx.ExecContext(ctx, update, info.Updated.UnixNano(), info.Events, line, info.ID, after)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, s.checkPosition(ctx, tx, info.ID))
		}
		const insert = "INSERT INTO events (conversation, seq, body) VALUES (?, ?, ?)"
		for i, text := range texts {
			if _, err := tx.ExecContext(ctx, insert, info.ID, after+int64(i)+1, text); err != nil {
				return err
			}
		}
		return nil
	}))
}

// checkPosition says why an append found no conversation at the expected event.
func (s *conversationStore) checkPosition(ctx context.Context, tx *sql.Tx, id string) error {
	var last int64
	err := tx.QueryRowContext(ctx, "SELECT last FROM conversations WHERE id = ?", id).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return unknownConversation(id)
	}
	return tool.Errorf("sqlite.Append", tool.Conflict, "another turn of the conversation %s is under way", id).
		WithHint("one turn at a time: wait for it, or cancel it")
}

func unknownConversation(id string) error {
	return tool.Errorf("sqlite.conversations", tool.NotFound, "there is no conversation %q", tool.Truncate(id)).
		WithHint("callgate sessions list shows them")
}

// Read returns events, oldest first.
func (s *conversationStore) Read(ctx context.Context, id string, after int64) ([]history.Event, error) {
	const op = "sqlite.Read"
	const query = "SELECT body FROM events WHERE conversation = ? AND seq > ? ORDER BY seq"
	found, err := s.db.read.QueryContext(ctx, query, id, after)
	if err != nil {
		return nil, convertError(op, err)
	}
	defer found.Close()
	var all []history.Event
	for found.Next() {
		var body sql.RawBytes
		var e history.Event
		if err := found.Scan(&body); err != nil {
			return nil, convertError(op, err)
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, unreadable(op, "an event of conversation "+id, err)
		}
		all = append(all, e)
	}
	return all, convertError(op, found.Err())
}

// Get returns one conversation.
func (s *conversationStore) Get(ctx context.Context, id string) (history.Info, error) {
	found, err := s.list(ctx, "WHERE id = ?", id)
	if err == nil && len(found) == 0 {
		err = unknownConversation(id)
	}
	if err != nil {
		return history.Info{}, convertError("sqlite.Get", err)
	}
	return found[0], nil
}

// List returns the conversations, the one last changed first.
func (s *conversationStore) List(ctx context.Context, limit int) ([]history.Info, error) {
	if limit <= 0 {
		limit = -1
	}
	found, err := s.list(ctx, "ORDER BY updated DESC, id LIMIT ?", limit)
	return found, convertError("sqlite.List", err)
}

func (s *conversationStore) list(ctx context.Context, rest string, args ...any) ([]history.Info, error) {
	found, err := s.db.read.QueryContext(ctx, "SELECT info FROM conversations "+rest, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var all []history.Info
	for found.Next() {
		var text sql.RawBytes
		var info history.Info
		if err := found.Scan(&text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &info); err != nil {
			return nil, unreadable("sqlite.conversations", "a conversation", err)
		}
		all = append(all, info)
	}
	return all, found.Err()
}

// Delete removes a conversation.
func (s *conversationStore) Delete(ctx context.Context, id string) error {
	return convertError("sqlite.Delete", s.db.transact(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM events WHERE conversation = ?", id); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, "DELETE FROM conversations WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, unknownConversation(id))
		}
		return nil
	}))
}
