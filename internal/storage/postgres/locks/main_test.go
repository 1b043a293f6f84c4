package locks_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lock/locktest"
	"callgate/internal/storage/postgres/locks"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/postgrestest"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// cluster is a schema, in which nodes have locks.
type cluster struct {
	url   string
	admin *pgxpool.Pool
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	return clusterAt(t, server.Schema(t, fmt.Sprintf("t%x", sha256.Sum224([]byte(t.TempDir())))))
}

func clusterAt(t testing.TB, url string) *cluster {
	t.Helper()
	c := &cluster{url: url}
	c.admin = c.openDB(t, "admin", c.url, time.Hour).Pool()
	return c
}

// openDB opens a node anew.
func (c *cluster) openDB(t testing.TB, node, url string, lease time.Duration) *pgnode.DB {
	t.Helper()
	url += "&pool_max_conns=4" // the server of the tests has a hundred for all
	db, err := pgnode.Open(t.Context(), url, pgnode.Node{ID: node, Name: node + "-name", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// exec runs a statement.
func (c *cluster) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := c.admin.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// open opens the locks of a node, whose lease is long.
func (c *cluster) open(t testing.TB, node string) *locks.Table {
	return c.openAt(t, node, c.url, time.Hour)
}

func (c *cluster) openAt(t testing.TB, node, url string, lease time.Duration) *locks.Table {
	return c.openWith(t, node, url, lease, func(*locks.Options) {})
}

func (c *cluster) openWith(
	t testing.TB, node, url string, lease time.Duration, change func(*locks.Options),
) *locks.Table {
	t.Helper()
	o := locks.OptionsOf(c.openDB(t, node, url, lease))
	change(&o)
	table := locks.Open(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = table.Close(ctx)
	})
	return table
}

// tested are the locks of a cluster of three nodes, each of which makes every third request.
type tested struct {
	cluster *cluster
	nodes   [3]*locks.Table
	next    atomic.Int32
}

func openTested(t testing.TB) *tested {
	l := &tested{cluster: newCluster(t)}
	for i := range l.nodes {
		l.nodes[i] = l.cluster.open(t, fmt.Sprint("n", i))
	}
	return l
}

func (l *tested) Acquire(ctx context.Context, r lock.Request, blocked func(lock.Blocker)) (func(), error) {
	hold, err := l.nodes[int(l.next.Add(1))%len(l.nodes)].Acquire(ctx, r, locks.Watch{Blocked: blocked})
	if err != nil {
		return nil, err
	}
	return func() { hold.Release(nil) }, nil
}

// Settle waits until nothing is left to be told to the database.
func (l *tested) Settle(t testing.TB) {
	t.Helper()
	for _, n := range l.nodes {
		if err := n.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *tested) Who(t testing.TB) string { return l.cluster.who(t) }

// who lists the calls that hold and those that wait.
func (c *cluster) who(t testing.TB) string {
	t.Helper()
	const look = "SELECT convert_from(holder, 'UTF8')::json ->> 'call', fence IS NOT NULL FROM lock_claims " +
		"WHERE n = 1 ORDER BY ticket"
	rows, err := c.admin.Query(t.Context(), look)
	if err != nil {
		t.Fatal(err)
	}
	var held, waiting []string
	var call string
	var holds bool
	_, err = pgx.ForEachRow(rows, []any{&call, &holds}, func() error {
		if holds {
			held = append(held, call)
		} else {
			waiting = append(waiting, call)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(held, " ") + " | " + strings.Join(waiting, " ")
}

func TestLocks(t *testing.T) {
	t.Parallel()
	l := openTested(t)
	locktest.Run(t, func(*testing.T) locktest.Locks { return l })
}
