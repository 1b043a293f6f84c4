package apis_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/app"
)

// load loads an app file with an API for each document.
func load(t *testing.T, folder string, documents []string) *app.App {
	t.Helper()
	var b strings.Builder
	b.WriteString("app: {app_id: shop}\ntools:\n  modules:\n    openapi:\n      config:\n        apis:\n")
	for i, d := range documents {
		fmt.Fprintf(&b, "          a%d: {document: %s}\n", i, d)
	}
	path := filepath.Join(folder, "callgate.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.LoadWith(path, app.KnownModules{}, app.Vars{Workdir: folder, Partial: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func writeLong(t *testing.T, folder, name string, mib int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), make([]byte, mib<<20), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file is read once, however many APIs name it. It is not parallel: what it allocates is measured.
func TestDocumentsAreReadOnce(t *testing.T) {
	folder := t.TempDir()
	writeLong(t, folder, "long.yaml", 4)
	var documents []string
	for range 20 {
		documents = append(documents, "long.yaml", "./long.yaml")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := load(t, folder, documents)
	runtime.ReadMemStats(&after)
	for _, one := range a.APIs {
		if one.Problem != "" || one.Digest == "" || len(one.Text) != 4<<20 {
			t.Errorf("%s: %s, %d bytes", one.Name, one.Problem, len(one.Text))
		}
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; len(a.APIs) != 40 || took > 60 {
		t.Errorf("%d APIs took %d MiB", len(a.APIs), took)
	}
}

// What all documents of an app file take is limited; those that fit are there.
func TestDocumentsTogether(t *testing.T) {
	folder := t.TempDir()
	var documents []string
	for i := range 3 {
		documents = append(documents, fmt.Sprintf("long%d.yaml", i))
		writeLong(t, folder, documents[i], 24)
	}
	a := load(t, folder, documents)
	for i, want := range []string{"", "", "the document long2.yaml of the API a2 cannot be read: the documents of this app file are longer than 64 MiB"} {
		if got := a.APIs[i].Problem; (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%d: %s", i, got)
		}
	}
}
