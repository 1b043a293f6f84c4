package mcpserver

import (
	"slices"
	"sync"
)

// maxArtifacts is how many artifacts a client may read again.
const maxArtifacts = 256

// artifacts are the artifacts that a client's results named. The client may read
// these and no others. The zero value is empty.
type artifacts struct {
	mu   sync.Mutex
	refs []string // the oldest first
}

// allow adds an artifact. The oldest one makes room for it.
func (a *artifacts) allow(ref string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.Contains(a.refs, ref) {
		return
	}
	if len(a.refs) >= maxArtifacts {
		a.refs = slices.Delete(a.refs, 0, 1)
	}
	a.refs = append(a.refs, ref)
}

func (a *artifacts) list() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.refs)
}
