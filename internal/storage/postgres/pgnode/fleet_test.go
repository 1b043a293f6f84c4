package pgnode_test

import (
	"fmt"
	neturl "net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/postgrestest"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// processorTime is that of the processes of PostgreSQL which serve connections to a database.
func processorTime(t *testing.T, database string) (d time.Duration) {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("there is no /proc here")
	}
	for _, p := range all {
		title, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err != nil || !strings.HasPrefix(string(title), "postgres: ") || !strings.Contains(string(title), " "+database+" ") {
			continue
		}
		text, _ := os.ReadFile("/proc/" + p.Name() + "/schedstat") // of one that has ended: nothing
		ran, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.Atoi(ran)
		d += time.Duration(n)
	}
	return d
}

// What heartbeats of a fleet cost the database, which docs/guides/sizing.md counts with: CALLGATE_FLEET says how many
// nodes are opened; it is skipped otherwise. The processes that write the log of PostgreSQL are not counted.
func TestFleet(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("CALLGATE_FLEET"))
	if count == 0 {
		t.Skip("CALLGATE_FLEET names no number of nodes")
	}
	url := server.URL(t) + "&pool_max_conns=1"
	at, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(at.Path, "/")
	fleet := make([]*pgnode.DB, count)
	for i := range fleet {
		db, err := pgnode.Open(t.Context(), url, pgnode.Node{ID: fmt.Sprint("n", i), Lease: time.Hour})
		if err != nil {
			t.Fatalf("node %d: %v", i, err)
		}
		t.Cleanup(db.Close)
		fleet[i] = db
	}
	info := []byte(`{"sessions":12,"calls":3,"conversations":9,"turns":2,"tasks":40,"address":"lab-1:7421",` +
		`"fingerprint":"` + strings.Repeat("a", 64) + `","head":"` + strings.Repeat("b", 400) + `"}`)
	const rounds = 100
	before, began := processorTime(t, database), time.Now()
	for range rounds {
		var all sync.WaitGroup
		for _, db := range fleet {
			all.Go(func() {
				if _, err := db.Nodes().Heartbeat(t.Context(), info); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	beats, took := processorTime(t, database)-before, time.Since(began)
	before = processorTime(t, database)
	for range rounds {
		if _, err := fleet[0].Nodes().List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	lists := processorTime(t, database) - before
	t.Logf("%d nodes: a heartbeat takes %v of PostgreSQL's processor time, all of them once %v; a list of nodes %v",
		count, beats/time.Duration(rounds*count), took/rounds, lists/rounds)
}
