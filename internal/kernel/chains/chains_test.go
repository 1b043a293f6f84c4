package chains_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/kernel/chains"
	"callgate/internal/kernel/node"
	"callgate/internal/statedir"
	"callgate/internal/storage/postgres/postgrestest"
)

var server postgrestest.Server

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kernel is as much of a kernel as has a journal among others.
type kernel struct {
	*node.Node
	t       *testing.T
	state   *statedir.Held
	journal *journal.Journal
}

// open opens a node in a schema, with a state directory of its own.
func open(t *testing.T, url string) *kernel {
	t.Helper()
	dir, err := statedir.At(t.TempDir())
	ok(t, err)
	ok(t, dir.Make())
	ok(t, os.WriteFile(dir.UsersKey(), []byte(strings.Repeat("c4", 32)), 0o600))
	held, err := dir.Hold()
	ok(t, err)
	k := &kernel{t: t, state: held}
	k.Node, _, err = node.Open(t.Context(), node.Options{Place: url, State: held, Timing: node.Timing{Lease: time.Minute}})
	ok(t, err)
	k.journal, err = journal.Open(t.Context(), k.Stores().Journal, k.options())
	ok(t, err)
	t.Cleanup(func() { k.end(); ok(t, held.Release()) })
	return k
}

func (k *kernel) options() journal.Options {
	return journal.Options{Anchor: k.state.Anchor(), KeyFile: k.state.JournalKey(), MaxEpochRecords: 4}
}

// end ends the node, as a machine that is stopped does.
func (k *kernel) end() {
	if k.journal != nil {
		ok(k.t, k.journal.Close())
		ok(k.t, k.Node.Close())
		k.journal = nil
	}
}

// write writes records, and tells where the journal ends.
func (k *kernel) write(n int) {
	k.t.Helper()
	for i := range n {
		rec := journal.Record{Kind: journal.Noted, Time: time.Now(), Note: fmt.Sprintf("%s says %d", k.ID, i)}
		_, err := k.journal.Commit(k.t.Context(), rec)
		ok(k.t, err)
	}
	ok(k.t, k.Announce(k.t.Context(), node.Reach{}))
}

// others verifies the journals of the others.
func (k *kernel) others() []chains.Report {
	k.t.Helper()
	list, err := chains.Others(k.t.Context(), k.Node, k.Stores().Journal)
	ok(k.t, err)
	return list
}

// schema is the name and the URL of a schema of its own.
func schema(t *testing.T) (name, url string) {
	t.Helper()
	name = "chains_" + strings.ToLower(strings.NewReplacer("/", "_", " ", "_", ",", "").Replace(t.Name()))
	name = name[:min(len(name), 60)]
	t.Cleanup(func() {
		_, err := server.Admin(t).Exec("DROP SCHEMA IF EXISTS " + name + " CASCADE")
		ok(t, err)
	})
	return name, server.Schema(t, name)
}

