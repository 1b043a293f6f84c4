package callnames_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"callgate/internal/storage/postgres/callnames"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/postgrestest"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

func open(t *testing.T, url, id string, lease time.Duration) *pgnode.DB {
	t.Helper()
	db, err := pgnode.Open(t.Context(), url, pgnode.Node{ID: id, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func key(name string) callnames.Key { return sha256.Sum256([]byte(name)) }

// Many nodes that claim the same names at once agree on who has each, and under which ID.
func TestClaimedOnce(t *testing.T) {
	t.Parallel()
	url := server.URL(t)
	const nodes, names = 4, 25
	var all [nodes][names]callnames.Owner
	var done sync.WaitGroup
	for i := range nodes {
		own := callnames.New(open(t, url, fmt.Sprintf("n%d", i), time.Minute))
		done.Go(func() {
			for j := range names {
				o, err := own.Claim(t.Context(), key(fmt.Sprint(j)), fmt.Sprintf("c%d-%d", i, j))
				if err != nil {
					t.Error(err)
				}
				all[i][j] = o
			}
		})
	}
	done.Wait()
	for j := range names {
		for i := range nodes {
			o := all[i][j]
			if o != all[0][j] || o.Call != fmt.Sprintf("c%s-%d", o.Node[1:], j) {
				t.Errorf("name %d: node %d is told %+v, and node 0 %+v", j, i, o, all[0][j])
			}
		}
	}
}

// A name goes from a node that is down to one other, and from no node that lives.
func TestMove(t *testing.T) {
	t.Parallel()
	url := server.URL(t)
	old := open(t, url, "old", time.Millisecond) // its lease is over at once
	b, c := open(t, url, "b", time.Minute), open(t, url, "c", time.Minute)
	k := key("x")
	claim := func(db *pgnode.DB) callnames.Owner {
		t.Helper()
		o, err := callnames.New(db).Claim(t.Context(), k, "c-"+db.NodeID())
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	var epoch int64
	move := func(db *pgnode.DB) bool {
		t.Helper()
		moved, err := callnames.New(db).Move(t.Context(), k, "old", epoch)
		if err != nil {
			t.Fatal(err)
		}
		return moved
	}
	claim(old)
	if move(b) {
		t.Error("it was moved from a node that is up")
	}
	waitOver(t, b, "old")
	taken, err := b.Nodes().TakeOver(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	if epoch = taken.Epoch - 1; move(b) {
		t.Error("it was moved from another epoch than was judged")
	}
	epoch = taken.Epoch
	if first, second := move(b), move(c); !first || second {
		t.Errorf("moved: %v, and then %v", first, second)
	}
	if o := claim(c); o != (callnames.Owner{Node: "b", Call: "c-old"}) {
		t.Errorf("it is with %+v", o)
	}
	if gone, err := callnames.New(b).Forget(t.Context()); err != nil || gone != 0 {
		t.Errorf("%d, %v", gone, err)
	}
}

// TestForget: a name is kept for its time, and goes after it.
func TestForget(t *testing.T) {
	t.Parallel()
	db := open(t, server.URL(t), "n", time.Minute)
	names := callnames.New(db)
	for _, name := range []string{"old", "new"} {
		if _, err := names.Claim(t.Context(), key(name), name); err != nil {
			t.Fatal(err)
		}
	}
	old := key("old")
	err := db.Transact(t.Context(), func(ctx context.Context, tx *pgnode.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE named_calls SET at = now() - $2::interval - interval '1 minute' WHERE key = $1",
			old[:], callnames.Keep)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := names.Forget(t.Context()); err != nil || gone != 1 {
		t.Errorf("%d names are gone, %v", gone, err)
	}
	for name, call := range map[string]string{"old": "again", "new": "new"} {
		if o, err := names.Claim(t.Context(), key(name), "again"); err != nil || o.Call != call {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}

// waitOver waits until the lease of a node is over, by the server's clock.
func waitOver(t *testing.T, db *pgnode.DB, id string) {
	t.Helper()
	for ctx := t.Context(); ; {
		all, err := db.Nodes().List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			if n.ID == id && n.Lost() {
				return
			}
		}
		if context.Cause(ctx) != nil {
			t.Fatal(context.Cause(ctx))
		}
	}
}
