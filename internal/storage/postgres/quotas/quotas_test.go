package quotas_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/quota"
	"callgate/internal/quota/quotatest"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/storage/postgres/quotas"
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

// execute runs a statement beside all nodes.
func execute(t *testing.T, db *pgnode.DB, statement string, args ...any) {
	t.Helper()
	err := db.Use(t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), statement, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Three nodes count as one.
func TestNodes(t *testing.T) {
	t.Parallel()
	quotatest.Run(t, func(t *testing.T) quotatest.Place {
		url := server.URL(t)
		first := open(t, url, "n0", time.Minute)
		p := quotatest.Place{Kernels: []quota.Counters{quotas.New(t.Context(), first)}}
		for _, id := range []string{"n1", "n2"} {
			p.Kernels = append(p.Kernels, quotas.New(t.Context(), open(t, url, id, time.Minute)))
		}
		p.Pass = func(t *testing.T) { // the server's clock stays as it is
			execute(t, first, "UPDATE quota_used SET begins = begins - interval '2 months'")
		}
		p.Restart = func() quota.Counters {
			first.Close()
			return quotas.New(t.Context(), open(t, url, "n0", time.Minute))
		}
		return p
	})
}

var atOnce = []quota.Charge{{Account: "user/a", Label: "a", Kind: quota.CallsAtOnce, Amount: 1, Most: 1}}

// What a node held whose lease is over is free, and so is what it held before it started again.
func TestLostNode(t *testing.T) {
	t.Parallel()
	url := server.URL(t)
	lost := open(t, url, "lost", time.Minute)
	other := quotas.New(t.Context(), open(t, url, "other", time.Minute))
	if _, err := quotas.New(t.Context(), lost).Enter(t.Context(), atOnce); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Enter(t.Context(), atOnce); err == nil {
		t.Fatal("two of one")
	}
	execute(t, lost, "UPDATE nodes SET lease_until = now() - interval '1 second' WHERE id = 'lost'")
	leave, err := other.Enter(t.Context(), atOnce)
	if err != nil {
		t.Fatal(err)
	}
	leave()
}

// A release of which the database does not hear at once is written when it can be.
func TestLateRelease(t *testing.T) {
	t.Parallel()
	url := server.URL(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	db := open(t, url, "a", time.Minute)
	a := quotas.New(ctx, db)
	b := quotas.New(t.Context(), open(t, url, "b", time.Minute))
	leave, err := a.Enter(t.Context(), atOnce)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = beside.Close(context.Background()) }()
	held, err := beside.Begin(t.Context())
	if err == nil {
		_, err = held.Exec(t.Context(), "SET search_path = callgate; LOCK TABLE quota_held IN ACCESS EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	leave() // gives up waiting
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		free, err := b.Enter(t.Context(), atOnce)
		if err == nil {
			free()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
