package langserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// document is a file that the server is told the content of.
type document struct {
	version int
	text    string
	used    int      // when it was last used, by the server's count
	asOf    int      // how many publications there were when the server was told it
	onDisk  [32]byte // the content of the file when the server was told another one
	told    bool     // its text is what notify_change said, not what is on the disk
}

// maxDocuments is how many documents a server has open; the ones that were used longest ago
// are closed.
const maxDocuments = 64

// URI is the address of a file.
func URI(name string) string {
	name = filepath.ToSlash(name)
	if runtime.GOOS == "windows" {
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// Path is the file of an address; "" where it is none.
func Path(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !path.IsAbs(u.Path) {
		return ""
	}
	name := path.Clean(u.Path)
	if runtime.GOOS == "windows" {
		name = strings.TrimPrefix(name, "/")
	}
	if strings.ContainsRune(name, 0) {
		return ""
	}
	return filepath.FromSlash(name)
}

// Sync tells the server the content of a file on the disk, unless it knows that. A content that
// Tell gave stays until the file on the disk is another one. It returns the text that the
// server has.
func (s *Server) Sync(ctx context.Context, name, onDisk string) (text string, err error) {
	s.mu.Lock()
	d := s.documents[URI(name)]
	keep := d != nil && d.told && d.onDisk == sha256.Sum256([]byte(onDisk))
	s.mu.Unlock()
	if keep {
		return d.text, nil
	}
	return onDisk, s.set(ctx, name, onDisk, document{})
}

// Tell tells the server that a file has another content than on the disk.
func (s *Server) Tell(ctx context.Context, name, onDisk, text string) error {
	return s.set(ctx, name, text, document{told: text != onDisk, onDisk: sha256.Sum256([]byte(onDisk))})
}

// Told reports whether the server knows another content of a file than the disk has.
func (s *Server) Told(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[URI(name)]
	return d != nil && d.told
}

func (s *Server) set(ctx context.Context, name, text string, as document) error {
	uri := URI(name)
	s.telling.Lock() // versions are told in order
	defer s.telling.Unlock()
	s.mu.Lock()
	d, open := s.documents[uri]
	if !open {
		d = &document{}
		s.documents[uri] = d
	}
	s.used++
	same := open && d.text == text
	d.used, d.text, d.told, d.onDisk = s.used, text, as.told, as.onDisk
	if !same {
		d.version++
		d.asOf = s.order
	}
	version, oldest := d.version, s.oldest()
	s.mu.Unlock()
	if oldest != "" {
		if err := s.closeDocument(ctx, oldest); err != nil {
			return err
		}
	}
	switch {
	case same:
		return nil
	case !open:
		return s.conn.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
			"uri": uri, "languageId": s.options.language(name), "version": version, "text": text,
		}})
	default:
		return s.conn.Notify(ctx, "textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": uri, "version": version},
			"contentChanges": []any{map[string]any{"text": text}},
		})
	}
}

// Open lists the files that the server was told, the one that was used longest ago first.
func (s *Server) Open() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := slices.SortedFunc(maps.Keys(s.documents), func(a, b string) int {
		return s.documents[a].used - s.documents[b].used
	})
	for i, uri := range uris {
		uris[i] = Path(uri)
	}
	return uris
}

// Forget tells the server that a file is no longer what it was told.
func (s *Server) Forget(ctx context.Context, name string) error {
	return s.closeDocument(ctx, URI(name))
}

// oldest is the document to close when there are too many. The caller has the lock.
func (s *Server) oldest() string {
	if len(s.documents) <= maxDocuments {
		return ""
	}
	oldest, used := "", s.used
	for uri, d := range s.documents {
		if d.used < used && !d.told {
			oldest, used = uri, d.used
		}
	}
	return oldest
}

func (s *Server) closeDocument(ctx context.Context, uri string) error {
	s.mu.Lock()
	delete(s.documents, uri)
	s.kept -= s.published[uri].size
	delete(s.published, uri)
	s.mu.Unlock()
	return s.conn.Notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// language is the name of a file's language.
func (o *Options) language(name string) string {
	ending := strings.ToLower(filepath.Ext(name))
	return cmp.Or(o.Languages[strings.ToLower(filepath.Base(name))], o.Languages[ending], strings.TrimPrefix(ending, "."))
}

// Change is a file that was made, changed or removed on the disk.
type Change struct {
	URI  string `json:"uri"`
	Type int    `json:"type"`
}

// The types of a change.
const (
	Created = 1
	Changed = 2
	Deleted = 3
)

// FilesChanged tells the server which files are other ones on the disk.
func (s *Server) FilesChanged(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	return s.conn.Notify(ctx, "workspace/didChangeWatchedFiles", map[string]any{"changes": changes})
}
