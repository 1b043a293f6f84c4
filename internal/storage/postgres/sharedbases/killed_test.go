package sharedbases_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/module"
	"callgate/internal/module/rag"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/sharedbases"
	"callgate/tool"
)

// ingestVariable has the test program ingest a folder, as a node that will be killed: "FOLDER STATE URL".
const ingestVariable = "CALLGATE_TEST_INGEST_UNTIL_KILLED"

// ragTool returns a tool of the module at a node.
func ragTool(db *pgnode.DB, state, name string) (tool.Handler, error) {
	instance, err := rag.With(sharedbases.New(db)).Open(module.Host{
		State: state, Node: db.NodeID(), SharedApp: func(app string) (bool, error) { return app == "harbour", nil },
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(instance.Tools, func(t *tool.Tool) bool { return t.ID.Name == name })
	return instance.Tools[i].Handler, nil
}

// ingest ingests a folder.
func ingest(ctx context.Context, db *pgnode.DB, state, folder string) (*tool.Result, error) {
	handler, err := ragTool(db, state, "ingest_folder")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return handler.Execute(ctx, tool.Call{
		Principal: tool.Principal{User: "ada", App: "harbour"}, Args: json.RawMessage(`{"path":".","base":"shared/team"}`),
	}, tool.Grant{Root: root, Workspace: folder})
}

// ingestUntilKilled is the process that is killed.
func ingestUntilKilled(value string) {
	part := strings.Fields(value)
	db, err := pgnode.Open(context.Background(), part[2], pgnode.Node{ID: "killed", Lease: time.Minute})
	if err != nil {
		panic(err)
	}
	r, err := ingest(context.Background(), db, part[1], part[0])
	fmt.Println("it was not killed:", r, err)
}

// A node is killed when it has staged all that it ingests, before that is published: the base is as it was, and another
// node ingests the same.
func TestKilledIngestion(t *testing.T) {
	t.Parallel()
	url := server.URL(t)
	db := openDB(t, url, "a")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	fill := func(files int, text string) {
		for n := range files {
			check(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("d%d.md", n)), []byte(text), 0o600))
		}
	}
	fill(20, "old")
	_, err = ingest(t.Context(), db, t.TempDir(), folder)
	check(t, err)
	fill(30, "new")
	check(t, os.Remove(filepath.Join(folder, "d7.md")))

	beside, err := pgx.Connect(t.Context(), url) // holds the row of the base, so that nothing is published
	check(t, err)
	defer func() { _ = beside.Close(context.Background()) }()
	_, err = beside.Exec(t.Context(), "SET search_path = callgate; BEGIN; SELECT FROM rag_bases FOR NO KEY UPDATE")
	check(t, err)
	program, err := os.Executable()
	check(t, err)
	child := exec.Command(program)
	child.Env = append(os.Environ(), ingestVariable+"="+strings.Join([]string{folder, t.TempDir(), url}, " "))
	check(t, child.Start())
	defer func() { _ = child.Process.Kill() }()
	staged := func() (n int) {
		check(t, db.Use(t.Context(), func(conn *pgx.Conn) error {
			return conn.QueryRow(t.Context(), "SELECT count(*) FROM rag_documents WHERE ingestion IS NOT NULL").Scan(&n)
		}))
		return n
	}
	for end := time.Now().Add(time.Minute); staged() < 29; {
		if time.Now().After(end) {
			t.Fatal("nothing is staged")
		}
	}
	check(t, child.Process.Kill())
	_ = child.Wait()
	_, err = beside.Exec(t.Context(), "ROLLBACK")
	check(t, err)

	b := sharedbases.New(db)
	bases, err := b.Bases(t.Context(), "ada/harbour")
	check(t, err)
	all, _ := texts(t, b, bases[0].ID, 0)
	if len(all) != 20 || slices.Contains(all, "new") || bases[0].Version != 2 || staged() != 29 {
		t.Fatalf("there is %q in %+v", all, bases[0])
	}
	check(t, db.Use(t.Context(), func(conn *pgx.Conn) error { // some hours later
		_, err := conn.Exec(t.Context(), "UPDATE rag_documents SET staged = now() - interval '4 hours' WHERE ingestion IS NOT NULL")
		return err
	}))
	r, err := ingest(t.Context(), db, t.TempDir(), folder)
	check(t, err)
	if got := string(r.Data); !strings.Contains(got, `"added":10,"updated":19,"unchanged":0,"removed":1`) {
		t.Errorf("it ingested %s", got)
	}
	if all, _ := texts(t, b, bases[0].ID, 0); len(all) != 29 || slices.Contains(all, "old") || staged() != 0 {
		t.Errorf("there is %q, and %d are staged", all, staged())
	}
}
