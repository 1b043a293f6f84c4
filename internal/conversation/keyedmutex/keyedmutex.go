// Package keyedmutex has a mutex for each key. Law: who locks a key waits for who holds
// it, and for nobody else; a key that nobody holds takes no memory.
package keyedmutex

import "sync"

// Mutex is a mutex for each key. The zero value is ready.
type Mutex struct {
	mu   sync.Mutex
	held map[string]*entry
}

type entry struct {
	sync.Mutex
	users int
}

// Lock locks a key and returns the function that unlocks it.
func (k *Mutex) Lock(key string) (unlock func()) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[string]*entry{}
	}
	e := k.held[key]
	if e == nil {
		e = &entry{}
		k.held[key] = e
	}
	e.users++
	k.mu.Unlock()
	e.Lock()
	return func() {
		e.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if e.users--; e.users == 0 {
			delete(k.held, key)
		}
	}
}