// What is done to the rows of another node, living or dead, shows at any node.
func TestTampering(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change string // $B and $A are the nodes; the schema is set
		want   string
	}{
		"nothing":          {"SELECT 1", ""},
		"a changed row":    {"UPDATE records SET body = replace(convert_from(body, 'UTF8'), 'says', 'said')::bytea WHERE node = '$B' AND seq = 3", "was changed"},
		"no last record":   {"DELETE FROM records WHERE node = '$B' AND seq = (SELECT max(seq) FROM records WHERE node = '$B')", "records were cut"},
		"no first records": {"DELETE FROM records WHERE node = '$B' AND seq < 3", "missing"},
		"two swapped": {`UPDATE records AS x SET body = y.body, hash = y.hash, kind = y.kind, epoch = y.epoch FROM records AS y
			WHERE x.node = '$B' AND y.node = '$B' AND x.seq IN (3, 4) AND y.seq = 7 - x.seq`, "was changed"},
		"nothing left": {"DELETE FROM records WHERE node = '$B'", "records were cut"},
		"the chain of another": {`DELETE FROM records WHERE node = '$B'; INSERT INTO records (node, seq, epoch, kind, call, body, hash)
			SELECT '$B', seq, epoch, kind, call, body, hash FROM records WHERE node = '$A'`, "copy"},
		"the chain of another, longer": {`DELETE FROM records WHERE node = '$B'; INSERT INTO records (node, seq, epoch, kind, call, body, hash)
			SELECT '$B', seq, epoch, kind, call, body, hash FROM records WHERE node = '$A'`, "was replaced"},
		"no node": {"DELETE FROM records WHERE node = '$B'; DELETE FROM nodes WHERE id = '$B'", "does not know it any more"},
		"a false summary": {`INSERT INTO drops (node, last_seq, summary) SELECT '$B', 4, convert_to(
			'{"first_seq":1,"last_seq":4}', 'UTF8'); DELETE FROM records WHERE node = '$B' AND seq <= 4`, "is not signed"},
		"a false head": {`UPDATE nodes SET info = jsonb_set(info, '{head,seq}', '99') WHERE id = '$B'`, ""},
	} {
		lives := []bool{false}
		if name == "nothing" || name == "no last record" { // the others do not depend on it
			lives = []bool{false, true}
		}
		for _, lives := range lives {
			t.Run(fmt.Sprintf("%s lives %v", name, lives), func(t *testing.T) {
				t.Parallel()
				schema, url := schema(t)
				a, b := open(t, url), open(t, url)
				a.write(12)
				b.write(7)
				if found := a.others(); len(found) != 1 || !found[0].OK() || found[0].Seen == 0 || found[0].Epochs < 2 {
					t.Fatalf("before anything was done: %+v", found)
				}
				if !lives {
					b.end()
				}
				text := strings.NewReplacer("$A", a.ID, "$B", b.ID).Replace(tt.change)
				for statement := range strings.SplitSeq(text, ";") {
					_, err := server.Admin(t).Exec(inSchema(statement, schema))
					ok(t, err)
				}
				found := a.others()
				if len(found) != 1 || found[0].Node != b.ID || found[0].OK() != (tt.want == "") {
					t.Fatalf("found %+v", found)
				}
				if tt.want != "" && !strings.Contains(fmt.Sprint(found[0].Problems), tt.want) {
					t.Errorf("the problems are %+v, and none says %q", found[0].Problems, tt.want)
				}
				own, err := chains.Own(t.Context(), a.journal)
				ok(t, err)
				if !own.OK() {
					t.Errorf("its own journal: %+v", own.Problems)
				}
				b.end()
			})
		}
	}
}

// inSchema names the schema of the tables of a statement.
func inSchema(statement, schema string) string {
	for _, table := range []string{"records", "nodes", "drops"} {
		for _, before := range []string{"FROM ", "UPDATE ", "INTO "} {
			statement = strings.ReplaceAll(statement, before+table, before+schema+"."+table)
		}
	}
	return statement
}

// What pruning dropped is proven by the key that the node was first seen with; and one that was never seen is said to be
// compared with nothing.
func TestPruned(t *testing.T) {
	t.Parallel()
	_, url := schema(t)
	a, b := open(t, url), open(t, url)
	b.write(9)
	a.others()
	_, err := b.journal.Prune(t.Context(), time.Now().Add(time.Hour))
	ok(t, err)
	found := a.others()
	if len(found) != 1 || !found[0].OK() || found[0].Dropped == 0 {
		t.Errorf("found %+v", found)
	}
	c := open(t, url) // it wrote nothing, and told nothing
	for _, r := range a.others() {
		if r.Node == c.ID && (r.Seen != 0 || r.Missing == "" || !r.OK()) {
			t.Errorf("of a node that told nothing: %+v", r)
		}
	}
}

// A kernel alone has no others.
func TestAlone(t *testing.T) {
	t.Parallel()
	if list, err := chains.Others(context.Background(), &node.Node{}, nil); err != nil || list != nil {
		t.Errorf("got %v, %v", list, err)
	}
}
