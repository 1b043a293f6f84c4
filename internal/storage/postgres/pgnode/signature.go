package pgnode

import (
	"strconv"
	"sync"

	"callgate/internal/secret/authority"
	"callgate/tool"
)

// Signed is the content of a row that gives somebody a right, and what it means.
type Signed struct {
	use   string
	name  string // for people
	parts [][]byte
}

// SignedDocument is a document of an owner: a node, or "" for all of them.
func SignedDocument(owner, collection, key string, data []byte) Signed {
	return Signed{"document", "document " + collection + "/" + key, parts(owner, collection, key, data)}
}

// SignedApproval is an approval of a node with its answer.
func SignedApproval(node, id, state string, request, answer []byte) Signed {
	return Signed{"approval", "approval " + id, append(parts(node, id, state, request), answer)}
}

// SignedTask is what a task is and who asked for it. It stays as it was made.
func SignedTask(node, id, kind, label, parent string, asker, input []byte, maxAttempts int64) Signed {
	all := append(parts(node, id, kind, asker), []byte(label), []byte(parent), []byte(strconv.FormatInt(maxAttempts, 10)), input)
	return Signed{"task", "task " + id, all}
}

// SignedTaskData is what a task keeps while it runs.
func SignedTaskData(node, id string, data []byte) Signed {
	return Signed{"task data", "data of the task " + id, append(parts(node, id, "", nil), data)}
}

func parts(a, b, c string, content []byte) [][]byte {
	return [][]byte{[]byte(a), []byte(b), []byte(c), content}
}

// Key is the key of the cluster; nil: this node has none.
func (db *DB) Key() *authority.Key { return db.node.Key }

// Sign makes the code of a row; nil without a key.
func (db *DB) Sign(s Signed) []byte { return db.node.Key.Sign(s.use, s.parts...) }

// Signs reports whether a code is that of a row, made by any of the keys.
func (db *DB) Signs(code []byte, s Signed) bool { return db.node.Key.Verify(code, s.use, s.parts...) }

// Believe returns an error for a row whose code is not valid, and reports it once.
func (db *DB) Believe(code []byte, s Signed) error {
	if db.Signs(code, s) {
		return nil
	}
	err := tool.Errorf("postgres.Believe", tool.Denied,
		"the %s in the database was not written by a node of this cluster, so it does not count", tool.Truncate(s.name)).
		WithHint("find out who else writes in the database; what an operator wants to keep is made anew")
	if db.node.Distrust != nil && db.distrusted.fresh(s.name) {
		db.node.Distrust(err)
	}
	return err
}

// Sign is that of the database.
func (t *Tx) Sign(s Signed) []byte { return t.db.Sign(s) }

// Believe is that of the database.
func (t *Tx) Believe(code []byte, s Signed) error { return t.db.Believe(code, s) }

// names are the rows that were reported. There are only so many, as whoever makes them can make more.
type names struct {
	mu   sync.Mutex
	seen map[string]bool
}

const maxDistrusted = 1000

func (n *names) fresh(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[name] || len(n.seen) >= maxDistrusted {
		return false
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	return true
}
