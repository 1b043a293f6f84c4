package secret

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/tool"

	"github.com/zalando/go-keyring"
)

// store is the encrypted file.
//
// # Law
//
// A file is read whole and written whole. A writer holds the lock, reads what is
// there now, changes it, and replaces the file. So two writers at once both
// succeed, and a crash or a full disk at any moment leaves the old file or the
// new one.
//
// A key is made once, with the first file, and is durable before anything is
// sealed with it. It is looked for where the file says it is and nowhere else,
// and it is never replaced: a store whose key is lost is reported, not
// overwritten.
type store struct {
	path    string // the sealed file
	keyPath string
	lock    string
	old     string   // the plain file of earlier versions
	ring    keyStore // nil: none

	mu  sync.Mutex
	key *key // as last used
}

// newStore names the files of a store: they differ in their suffixes.
func newStore(path string, r keyStore) *store {
	base := strings.TrimSuffix(path, filepath.Ext(path))
	return &store{path: base + ".box", keyPath: base + ".key", lock: base + ".lock", old: base + ".json", ring: r}
}

// storeSnapshot is the store as it was read once. The zero value is a store that
// does not exist.
type storeSnapshot struct {
	contents
	stamp *fileStamp // nil: there was no file
	key   key
	where string // the key's place
}

// load reads the store.
func (s *store) load(op string) (r storeSnapshot, err error) {
	r.Secrets = map[string]entry{}
	data, info, err := readOwn(op, s.path, "the secret store")
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	file, err := parseSealed(data, sealMagic)
	if err != nil {
		return r, s.damaged(op, err)
	}
	if r.key, err = s.findKey(op, file); err != nil {
		return r, err
	}
	if r.contents, err = file.open(r.key); err != nil {
		return r, s.damaged(op, err)
	}
	r.stamp, r.where = newStamp(info), file.where
	s.keep(r.key)
	return r, nil
}

func (s *store) damaged(op string, err error) error {
	return tool.Errorf(op, tool.Invalid, "the secret store %s cannot be opened: %w", s.path, err).
		WithHint("restore a copy of it; without one, move it away and set its secrets again with: callgate secrets set NAME")
}

// update changes what the store holds, and returns it as it is then. Nothing
// is written when change fails.
func (s *store) update(op string, change func(map[string]entry) error) (r storeSnapshot, err error) {
	err = locked(op, s.lock, func() error {
		if r, err = s.load(op); err != nil {
			return err
		}
		if err := change(r.Secrets); err != nil {
			return err
		}
		if len(r.Secrets) > maxSecrets {
			return tool.Errorf(op, tool.Invalid, "the store would hold %d secrets, and %d are the most",
				len(r.Secrets), maxSecrets)
		}
		if r.stamp == nil {
			if r.key, r.where, err = s.firstKey(op); err != nil {
				return err
			}
		}
		data, err := seal(r.contents, r.key, r.where)
		if err == nil {
			err = replace(s.path, data)
		}
		if err != nil {
			return writeError(op, err)
		}
		info, err := os.Stat(s.path)
		if err != nil {
			return readError(op, "the secret store", err)
		}
		r.stamp = newStamp(info)
		s.keep(r.key)
		return nil
	})
	return r, err
}

func (s *store) keep(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = &k
}

// lastKey returns the key as last used, if it has that id.
func (s *store) lastKey(id string) (key, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == nil || s.key.id() != id {
		return key{}, false
	}
	return *s.key, true
}

// findKey returns the key that the store is sealed with.
func (s *store) findKey(op string, f sealed) (key, error) {
	k, err := s.keyFor(op, f)
	if err == nil && k.id() != f.id {
		err = tool.Errorf(op, tool.Invalid, "the secret store %s was sealed with another key than the one in its %s",
			s.path, f.where).
			WithHint("restore the key that belongs to it, or a copy of both; " +
				"without one, move the store away and set its secrets again")
	}
	return k, err
}

// keyFor returns the key from where sealed data says it is. In a file it may be
// another one.
func (s *store) keyFor(op string, f sealed) (key, error) {
	if k, ok := s.lastKey(f.id); ok {
		return k, nil
	}
	if f.where == inKeyring {
		return s.ringKey(op, f.id)
	}
	return s.fileKey(op)
}

func (s *store) fileKey(op string) (key, error) {
	data, _, err := readOwn(op, s.keyPath, "the key of the secret store")
	if errors.Is(err, fs.ErrNotExist) {
		return key{}, tool.Errorf(op, tool.Invalid, "the key of the secret store, %s, is gone", s.keyPath).
			WithHint("restore a copy of it; without one, move %s away and set its secrets again with: callgate secrets set NAME",
				s.path)
	}
	if err != nil {
		return key{}, err
	}
	k, err := parseKey(string(data))
	if err != nil {
		return k, tool.Errorf(op, tool.Invalid, "the key of the secret store, %s, cannot be used: %w", s.keyPath, err).
			WithHint("restore a copy of it; without one, move it and %s away and set the secrets again", s.path)
	}
	return k, nil
}

func (s *store) ringKey(op, id string) (key, error) {
	locked := func(why error) error {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Err: errors.Join(errLocked, why),
			Message: "the secret store " + s.path + " is locked: its key is in the keyring of your login",
			Hint:    "unlock the keyring and try again, or run the kernel where you are logged in"}
	}
	if s.ring == nil {
		return key{}, locked(errors.New("there is none here"))
	}
	text, err := s.ring.Get(ringKeys, id)
	if errors.Is(err, keyring.ErrNotFound) {
		return key{}, tool.Errorf(op, tool.Invalid, "the key of the secret store %s (%s) is not in the keyring any more",
			s.path, id).
			WithHint("restore the keyring's copy; without one, move the store away and set its secrets again")
	}
	if err != nil {
		return key{}, locked(err)
	}
	k, err := parseKey(text)
	if err != nil {
		return k, tool.Errorf(op, tool.Invalid, "the key %s in the keyring cannot be used: %w", id, err)
	}
	return k, nil
}

// firstKey returns the key of a new store: the one in a key file that an earlier
// store left, else a new one, kept in the keyring if that takes it. The lock is
// held.
func (s *store) firstKey(op string) (key, string, error) {
	if _, err := os.Lstat(s.keyPath); err == nil {
		k, err := s.fileKey(op)
		return k, inFile, err
	}
	k := newKey()
	if s.ring != nil && s.ring.Set(ringKeys, k.id(), k.text()) == nil {
		if text, err := s.ring.Get(ringKeys, k.id()); err == nil && text == k.text() {
			return k, inKeyring, nil
		}
	}
	if err := replace(s.keyPath, []byte(k.text()+"\n")); err != nil {
		return k, "", writeError(op, err)
	}
	return k, inFile, nil
}

// fileStamp distinguishes states of the file without reading it.
type fileStamp struct {
	info  fs.FileInfo
	fresh bool // it was so young that a later state could look the same
}

// stampSettle is the coarsest clock of a file system.
const stampSettle = 2 * time.Second

func newStamp(info fs.FileInfo) *fileStamp {
	return &fileStamp{info, time.Since(info.ModTime()) < stampSettle}
}

// changed reports whether the file may differ from that of a stamp.
func (s *store) changed(st *fileStamp) bool {
	info, err := os.Stat(s.path)
	if err != nil {
		return st != nil || !errors.Is(err, fs.ErrNotExist)
	}
	return st == nil || st.fresh || !os.SameFile(info, st.info) || info.Size() != st.info.Size() ||
		!info.ModTime().Equal(st.info.ModTime()) || info.Mode() != st.info.Mode()
}
