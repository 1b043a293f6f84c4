package hooks

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/internal/hook"
	"callgate/tool"
)

// counters is the collection of how often the hooks of conversations fired.
const counters = "hooks"

// count is how often the hooks of one session fired. A call that is finished without its
// session is made in another one of the same ID, which counts with it.
type count struct {
	hook.Counter
	holders int // sessions; guarded by the engine

	mu      sync.Mutex
	kept    bool  // in a document
	version int64 // of it
}

// count returns the count of a session. That of a conversation goes on where it was.
func (e *Engine) count(ctx context.Context, id string, kept bool) *count {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts[id]
	if c == nil {
		c = &count{kept: kept}
		if d, err := e.opt.Documents.Get(ctx, counters, id); err == nil {
			c.kept, c.version = true, d.Version
			_ = json.Unmarshal(d.Data, &c.Counter) // what cannot be read begins again
		}
		e.counts[id] = c
	}
	c.holders++
	return c
}

// End says that the session has ended.
func (s *Set) End() {
	if s == nil {
		return
	}
	e := s.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.count.holders--; s.count.holders <= 0 && e.counts[s.id] == s.count {
		delete(e.counts, s.id)
	}
}

// counted counts a firing, and reports whether the hook may fire.
func (s *Set) counted(ctx context.Context, h *hook.Hook) bool {
	if !s.count.Take(h, time.Now()) {
		return false
	}
	if c := s.count; h.Counts() && c.kept {
		c.mu.Lock()
		defer c.mu.Unlock()
		data, err := json.Marshal(&c.Counter)
		if err == nil {
			err = s.engine.keep(ctx, s.id, c, data)
		}
		if err != nil { // it is lost at the next start
			s.engine.opt.Log.Warn("how often hooks fired is not kept", "session", s.id, "error", err)
		}
	}
	return true
}

func (e *Engine) keep(ctx context.Context, id string, c *count, data []byte) (err error) {
	version, err := e.opt.Documents.Write(context.WithoutCancel(ctx),
		document.Change{Collection: counters, Key: id, If: c.version, Data: data})
	if err == nil {
		c.version = version
	}
	return err
}

// Forget drops what is kept of a conversation's hooks.
func (e *Engine) Forget(ctx context.Context, conversation string) error {
	d, err := e.opt.Documents.Get(ctx, counters, conversation)
	if tool.KindOf(err) == tool.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = e.opt.Documents.Write(ctx, document.Change{Collection: counters, Key: conversation, If: d.Version})
	return err
}
