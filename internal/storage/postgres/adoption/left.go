package adoption

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/task"
	"callgate/tool"
)

// Store reads and moves what nodes have left. It is safe for concurrent use.
type Store struct{ db *pgnode.DB }

// New makes the store of the database that a node has open.
func New(db *pgnode.DB) *Store { return &Store{db} }

// Thing is something that a node has left, and where it works.
type Thing struct {
	ID        string
	Parent    string // the conversation that it works for, or that is told of it
	Session   string // of who asked for it
	Call      string // of an approval: the call that waits
	Workspace string
	App       string
	AppFile   string
	Over      bool // it has ended, and waits for nothing
}

// page is how many rows are read at a time.
const page = 500

// Conversations calls each with every conversation of a node.
func (s *Store) Conversations(ctx context.Context, node string, each func(Thing)) error {
	const list = "SELECT num, info FROM conversations WHERE node = $1 AND num > $2 ORDER BY num LIMIT $3"
	return s.read(ctx, "adoption.Conversations", list, node, func(data []byte) {
		var i history.Info
		if json.Unmarshal(data, &i) == nil { // one that cannot be read stays where it is
			each(Thing{ID: i.ID, Parent: i.Parent, Session: i.ID, Workspace: i.Workspace, App: i.App, AppFile: i.AppFile,
				Over: i.Turns == 0 || i.Last != "" && i.Last != history.Interrupted})
		}
	})
}

// Approvals calls each with every approval of a node, settled ones too: what became of a call is read from its own.
func (s *Store) Approvals(ctx context.Context, node string, each func(Thing)) error {
	const list = "SELECT num, request FROM approvals WHERE node = $1 AND num > $2 ORDER BY num LIMIT $3"
	return s.read(ctx, "adoption.Approvals", list, node, func(data []byte) {
		var r approval.Request
		if json.Unmarshal(data, &r) == nil {
			p := r.Call.Principal
			each(Thing{ID: r.ID, Session: p.Session, Call: r.Call.ID, Workspace: r.Workspace, App: p.App, AppFile: r.AppFile})
		}
	})
}

// read reads rows of a number and JSON.
func (s *Store) read(ctx context.Context, op, list, node string, each func(data []byte)) error {
	type numbered struct {
		num  int64
		data []byte
	}
	for after := int64(0); ; {
		rows, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (n numbered, err error) {
			err = row.Scan(&n.num, &n.data)
			return n, err
		}, list, node, after, page)
		if err != nil {
			return pgnode.ConvertError(op, err)
		}
		for _, r := range rows {
			after = r.num
			each(r.data)
		}
		if len(rows) < page {
			return nil
		}
	}
}

// Tasks calls each with every task of a node.
func (s *Store) Tasks(ctx context.Context, node string, each func(Thing)) error {
	const list = "SELECT num, id, parent, asker, ended FROM tasks WHERE node = $1 AND num > $2 ORDER BY num LIMIT $3"
	type numbered struct {
		num int64
		Thing
	}
	for after := int64(0); ; {
		rows, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (n numbered, err error) {
			var id, parent, asker []byte
			var ended int64
			if err := row.Scan(&n.num, &id, &parent, &asker, &ended); err != nil {
				return n, err
			}
			var a task.Asker
			_ = json.Unmarshal(asker, &a) // the queue ends one that is damaged
			n.Thing = Thing{ID: string(id), Parent: string(parent), Session: a.Principal.Session, Workspace: a.Workspace,
				App: a.Principal.App, AppFile: a.AppFile, Over: ended > 0}
			return n, nil
		}, list, node, after, page)
		if err != nil {
			return pgnode.ConvertError("adoption.Tasks", err)
		}
		for _, r := range rows {
			after = r.num
			each(r.Thing)
		}
		if len(rows) < page {
			return nil
		}
	}
}

// documented is what the documents that move say of themselves.
type documented struct {
	Principal tool.Principal `json:"principal"`
	App       string         `json:"app"` // of a file that waits
	Workspace string         `json:"workspace"`
	AppFile   string         `json:"app_file"`
	Asker     task.Asker     `json:"asker"` // of a proposal
	State     string         `json:"state"`
}

// Documents calls each with every document of a node in a collection whose documents say whose they are.
func (s *Store) Documents(ctx context.Context, node, collection string, each func(Thing)) error {
	const list = "SELECT key, data FROM documents WHERE node = $1 AND collection = $2 AND key > $3 ORDER BY key LIMIT $4"
	for after := []byte{}; ; {
		type keyed struct{ key, data []byte }
		rows, err := pgnode.Query(ctx, s.db, func(row pgx.CollectableRow) (k keyed, err error) {
			err = row.Scan(&k.key, &k.data)
			return k, err
		}, list, node, []byte(collection), after, page)
		if err != nil {
			return pgnode.ConvertError("adoption.Documents", err)
		}
		for _, r := range rows {
			after = r.key
			var d documented
			_ = json.Unmarshal(r.data, &d) // one that says nothing of itself has its key
			if d.Workspace == "" {
				d.Principal, d.Workspace, d.AppFile = d.Asker.Principal, d.Asker.Workspace, d.Asker.AppFile
			}
			each(Thing{ID: string(r.key), Session: d.Principal.Session, Workspace: d.Workspace,
				App: cmp.Or(d.Principal.App, d.App), AppFile: d.AppFile, Over: d.State != "pending"})
		}
		if len(rows) < page {
			return nil
		}
	}
}

// Formers returns the nodes whose journals tell what became of calls that this node goes on with.
func (s *Store) Formers(ctx context.Context) ([]string, error) {
	const list = "SELECT former FROM adoptions WHERE node = $1 ORDER BY at, former"
	all, err := pgnode.Query(ctx, s.db, pgx.RowTo[string], list, s.db.NodeID())
	return all, pgnode.ConvertError("adoption.Formers", err)
}
