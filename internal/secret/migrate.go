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

// migratePlain brings the plain file of earlier versions into the store, once: it
// goes when its values are durable in the store, and not before. A value that
// was set in the store after the file was last written stays.
func (s *store) migratePlain(op string) error {
	plain, info, err := s.readPlain(op)
	if info == nil || err != nil {
		return err
	}
	_, err = s.update(op, func(all map[string]entry) error {
		for name, value := range plain {
			if err := check(op, name, []byte(value)); err != nil {
				return tool.Errorf(op, tool.Invalid, "%s cannot be taken over: %w", s.old, err)
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
		return nil // somebody else has taken it over too
	case err == nil && (now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime())):
		return nil // written since: the next start takes that over
	}
	if err := os.Remove(s.old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: "the values of " + s.old + " are in the secret store now, but the plain file cannot be removed",
			Hint:    "remove it yourself"}
	}
	_ = durable.SyncFolder(filepath.Dir(s.old)) // were it to come back, it would be taken over again
	return nil
}

// readPlain reads the plain file: no info says that there is none.
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
		return nil, nil, tool.Errorf(op, tool.Invalid, "the secrets file %s is not a JSON object of names and text values", s.old).
			WithHint("mend it, or move it away; it is taken into the secret store and removed when it can be read")
	}
	return plain, info, nil
}
