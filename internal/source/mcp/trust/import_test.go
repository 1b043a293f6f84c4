package trust_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
	"callgate/internal/durable"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// oldFile puts the file of an earlier version into a folder. Its text is what
// that version wrote; see expectImported for how it came about.
func oldFile(t testing.TB) (path string, data []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "trust.json"))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "trust.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, data
}

// expectImported checks that a store has what is in testdata/trust.json.
func expectImported(t *testing.T, docs document.Store) {
	t.Helper()
	s := trust.NewStore(docs)
	servers, err := s.Servers()
	want := []string{"app-0123456789ab", key, "hub-00112233aabb"}
	if diff := cmp.Diff(want, servers); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	consent := []string{`call shell.bash {"command":"make <x> & y"}`, "send the texts to https://e.test"}
	for server, line := range map[string][]string{"app-0123456789ab": consent, key: {"npx", "files"}} {
		if err := s.MayLaunch(server, line); err != nil {
			t.Errorf("what was accepted of %s: %v", server, err)
		}
	}
	for _, c := range []struct {
		server string
		now    []string
		want   string
	}{
		{key, []string{"add: Adds <b>.", "mul: Multiplies."}, "+add, +mul, -sub"},
		{key, []string{"sub: Subtracts!", "add: Adds more."}, "!sub changed from Subtracts. rejected by ada, " +
			"!add changed from Adds <b>., -mul"},
		{"hub-00112233aabb", []string{"find: Finds.", evil, "put: Puts é \u202e."}, "+find, !add suspicious, !put suspicious"},
	} {
		if v, err := s.Review(c.server, defs(c.now...), trust.Options{}); err != nil || brief(v) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.server, brief(v), err, c.want)
		}
	}
	pins, err := s.Accepted("hub-00112233aabb")
	if err != nil || len(pins) != 1 || pins[0].By != "grace" || pins[0].FirstUse {
		t.Errorf("pins %+v, %v", pins, err)
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	path, data := oldFile(t)
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	half, err := durable.New(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(half.Discard) // a crash would only leave the file
	if _, err := half.Write(data[:100]); err != nil {
		t.Fatal(err)
	}
	docs := openDocuments(t, t.TempDir())
	for range 2 { // the second finds nothing to do
		if err := trust.Import(t.Context(), docs, path); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(path + ".imported"); err != nil || !bytes.Equal(now, data) {
		t.Errorf("it was not renamed: %v", err)
	}
	for _, gone := range []string{path, path + ".lock", half.Name()} {
		if _, err := os.Stat(gone); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	expectImported(t, docs)
}

// stopped ends with an error after some writes.
type stopped struct {
	document.Store
	writes int
}

func (s *stopped) Write(ctx context.Context, changes ...document.Change) (int64, error) {
	if s.writes--; s.writes < 0 {
		return 0, tool.Errorf("test", tool.Unavailable, "the machine stops")
	}
	return s.Store.Write(ctx, changes...)
}

// An import that was interrupted is repeated, and overwrites nothing that was
// decided since.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	path, data := oldFile(t)
	docs := openDocuments(t, t.TempDir())
	if err := trust.Import(t.Context(), &stopped{Store: docs}, path); tool.KindOf(err) != tool.Unavailable {
		t.Fatalf("interrupted: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Fatalf("the file is %d bytes, %v", len(now), err)
	}
	if err := trust.Import(t.Context(), docs, path); err != nil {
		t.Fatal(err)
	}
	version := stored(t, docs, key).Version
	if err := trust.NewStore(docs).AcceptLaunch("app-0123456789ab", []string{"new"}, "ada"); err != nil {
		t.Fatal(err)
	}
	// A crash after the write and before the rename leaves the old file.
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := trust.Import(t.Context(), docs, path); err != nil {
		t.Fatal(err)
	}
	if now := stored(t, docs, key).Version; now != version {
		t.Error("it was imported twice")
	}
	if err := trust.NewStore(docs).MayLaunch("app-0123456789ab", []string{"new"}); err != nil {
		t.Errorf("a later decision was overwritten: %v", err)
	}
}

// A damaged file is reported with its name, imports nothing, and stays as it
// is.
func TestImportOfDamage(t *testing.T) {
	t.Parallel()
	_, whole := oldFile(t)
	flip := func(old, new string) []byte {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("the file has no %q:\n%s", old, whole)
		}
		return bytes.Replace(whole, []byte(old), []byte(new), 1)
	}
	for name, data := range map[string][]byte{
		"empty":           {},
		"noughts":         make([]byte, 4096),
		"cut":             whole[:len(whole)/2],
		"cut by a byte":   whole[:len(whole)-3],
		"twice":           append(bytes.Clone(whole), whole...),
		"another JSON":    []byte(`{"a":1}`),
		"null":            []byte(`null`),
		"no servers":      []byte(`{"format":1,"sum":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","servers":null}`),
		"a letter":        flip("Adds more", "Adds morf"),
		"a server's key":  flip("app.yaml#files", "app.yaml#filed"),
		"a format ahead":  flip(`"format": 1`, `"format": 2`),
		"a field ahead":   flip(`"format": 1,`, `"format": 1, "signed": true,`),
		"a spoilt sum":    flip(`"sum": "`, `"sum": "0`),
		"the first_use":   flip(`"first_use": true`, `"first_use": false`),
		"a missing brace": flip(`"servers": {`, `"servers": `),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trust.json")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			docs := openDocuments(t, t.TempDir())
			err := trust.Import(t.Context(), docs, path)
			if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), path) {
				t.Errorf("importing gave %v", err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
				t.Errorf("the damaged file was touched: %v", err)
			}
			if servers, err := trust.NewStore(docs).Servers(); err != nil || len(servers) != 0 {
				t.Errorf("it imported %q, %v", servers, err)
			}
		})
	}
}

