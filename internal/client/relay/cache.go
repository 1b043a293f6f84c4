package relay

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/durable"
)

// Cache is what kernels answered clients before, in files. With it a client is
// introduced and has its tools at once, whatever the kernel is doing.
//
// An answer is found again only for a client of the same name and protocol, that is
// given the same, under app files with the same content: no list shows what a rule has
// hidden since. A list is names only; the kernel judges each call.
type Cache struct {
	Dir string
	// Key is different for clients that are given something else; it reads the app files.
	Key func() string
	// After is how long the kernel has to answer itself. Default one second.
	After time.Duration
}

const (
	cacheAfter = time.Second
	maxCached  = 4 << 20 // bytes of one answer
	maxClients = 64      // files
)

// cached is what is kept for a client.
type cached struct {
	Initialize json.RawMessage `json:"initialize"`
	Tools      json.RawMessage `json:"tools,omitempty"`
}

// known is what the relay knows of its client from the cache.
type known struct {
	key, path string
	was       cached // from the file
	now       cached // from the kernel
}

// open finds what is known of a client, by its introduction.
func (c *Cache) open(l *line) *known {
	var m struct {
		Params struct {
			ProtocolVersion string
			ClientInfo      struct{ Name string }
		}
	}
	if json.Unmarshal(l.bytes(), &m) != nil {
		return nil
	}
	k := &known{key: c.Key()}
	name, _ := json.Marshal([]string{k.key, m.Params.ProtocolVersion, m.Params.ClientInfo.Name})
	sum := sha256.Sum256(name)
	k.path = filepath.Join(c.Dir, hex.EncodeToString(sum[:16])+".json")
	if info, err := os.Stat(k.path); err == nil && info.Size() < 2*maxCached {
		if data, err := os.ReadFile(k.path); err == nil && json.Unmarshal(data, &k.was) != nil {
			k.was = cached{}
		}
	}
	return k
}

// store keeps what the kernel answered, unless the app files have changed meanwhile. A
// failure costs only time at the next start.
func (c *Cache) store(k *known) {
	if len(k.now.Initialize)+len(k.now.Tools) > maxCached || bytes.Equal(k.now.Tools, k.was.Tools) &&
		bytes.Equal(k.now.Initialize, k.was.Initialize) || c.Key() != k.key {
		return
	}
	data, err := json.Marshal(k.now)
	if err != nil || os.MkdirAll(c.Dir, 0o700) != nil || durable.Write(k.path, data, 0o600) != nil {
		return
	}
	k.was = k.now
	c.prune()
}

// prune removes the files that were written longest ago.
func (c *Cache) prune() {
	entries, err := os.ReadDir(c.Dir)
	if err != nil || len(entries) <= maxClients {
		return
	}
	age := func(e fs.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(age(a), age(b)) })
	for _, e := range entries[:len(entries)-maxClients] {
		_ = os.Remove(filepath.Join(c.Dir, e.Name()))
	}
}

// answerFromCache has a request answered from the cache, if the kernel does not answer
// it soon.
func (r *relay) answerFromCache(of *request, l *line) {
	if r.Cache == nil || of.method != initialize && of.method != toolsList {
		return
	}
	var opened *known
	if of.method == initialize {
		opened = r.Cache.open(l)
	}
	r.mu.Lock()
	if of.method == initialize {
		r.known = opened
	}
	var was cached // an answer of the kernel may replace it at any time
	var key string
	if r.known != nil {
		was, key = r.known.was, r.known.key
	}
	r.mu.Unlock()
	result := was.Tools
	if of.method == initialize {
		result = was.Initialize
	}
	if len(result) > 0 {
		time.AfterFunc(cmp.Or(r.Cache.After, cacheAfter), func() {
			if r.Cache.Key() == key { // a rule may have hidden something since
				r.fromCache(of, result)
			}
		})
	}
}

// fromCache answers a request that has no answer yet. The kernel's own is compared when
// it comes.
func (r *relay) fromCache(of *request, result json.RawMessage) {
	r.mu.Lock()
	if r.table.open[of.n] != of || of.cancelled || of.own {
		r.mu.Unlock()
		return
	}
	delete(r.table.byKey, keyOf(of.id))
	of.own = true
	if of.method == initialize {
		r.client.answered = true
	}
	of.answer = func(l *line) {
		r.learnAnswer(of, l)
		if now := resultOf(l); of.method == toolsList && now != nil && !bytes.Equal(now, result) {
			r.say(encode(map[string]any{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
		}
	}
	r.mu.Unlock()
	r.say(encode(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(of.id), "result": result}))
	r.mu.Lock()
	r.checkEmpty()
	r.mu.Unlock()
}

// learnAnswer keeps an answer of the kernel in the cache.
func (r *relay) learnAnswer(of *request, l *line) {
	if r.Cache == nil || of.method != initialize && of.method != toolsList {
		return
	}
	result := resultOf(l)
	r.mu.Lock()
	known := r.known
	if known == nil || result == nil {
		r.mu.Unlock()
		return
	}
	if of.method == initialize {
		known.now = cached{Initialize: result}
		r.mu.Unlock()
		return
	}
	known.now.Tools = result
	copied := *known
	known.was = known.now // which it need not keep twice
	r.mu.Unlock()
	if copied.now.Initialize != nil {
		go r.Cache.store(&copied) // the client does not wait for a disk
	}
}

// resultOf is the result in an answer; nil if it is an error.
func resultOf(l *line) json.RawMessage {
	var m struct{ Result json.RawMessage }
	if l.size > maxCached || json.Unmarshal(l.bytes(), &m) != nil {
		return nil
	}
	return m.Result
}
