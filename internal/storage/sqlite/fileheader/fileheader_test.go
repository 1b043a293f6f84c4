package fileheader

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// aLog is a write-ahead log with two commits: the first, of one frame, says
// version 5, the second, of several, version 99.
func aLog(t testing.TB) (log []byte, frame int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"PRAGMA page_size = 1024", "CREATE TABLE a (b)", "PRAGMA journal_mode = WAL", "PRAGMA user_version = 5",
		"BEGIN", "PRAGMA user_version = 99", "CREATE TABLE c (d)", "INSERT INTO c VALUES (zeroblob(5000))", "COMMIT",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if log, err = os.ReadFile(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	return log, walFrameSize + 1024
}

// TestPeekLog: a version counts when its transaction is whole.
func TestPeekLog(t *testing.T) {
	t.Parallel()
	log, frame := aLog(t)
	if (len(log)-walHeaderSize)%frame != 0 || len(log) < walHeaderSize+4*frame {
		t.Fatalf("the log has %d bytes", len(log))
	}
	flipped := func(at int) []byte {
		b := bytes.Clone(log)
		b[at] ^= 1
		return b
	}
	for _, tt := range []struct {
		name    string
		log     []byte
		version int32
		ok      bool
	}{
		{"whole", log, 99, true},
		{"the last frame torn", log[:len(log)-1], 5, true},
		{"the last frame missing", log[:len(log)-frame], 5, true},
		{"one frame", log[:walHeaderSize+frame], 5, true},
		{"half a frame", log[:walHeaderSize+frame/2], 0, false},
		{"no frame", log[:walHeaderSize], 0, false},
		{"half a header", log[:walHeaderSize/2], 0, false},
		{"empty", nil, 0, false},
		{"damage in the last frame", flipped(len(log) - 10), 5, true},
		{"damage in the first frame", flipped(walHeaderSize + frame - 10), 0, false},
		{"another salt", flipped(walHeaderSize + 9), 0, false},
		{"damage in the header", flipped(5), 0, false},
	} {
		version, ok, err := readLog(bytes.NewReader(tt.log))
		if err != nil || version != tt.version || ok != tt.ok {
			t.Errorf("%s: %d, %v, %v; want %d, %v", tt.name, version, ok, err, tt.version, tt.ok)
		}
	}
}

// FuzzPeek gives arbitrary bytes as a database and as its log.
func FuzzPeek(f *testing.F) {
	log, _ := aLog(f)
	header := make([]byte, headerSize)
	copy(header, magic)
	header[versionOffset+3] = 1
	f.Add(header, log)
	f.Add([]byte{}, []byte{})
	f.Add(header[:50], log[:walHeaderSize])
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file, log []byte) {
		path := filepath.Join(dir, "a.db")
		for name, data := range map[string][]byte{path: file, path + "-wal": log} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if version, err := Version(path); err == nil && version < 0 {
			t.Fatalf("version %d", version)
		}
	})
}