func TestImportOfAFileThatOthersMayChange(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing here")
	}
	path, _ := oldFile(t)
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	if err := trust.Import(t.Context(), openDocuments(t, t.TempDir()), path); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("it gave %v", err)
	}
}

// Import is given files, and servers in a file that is otherwise whole.
func FuzzImport(f *testing.F) {
	_, whole := oldFile(f)
	var file struct{ Servers json.RawMessage }
	if err := json.Unmarshal(whole, &file); err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(bytes.Replace(whole, []byte("add"), []byte("adx"), 1), false)
	f.Add([]byte(file.Servers), true)
	f.Add(bytes.Replace(file.Servers, []byte("Adds more"), []byte("Adds less"), 1), true)
	f.Add([]byte(`{"a":null}`), true)
	f.Add([]byte(`{"a":{"tools":{"t":null}}}`), true)
	f.Add([]byte(`{"a":{},"a":{}}`), true)
	f.Fuzz(func(t *testing.T, data []byte, servers bool) {
		if servers {
			var compact bytes.Buffer
			if json.Compact(&compact, data) != nil {
				return
			}
			data = fmt.Appendf(nil, `{"format":1,"sum":"%x","servers":%s}`, sha256.Sum256(compact.Bytes()), data)
		}
		path := filepath.Join(t.TempDir(), "trust.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		docs := openDocuments(t, t.TempDir())
		if err := trust.Import(t.Context(), docs, path); err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%v", err)
			}
			return
		}
		useAll(t, trust.NewStore(docs))
	})
}

// useAll uses every server of a store: what was read must be of use.
func useAll(t *testing.T, s *trust.Store) {
	t.Helper()
	before, err := s.Servers()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AcceptLaunch("fuzz", []string{"x"}, "ada"); err != nil {
		t.Fatal(err)
	}
	after, err := s.Servers()
	if err != nil || len(after) < len(before) || len(after) > len(before)+1 {
		t.Errorf("%q became %q, %v", before, after, err)
	}
	for _, server := range before {
		if _, err := s.Review(server, defs("add: Adds."), trust.Options{}); err != nil {
			t.Errorf("a review of %q: %v", server, err)
		}
	}
}

// A store is given documents, and servers in a document that is otherwise whole.
func FuzzDocument(f *testing.F) {
	docs := openDocuments(f, f.TempDir())
	fill(f, trust.NewStore(docs))
	whole := stored(f, docs, key).Data
	var doc struct{ Server json.RawMessage }
	if err := json.Unmarshal(whole, &doc); err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(bytes.Replace(whole, []byte("add"), []byte("adx"), 1), false)
	f.Add([]byte(doc.Server), true)
	f.Add(bytes.Replace(doc.Server, []byte("Adds more"), []byte("Adds less"), 1), true)
	f.Add([]byte(`null`), true)
	f.Add([]byte(`{"tools":{"t":null}}`), true)
	f.Add([]byte(`{"tools":{},"tools":{}}`), true)
	f.Fuzz(func(t *testing.T, data []byte, server bool) {
		if server {
			data = fmt.Appendf(nil, `{"format":1,"sum":"%x","server":%s}`,
				sha256.Sum256(append([]byte(key+"\x00"), data...)), data)
		}
		docs := openDocuments(t, t.TempDir())
		overwrite(t, docs, key, data)
		s := trust.NewStore(docs)
		if _, err := s.Pending(key); err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%v", err)
			}
			return
		}
		useAll(t, s)
	})
}
