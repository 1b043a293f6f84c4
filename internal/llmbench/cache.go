package llmbench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/durable"
	"callgate/tool"
)

// Cache keeps what models answered, each answer in a file under the hash of what decides it.
type Cache struct {
	dir   string
	fresh bool
}

// OpenCache opens the cache in a folder, which is made. A fresh one finds nothing of earlier runs, and
// replaces it.
func OpenCache(dir string, fresh bool) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &tool.Error{Op: "llmbench.OpenCache", Kind: tool.Failed, Err: err,
			Message: "the folder " + dir + " for answers cannot be made: " + err.Error()}
	}
	return &Cache{dir: dir, fresh: fresh}, nil
}

// key is what decides an answer.
type key struct {
	Definition string          `json:"definition"`
	Tool       string          `json:"tool"`
	Input      json.RawMessage `json:"input"`
	Model      string          `json:"model"`
	Repeat     int             `json:"repeat"`
}

// kept is an answer.
type kept struct {
	Result     json.RawMessage `json:"result,omitempty"` // none: there was no result
	Outcome    string          `json:"outcome,omitempty"`
	Error      string          `json:"error,omitempty"`
	Attempts   []tool.Attempt  `json:"attempts,omitempty"`
	At         time.Time       `json:"at"`
	Unmeasured string          `json:"-"` // why it tells nothing of the model
}

// version changes when what is kept does.
const version = "1"

func (c *Cache) path(k key) string {
	raw, _ := json.Marshal(k) // it holds what was read from JSON
	sum := sha256.Sum256(append([]byte(version), raw...))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(c.dir, name[:2], name+".json")
}

func (c *Cache) get(k key) (kept, bool) {
	var a kept
	if c.fresh {
		return a, false
	}
	data, err := os.ReadFile(c.path(k))
	return a, err == nil && json.Unmarshal(data, &a) == nil
}

// put keeps an answer. One that cannot be written is asked for again next time.
func (c *Cache) put(k key, a kept) {
	data, err := json.Marshal(a)
	if err != nil {
		return
	}
	path := c.path(k)
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = durable.Write(path, data, 0o600)
	}
}

// cost is what all requests of an answer cost, in US dollars, and whether it is known.
func (k kept) cost() (dollars float64, known bool) {
	known = true
	for _, a := range k.Attempts {
		dollars += float64(a.Cost) / 1e6
		known = known && (a.Priced || a.Input+a.Output == 0)
	}
	return dollars, known
}

// latency is how long the requests of an answer took.
func (k kept) latency() (took time.Duration) {
	for _, a := range k.Attempts {
		took += a.Took
	}
	return took
}

// tokens are those of all requests of an answer.
func (k kept) tokens() (in, out int) {
	for _, a := range k.Attempts {
		in, out = in+a.Input, out+a.Output
	}
	return in, out
}
