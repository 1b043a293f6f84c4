package sharedbases_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/doctext"
	"callgate/internal/module/rag/chunkstore"
	_ "callgate/internal/sandbox/selfstart" // what the module reads may be read in the sandbox
	"callgate/internal/search/embed/vector"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/storage/postgres/sharedbases"
	"callgate/tool"
)

var server postgrestest.Server

func TestMain(m *testing.M) {
	if value := os.Getenv(ingestVariable); value != "" {
		ingestUntilKilled(value)
		return
	}
	os.Exit(server.Main(m))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openDB(t testing.TB, url, id string) *pgnode.DB {
	t.Helper()
	db, err := pgnode.Open(t.Context(), url, pgnode.Node{ID: id, Lease: time.Minute})
	check(t, err)
	t.Cleanup(db.Close)
	return db
}

// stored is a document of chunks that say its name and their number.
func stored(name string, chunks int) chunkstore.Stored {
	d := chunkstore.Stored{Document: chunkstore.Document{
		Name: name, Origin: chunkstore.Text, Title: "T", Format: "text", Hash: "h-" + name, Bytes: 7, Chunks: chunks,
		Ingested: time.UnixMilli(1000),
	}}
	for n := range chunks {
		d.Parts = append(d.Parts, chunkstore.Chunk{
			Chunk:  doctext.Chunk{Headings: []string{"a", "b\x00"}, Unit: doctext.Line, First: n, Last: n + 1, Text: fmt.Sprint(name, " ", n)},
			Vector: vector.Row{Scale: 0.5, Values: []int8{1, -2, 3}},
		})
	}
	return d
}

// publish stages documents and publishes them.
func publish(t testing.TB, b *sharedbases.Bases, base int64, p chunkstore.Publication, documents ...chunkstore.Stored) error {
	t.Helper()
	check(t, b.Stage(t.Context(), base, p.Ingestion, documents))
	p.Staged += len(documents)
	_, err := b.Publish(t.Context(), base, p)
	return err
}

// texts are the numbers and texts of a base's chunks above a number.
func texts(t testing.TB, b *sharedbases.Bases, base, above int64) (all []string, last int64) {
	t.Helper()
	check(t, b.Chunks(t.Context(), base, above, func(c chunkstore.Chunk) {
		if c.ID <= last {
			t.Fatalf("chunk %d comes after %d", c.ID, last)
		}
		all, last = append(all, c.Text), c.ID
	}))
	return all, last
}

// What one node publishes another reads, whole, and chunks that are new have numbers above all that were there.
func TestPublish(t *testing.T) {
	t.Parallel()
	url := server.URL(t)
	a, b := sharedbases.New(openDB(t, url, "a")), sharedbases.New(openDB(t, url, "b"))
	base, err := a.Create(t.Context(), "ada/app", chunkstore.Base{Name: "team", Description: "d", Model: "m"})
	check(t, err)
	p := chunkstore.Publication{Ingestion: "1", Model: "m", NextModel: "m"}
	strange := "x\x00\xff " + strings.Repeat("long", 2000)
	check(t, publish(t, a, base.ID, p, stored("one", 2), stored(strange, 1), stored("empty", 0), stored("many", 4500)))
	all, last := texts(t, b, base.ID, 0)
	if len(all) != 4503 || all[0] != "one 0" || all[2] != strange+" 0" || all[4502] != "many 4499" {
		t.Fatalf("there are %d chunks", len(all))
	}
	ids, err := b.IDs(t.Context(), base.ID)
	check(t, err)
	if len(ids) != len(all) || ids[len(ids)-1] != last || !slices.IsSorted(ids) {
		t.Errorf("%d numbers up to %d, and %d chunks up to %d", len(ids), ids[len(ids)-1], len(all), last)
	}
	found, err := b.ByID(t.Context(), base.ID, []int64{ids[2], ids[0], last + 1, ids[1] + 1_000_000})
	check(t, err)
	if len(found) != 2 || found[0].Text != "one 0" || found[1].Document != strange || found[0].Headings[1] != "b\x00" ||
		found[0].Vector.Scale != 0.5 || !slices.Equal(found[0].Vector.Values, []int8{1, -2, 3}) {
		t.Errorf("by their numbers: %+v", found)
	}
	p = chunkstore.Publication{Ingestion: "2", Model: "m", NextModel: "m", Removed: []string{"many", "none"},
		Moved: []string{strange}, Origin: chunkstore.File}
	check(t, publish(t, b, base.ID, p, stored("one", 3)))
	if all, now := texts(t, a, base.ID, last); len(all) != 3 || now != last+3 {
		t.Errorf("above %d there are %q up to %d", last, all, now)
	}
	documents, err := a.Documents(t.Context(), base.ID)
	check(t, err)
	for i, want := range []struct {
		name   string
		origin chunkstore.Origin
	}{{"empty", chunkstore.Text}, {"one", chunkstore.Text}, {strange, chunkstore.File}} {
		if d := documents[i]; len(documents) != 3 || d.Name != want.name || d.Origin != want.origin || d.Hash != "h-"+d.Name {
			t.Errorf("%d documents, and %d is %.20q of %s", len(documents), i, d.Name, d.Origin)
		}
	}
	bases, err := b.Bases(t.Context(), "ada/app")
	check(t, err)
	if len(bases) != 1 || bases[0].Documents != 3 || bases[0].Chunks != 4 || bases[0].Bytes != 21 || bases[0].Version != 3 {
		t.Errorf("there is %+v", bases)
	}
	check(t, b.Delete(t.Context(), base.ID))
	if all, _ := texts(t, a, base.ID, 0); len(all) > 0 {
		t.Errorf("of a base that is deleted there is %q", all)
	}
	if err := publish(t, a, base.ID, p); tool.KindOf(err) != tool.NotFound {
		t.Errorf("into a base that is deleted: %v", err)
	}
	if err := a.Stage(t.Context(), base.ID, "3", []chunkstore.Stored{stored("x", 1)}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("for a base that is deleted: %v", err)
	}
}

// A publication that does not fit changes nothing.
func TestRefusedPublications(t *testing.T) {
	t.Parallel()
	db := openDB(t, server.URL(t), "a")
	b := sharedbases.New(db)
	base, err := b.Create(t.Context(), "o", chunkstore.Base{Name: "team", Model: "m"})
	check(t, err)
	check(t, publish(t, b, base.ID, chunkstore.Publication{Ingestion: "0", Model: "m", NextModel: "m"}, stored("old", 2)))
	for name, c := range map[string]struct {
		p    chunkstore.Publication
		kind tool.Kind
	}{
		"another model":          {chunkstore.Publication{Model: "n"}, tool.Conflict},
		"another version":        {chunkstore.Publication{Model: "m", Version: 1}, tool.Conflict},
		"more than was staged":   {chunkstore.Publication{Model: "m", Staged: 1}, tool.Conflict},
		"too many chunks":        {chunkstore.Publication{Model: "m", MaxChunks: 3}, tool.Limited},
		"one name twice, staged": {chunkstore.Publication{Model: "m", Ingestion: "twice"}, tool.Conflict},
	} {
		c.p.Removed = []string{"old"}
		new := []chunkstore.Stored{stored("new", 4)}
		if c.p.Ingestion == "" {
			c.p.Ingestion = name
		} else {
			new = append(new, stored("new", 1))
		}
		if err := publish(t, b, base.ID, c.p, new...); tool.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
		check(t, b.Discard(t.Context(), c.p.Ingestion))
		bases, err := b.Bases(t.Context(), "o")
		check(t, err)
		if all, _ := texts(t, b, base.ID, 0); len(all) != 2 || bases[0].Version != 2 || bases[0].Model != "m" {
			t.Errorf("%s: there is %q in %+v", name, all, bases[0])
		}
	}
	// A base that grew too large before may be changed, and become smaller.
	less := chunkstore.Publication{Ingestion: "less", Model: "m", NextModel: "m", MaxChunks: 1}
	check(t, publish(t, b, base.ID, less, stored("old", 2)))
	var left int
	check(t, db.Use(t.Context(), func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), "SELECT count(*) FROM rag_documents").Scan(&left)
	}))
	if left != 1 {
		t.Errorf("%d documents are stored", left)
	}
}

// The bases of an owner are bounded, have one name each, and are nobody else's.
func TestCreate(t *testing.T) {
	t.Parallel()
	b := sharedbases.New(openDB(t, server.URL(t), "a"))
	for n := range sharedbases.MaxBases {
		_, err := b.Create(t.Context(), "o", chunkstore.Base{Name: fmt.Sprint("b", n)})
		check(t, err)
	}
	for name, kind := range map[string]tool.Kind{"b7": tool.Conflict, "more": tool.Limited} {
		if _, err := b.Create(t.Context(), "o", chunkstore.Base{Name: name}); tool.KindOf(err) != kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := b.Bases(t.Context(), "p"); err != nil || len(all) > 0 {
		t.Errorf("another has %v, %v", all, err)
	}
	if _, err := b.Create(t.Context(), "p", chunkstore.Base{Name: "b7"}); err != nil {
		t.Error(err)
	}
}
