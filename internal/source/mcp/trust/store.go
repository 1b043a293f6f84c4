package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"callgate/internal/durable"
	"callgate/internal/source/mcp/trust/definition"
	"callgate/tool"
)

// Store keeps what was accepted, in one JSON file.
//
// # Law
//
// The file is always whole: it is replaced by a rename, after its bytes are on
// disk. A writer holds an operating-system lock on the file beside it (the same
// name with .lock) from before it reads until after the rename, so writers in
// any number of processes follow one another and none loses what another wrote.
// Readers take no lock. Nothing is remembered between two calls, so every answer
// comes from the file as it is now.
//
// A file that a Store cannot have written (cut, changed, of a later format) is
// an error of every call until a human looks at it. It never counts as empty:
// then everything would be trusted on first use again.
type Store struct {
	path string
	mu   sync.Mutex // writers of this process wait here and not at the file
}

// Open returns the store in a file. A file that does not exist is made by the
// first change; a damaged file is an error.
func Open(path string) (*Store, error) {
	s := &Store{path: path}
	if _, _, err := s.load(); err != nil {
		return nil, err
	}
	return s, nil
}

const (
	format  = 1
	maxFile = 128 << 20 // bytes
	// lockTimeout is how long a writer waits for another process. A write takes
	// milliseconds, so a process that holds the lock for this long is stuck.
	lockTimeout = 10 * time.Second
)

var errLocked = errors.New("locked by another process")

// pinFile is the content of the file, by server.
type pinFile map[string]*server

type server struct {
	Launch *launch            `json:"launch,omitempty"`
	Seen   time.Time          `json:"seen,omitzero"` // when it first listed definitions
	Tools  map[string]*record `json:"tools,omitempty"`
}

// record is the decisions on one tool of a server.
type record struct {
	Accepted *Pin      `json:"accepted,omitempty"`
	Waiting  *waiting  `json:"waiting,omitempty"`
	Rejected []refusal `json:"rejected,omitempty"` // the newest last
	Gone     time.Time `json:"gone,omitzero"`      // since when an accepted tool is missing
}

// waiting is a definition that is held back.
type waiting struct {
	Definition Definition `json:"definition"`
	Hash       Hash       `json:"hash"`
	Reason     Reason     `json:"reason"`
	Findings   []Finding  `json:"findings,omitempty"`
	Since      time.Time  `json:"since"`
}

// refusal is a definition that a human rejected.
type refusal struct {
	Hash Hash `json:"hash"`
	Stamp
}

// envelope is the whole file. The sum is of the servers' compact JSON, so that
// even one changed letter in a server's key is noticed.
type envelope struct {
	Format  int             `json:"format"`
	Sum     Hash            `json:"sum"`
	Servers json.RawMessage `json:"servers"`
}

// load reads the file, and returns the JSON of the servers too. Without a file
// there are no servers.
func (s *Store) load() (pins pinFile, servers []byte, err error) {
	const op = "trust.load"
	data, err := readFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return pinFile{}, nil, nil
	}
	if err != nil {
		return nil, nil, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: "what was accepted of MCP servers cannot be read from " + s.path,
			Hint:    "let its owner alone read and write it (mode 0600)"}
	}
	pins, servers, err = decode(data)
	if err != nil {
		return nil, nil, &tool.Error{Op: op, Kind: tool.Invalid, Err: err,
			Message: "the file " + s.path + " of what was accepted of MCP servers is damaged",
			Hint:    "restore it from a copy; or move it away, and every server and its tools will be asked about anew"}
	}
	return pins, servers, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a plain file")
	}
	if err := checkPrivate(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return data, err
}

