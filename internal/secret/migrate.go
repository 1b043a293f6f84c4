package secret

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/internal/durable"
	"callgate/tool"
)

// migratePlain brings the plain file of earlier versions into the store, once.
// The file is removed when its values are durable in the store. A value that was
// set in the store after the file was last written stays.
func (s *store) migratePlain(op string) error {
	plain, info, err := s.readPlain(op)
	if info == nil || err != nil {
		return err
	}
	_, err = s.update(op, func(all map[string]entry) error {
		for name, value := range plain {
			if err := check(op, name, []byte(value)); err != nil {
				return tool.Errorf(op, tool.Invalid, "%s cannot be migrated into the secret store: %w", s.old, err)
			}
			if there, ok := all[name]; !ok || there.Set.Before(info.ModTime()) {
				all[name] = entry{[]byte(value), info.ModTime()}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	now, err := os.Stat(s.old)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // another process has migrated it too
	case err == nil && (now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime())):
		return nil // written since: the next start migrates it
	}
	if err := os.Remove(s.old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: "the values of " + s.old + " are in the secret store now, but the plain file cannot be removed",
			Hint:    "remove it yourself"}
	}
	_ = durable.SyncFolder(filepath.Dir(s.old)) // if it comes back, it is migrated again
	return nil
}

// readPlain reads the plain file; the info is nil when there is none.
func (s *store) readPlain(op string) (map[string]string, fs.FileInfo, error) {
	data, info, err := readOwn(op, s.old, "the secrets file")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	plain := map[string]string{}
	if json.Unmarshal(data, &plain) != nil {
		// The parser's words may quote the file: they stay out of the error.
		return nil, nil, tool.Errorf(op, tool.Invalid, "the secrets file %s is not a JSON object of names and text values",
			s.old).
			WithHint("repair it, or move it away; once it can be read it is moved into the secret store")
	}
	return plain, info, nil
}
