package hook

import (
	"encoding/json"
	"sync"
	"time"
)

// Counter counts how often the hooks of one conversation fired. The zero value has
// counted nothing. It is safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	fired map[string]fired // by the key of the hook
}

type fired struct {
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// Take counts a firing, or reports that the hook may not fire: too little time has
// passed since it did, or it did often enough.
func (c *Counter) Take(h *Hook, now time.Time) bool {
	if h.Cooldown == 0 && h.MaxFires == 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.fired[h.Key()]
	since := now.Sub(was.Last)
	if h.MaxFires > 0 && was.Count >= h.MaxFires || was.Count > 0 && since >= 0 && since < h.Cooldown {
		return false
	}
	if c.fired == nil {
		c.fired = map[string]fired{}
	}
	c.fired[h.Key()] = fired{was.Count + 1, now}
	return true
}

// Counts reports whether the counter has to be kept for a hook.
func (h *Hook) Counts() bool { return h.Cooldown > 0 || h.MaxFires > 0 }

// MarshalJSON writes what was counted.
func (c *Counter) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return json.Marshal(c.fired)
}

// UnmarshalJSON takes what was counted before.
func (c *Counter) UnmarshalJSON(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return json.Unmarshal(data, &c.fired)
}
