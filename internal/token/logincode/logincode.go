// Package logincode makes the codes that let a person in over the network, each once and soon. They end with the
// process.
package logincode

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

const (
	lasts   = 10 * time.Minute // how long a code lets somebody in
	maxOpen = 20
)

// Codes are those that nobody has used yet. The zero value has none.
type Codes struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]offer
}

type offer struct {
	by  string
	end time.Time
}

// Offer returns a code, for somebody by their name.
func (l *Codes) Offer(by string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for sum, o := range l.open {
		if now.After(o.end) {
			delete(l.open, sum)
		}
	}
	if len(l.open) >= maxOpen {
		return "", tool.Errorf("kernel.OfferLogin", tool.Limited, "%d links are open that nobody has used", len(l.open)).
			WithHint("use one of them, or wait: each ends after %v", lasts)
	}
	if l.open == nil {
		l.open = map[[sha256.Size]byte]offer{}
	}
	code := strings.ToLower(rand.Text())
	l.open[sha256.Sum256([]byte(code))] = offer{by, now.Add(lasts)}
	return code, nil
}

// Take returns for whom a code was made, and ends it.
func (l *Codes) Take(code string) (by string, ok bool) {
	sum := sha256.Sum256([]byte(code)) // what is looked up is a hash: its time tells nothing of the code
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.open[sum]
	delete(l.open, sum)
	return o.by, ok && time.Now().Before(o.end)
}
