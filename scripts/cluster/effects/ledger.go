// Package effects is what the calls of a cluster change: accounts on a server outside of it. A call reads an account,
// works for a while, and writes what it read plus one: if two calls were at it at once, one of them would be lost.
package effects

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Write is one attempt to write an account.
type Write struct {
	Account string    `json:"account"`
	Call    string    `json:"call"`
	Key     string    `json:"key"` // what the client called the call
	Node    string    `json:"node"`
	Fence   uint64    `json:"fence"` // grows with each time that somebody is given the account
	Value   int       `json:"value"`
	Refused bool      `json:"refused,omitempty"` // another with a greater fence has been at the account
	At      time.Time `json:"at"`
}

// Ledger is the server. It is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex
	accounts map[string]*account
	writes   []Write
}

type account struct {
	value int
	fence uint64
}

// NewLedger makes a server on which every account is 0.
func NewLedger() *Ledger { return &Ledger{accounts: map[string]*account{}} }

// Writes returns all attempts, in order.
func (l *Ledger) Writes() []Write {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Write(nil), l.writes...)
}

// ServeHTTP reads an account by PUT, and writes one by POST. Whoever reads with a fence keeps out those with lesser
// ones.
func (l *Ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in Write
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	value, ok := l.do(in, r.Method == http.MethodPost)
	if !ok {
		http.Error(w, "another was given the account since", http.StatusConflict)
		return
	}
	_ = json.NewEncoder(w).Encode(value) // a client that left is not answered
}

func (l *Ledger) do(in Write, writes bool) (value int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[in.Account]
	if a == nil {
		a = &account{}
		l.accounts[in.Account] = a
	}
	in.At, in.Refused = time.Now(), in.Fence < a.fence
	if writes {
		l.writes = append(l.writes, in)
	}
	if in.Refused {
		return 0, false
	}
	a.fence = in.Fence
	if writes {
		a.value = in.Value
	}
	return a.value, true
}
