package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"callgate/internal/conversation/history"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// conversationStore is history.Store on PostgreSQL. A conversation's info is kept whole, with the columns beside it
// that lists and appends ask for.
type conversationStore struct{ db *pgnode.DB }

var (
	_ history.Store   = (*conversationStore)(nil)
	_ history.Deleter = (*conversationStore)(nil)
)

// Create adds a conversation.
func (s *conversationStore) Create(ctx context.Context, info history.Info) error {
	const op = "postgres.Create"
	info.Events = 0
	line, err := json.Marshal(info)
	if err != nil {
		return unwritable(op, "the conversation", err)
	}
	return pgnode.ConvertError(op, s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const insert = "INSERT INTO conversations (node, id, updated, last, info) VALUES ($1, $2, $3, 0, $4) " +
			"ON CONFLICT (node, id) DO NOTHING"
		n, err := t.Exec(ctx, insert, s.db.NodeID(), text(info.ID), info.Updated.UnixNano(), line)
		if err == nil && n == 0 {
			err = tool.Errorf(op, tool.Conflict, "the conversation %s already exists", info.ID)
		}
		return err
	}))
}

// Append adds events, unless another writer was faster.
func (s *conversationStore) Append(ctx context.Context, info history.Info, after int64, events []history.Event) error {
	const op = "postgres.Append"
	if len(events) == 0 {
		return nil
	}
	info.Events = after + int64(len(events))
	line, err := json.Marshal(info)
	if err != nil {
		return unwritable(op, "the conversation", err)
	}
	seqs, bodies := make([]int64, len(events)), make([][]byte, len(events))
	for i, e := range events {
		e.Seq = after + int64(i) + 1
		seqs[i] = e.Seq
		if bodies[i], err = json.Marshal(e); err != nil {
			return unwritable(op, "an event", err)
		}
	}
	return pgnode.ConvertError(op, s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		// The update holds the conversation, so that the insert of the same batch finds no event in its place. If the
		// conversation is elsewhere, nothing is inserted either.
		const (
			update = "UPDATE conversations SET updated = $3, last = $4, info = $5 " +
				"WHERE node = $1 AND id = $2 AND last = $6"
			insert = "INSERT INTO events (conversation, seq, body) SELECT c.num, e.seq, e.body " +
				"FROM conversations AS c, unnest($3::bigint[], $4::bytea[]) AS e (seq, body) " +
				"WHERE c.node = $1 AND c.id = $2 AND c.last = $5 ON CONFLICT DO NOTHING"
		)
		var batch pgx.Batch
		batch.Queue(update, s.db.NodeID(), text(info.ID), info.Updated.UnixNano(), info.Events, line, after)
		batch.Queue(insert, s.db.NodeID(), text(info.ID), seqs, bodies, info.Events)
		counts, err := t.ExecAll(ctx, &batch)
		switch {
		case err != nil:
			return err
		case counts[0] != 1:
			return s.checkPosition(ctx, t, info.ID)
		case counts[1] != int64(len(events)):
			return tool.Errorf(op, tool.Internal, "the conversation %s has events after its last", info.ID)
		}
		return nil
	}))
}

// checkPosition says why an append found no conversation at the expected event.
func (s *conversationStore) checkPosition(ctx context.Context, t *pgnode.Tx, id string) error {
	n, err := t.Exec(ctx, "SELECT FROM conversations WHERE node = $1 AND id = $2", s.db.NodeID(), text(id))
	switch {
	case err != nil:
		return err
	case n == 0:
		return unknownConversation(id)
	}
	return tool.Errorf("postgres.Append", tool.Conflict, "another turn of the conversation %s is under way", id).
		WithHint("one turn at a time: wait for it, or cancel it")
}

func unknownConversation(id string) error {
	return tool.Errorf("postgres.conversations", tool.NotFound, "there is no conversation %q", tool.Truncate(id)).
		WithHint("callgate sessions list shows them")
}

const selectEvents = "SELECT body FROM events WHERE conversation = " +
	"(SELECT num FROM conversations WHERE node = $1 AND id = $2) AND seq > $3 ORDER BY seq"

// Read returns events, oldest first.
func (s *conversationStore) Read(ctx context.Context, id string, after int64) ([]history.Event, error) {
	const op = "postgres.Read"
	all, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (e history.Event, err error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return e, err
		}
		if err := json.Unmarshal(body, &e); err != nil {
			return e, unreadable(op, "an event of conversation "+id, err)
		}
		return e, nil
	}, selectEvents, s.db.NodeID(), text(id), after)
	return all, pgnode.ConvertError(op, err)
}

// Get returns one conversation.
func (s *conversationStore) Get(ctx context.Context, id string) (history.Info, error) {
	found, err := s.list(ctx, "AND id = $2", text(id))
	if err == nil && len(found) == 0 {
		err = unknownConversation(id)
	}
	if err != nil {
		return history.Info{}, pgnode.ConvertError("postgres.Get", err)
	}
	return found[0], nil
}

// List returns the conversations, the one last changed first.
func (s *conversationStore) List(ctx context.Context, limit int) ([]history.Info, error) {
	most := &limit
	if limit <= 0 {
		most = nil // all
	}
	found, err := s.list(ctx, "ORDER BY updated DESC, id LIMIT $2", most)
	return found, pgnode.ConvertError("postgres.List", err)
}

// list selects among the node's, $1.
func (s *conversationStore) list(ctx context.Context, rest string, args ...any) ([]history.Info, error) {
	return pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (info history.Info, err error) {
		var line []byte
		if err := row.Scan(&line); err != nil {
			return info, err
		}
		if err := json.Unmarshal(line, &info); err != nil {
			return info, unreadable("postgres.conversations", "a conversation", err)
		}
		return info, nil
	}, "SELECT info FROM conversations WHERE node = $1 "+rest, append([]any{s.db.NodeID()}, args...)...)
}

// Delete removes a conversation.
func (s *conversationStore) Delete(ctx context.Context, id string) error {
	return pgnode.ConvertError("postgres.Delete", s.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		// The conversation first: an append that is under way holds it, and its events are seen after it.
		const remove = "DELETE FROM conversations WHERE node = $1 AND id = $2 RETURNING num"
		num, err := pgnode.QueryOneTx(ctx, t, pgx.RowTo[int64], remove, s.db.NodeID(), text(id))
		switch {
		case pgnode.Absent(err):
			return unknownConversation(id)
		case err != nil:
			return err
		}
		_, err = t.Exec(ctx, "DELETE FROM events WHERE conversation = $1", num)
		return err
	}))
}