// decode reads only what encode wrote.
func decode(data []byte) (pins pinFile, servers []byte, err error) {
	var e envelope
	if err := strict(data, &e); err != nil {
		return nil, nil, err
	}
	if e.Format != format {
		return nil, nil, fmt.Errorf("it has format %d, and this program knows %d", e.Format, format)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, e.Servers); err != nil {
		return nil, nil, err
	}
	if sha256.Sum256(compact.Bytes()) != e.Sum {
		return nil, nil, errors.New("its content does not match its sum")
	}
	if err := strict(compact.Bytes(), &pins); err != nil {
		return nil, nil, err
	}
	servers, err = json.Marshal(pins)
	if err != nil {
		return nil, nil, err
	}
	if pins == nil || !bytes.Equal(servers, compact.Bytes()) {
		return nil, nil, errors.New("it is not as it would be written")
	}
	return pins, servers, pins.check()
}

// strict decodes one JSON value with no fields that v does not have.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows its end")
	}
	return nil
}

// check compares the definitions with their hashes: a definition that is shown
// as accepted is the one that was accepted.
func (p pinFile) check() error {
	for key, sv := range p {
		if sv == nil || key == "" {
			return fmt.Errorf("the server %q is empty or has no key", key)
		}
		if sv.Launch != nil && definition.HashWords(sv.Launch.Line) != sv.Launch.Hash {
			return fmt.Errorf("the command line of %q does not match its hash", key)
		}
		for name, r := range sv.Tools {
			switch {
			case r == nil:
				return fmt.Errorf("the tool %q of %q is empty", name, key)
			case r.Accepted != nil && !matches(r.Accepted.Definition, name, r.Accepted.Hash),
				r.Waiting != nil && !matches(r.Waiting.Definition, name, r.Waiting.Hash):
				return fmt.Errorf("the definition of the tool %q of %q does not match its hash", name, key)
			}
		}
	}
	return nil
}

func matches(d Definition, name string, h Hash) bool { return d.Name == name && d.Hash() == h }

// encode writes the file around the JSON of the servers. The same servers give
// the same bytes.
func encode(servers []byte) ([]byte, error) {
	data, err := json.MarshalIndent(envelope{format, sha256.Sum256(servers), servers}, "", " ")
	return append(data, '\n'), err
}

// update applies a change to the content and writes the file. Nothing is written
// when the change fails, or changes nothing.
func (s *Store) update(op string, change func(pinFile) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock, err := s.lock(op)
	if err != nil {
		return err
	}
	defer lock.Close()
	pins, before, err := s.load()
	if err != nil {
		return err
	}
	if err := change(pins); err != nil {
		return err
	}
	if before == nil && len(pins) == 0 {
		return nil
	}
	servers, err := json.Marshal(pins)
	if err == nil && bytes.Equal(before, servers) {
		return nil
	}
	var after []byte
	if err == nil {
		after, err = encode(servers)
	}
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Internal, Message: "what was accepted cannot be written as JSON", Err: err}
	}
	if len(after) > maxFile {
		return tool.Errorf(op, tool.Limited, "%s would grow beyond %d MiB", s.path, maxFile>>20).
			WithHint("move it away to start again, and connect fewer or smaller servers")
	}
	if err := replace(s.path, after); err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "what was accepted cannot be kept in " + s.path,
			Err: err, Hint: "see that there is space and that the folder can be written"}
	}
	return nil
}

// checkKey reports a key that would change in the file: its server would be seen
// for the first time every time.
func checkKey(op, key string) error {
	if key == "" || !utf8.ValidString(key) {
		return tool.Errorf(op, tool.Invalid, "%q cannot be the key of a server", tool.Truncate(key))
	}
	return nil
}

// lock waits until no other process writes.
func (s *Store) lock(op string) (*os.File, error) {
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(3 * time.Millisecond) {
		f, err := lockFile(s.path + ".lock")
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, errLocked):
			return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
				Message: "what was accepted of MCP servers cannot be locked",
				Hint:    "see that the state directory can be written"}
		case time.Now().After(deadline):
			return nil, tool.Errorf(op, tool.Busy, "another process has held %s.lock for %v", s.path, lockTimeout).
				WithHint("end it, and try again")
		}
	}
}

// replace replaces a file. Only the holder of the lock calls it, so what a crash
// left of an earlier write is nobody's.
func replace(path string, data []byte) error {
	if err := durable.RemovePartials(path, 0); err != nil {
		return err
	}
	return durable.Write(path, data, 0o600)
}
