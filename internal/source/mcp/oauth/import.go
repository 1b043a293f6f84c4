package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/durable"
	"callgate/tool"
)

// Import brings the logins of earlier versions, one plain file for each in a
// folder, into a store. A file is removed when its login can be read from the
// store: a plain copy would make sealing useless. A login that the store has
// already stays, so an import that was interrupted can be repeated. A file that
// cannot be imported is reported in the log, and left.
func Import(ctx context.Context, s Store, folder string, log *slog.Logger) {
	files, err := os.ReadDir(folder)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			log.Error("the logins of an earlier version cannot be read: log in to the MCP servers again",
				"folder", folder, "error", err)
		}
		return
	}
	count := 0
	for _, f := range files {
		path := filepath.Join(folder, f.Name())
		if durable.IsPartial(f.Name()) { // the folder has no other writer any more
			_ = os.Remove(path)
			continue
		}
		key, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		if err := importLogin(ctx, s, key, path); err != nil {
			log.Error("a login of an earlier version was not imported, and stays in its file until it can be: "+
				"if the file is damaged, remove it and log in to the MCP server again", "file", path, "error", err)
			continue
		}
		count++
	}
	if count > 0 {
		log.Info("the logins to MCP servers are sealed in the database now; their plain files were removed", "logins", count)
	}
	_ = os.Remove(folder) // unless something is left in it
}

// importLogin moves the login of a file into the store, unless it has one.
func importLogin(ctx context.Context, s Store, key, path string) error {
	r, err := readRecord(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another kernel imported it
	}
	if err != nil {
		return err
	}
	stored, err := s.Load(ctx, key)
	if err == nil && stored == nil {
		if err = s.Save(ctx, key, r); tool.KindOf(err) == tool.Conflict {
			err = nil // another kernel stored it first
		}
		if err == nil {
			_, err = s.Load(ctx, key)
		}
	}
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readRecord reads a file of earlier versions. Its errors quote nothing of it.
func readRecord(path string) (*Record, error) {
	const most = 1 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if len(data) > most || json.Unmarshal(data, r) != nil || r.Access == "" && r.Refresh == "" {
		return nil, errors.New("it is damaged")
	}
	return r, nil
}
