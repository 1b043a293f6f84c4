package console

import (
	"context"
	"sync"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
)

// The bounds of the sessions that are kept open for pages.
const (
	maxSessions = 64
	sessionAge  = 2 * time.Minute // an older one is opened anew, under the rules of then
)

// sessions keeps the sessions of people open between pages: a search as one types makes no
// new one for each letter. A session is found by its client, so nobody gets another's.
type sessions struct {
	mu    sync.Mutex
	byKey map[sessionKey]*keptSession
}

type sessionKey struct {
	client    *client.Client
	workspace string
	appFile   string // "": that of the folder
}

type keptSession struct {
	*client.Session
	opened time.Time
}

func newSessions() *sessions { return &sessions{byKey: map[sessionKey]*keptSession{}} }

// open returns a session of a client in a folder.
func (s *sessions) open(
	ctx context.Context, c *client.Client, workspace, appFile string, now time.Time,
) (*client.Session, error) {
	key := sessionKey{c, workspace, appFile}
	s.mu.Lock()
	kept := s.byKey[key]
	s.mu.Unlock()
	if kept != nil && now.Sub(kept.opened) < sessionAge {
		return kept.Session, nil
	}
	made, err := c.OpenSession(ctx, protocol.OpenSession{Workspace: workspace, AppFile: appFile, Where: true})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	gone := []*keptSession{s.byKey[key]}
	s.byKey[key] = &keptSession{made, now}
	for k, old := range s.byKey {
		if k != key && (now.Sub(old.opened) >= sessionAge || len(s.byKey) > maxSessions) {
			gone = append(gone, old)
			delete(s.byKey, k)
		}
	}
	s.mu.Unlock()
	closeAll(gone)
	return made, nil
}

func (s *sessions) close() {
	s.mu.Lock()
	var all []*keptSession
	for key, kept := range s.byKey {
		all = append(all, kept)
		delete(s.byKey, key)
	}
	s.mu.Unlock()
	closeAll(all)
}

// closeAll ends sessions. A page may still use one: its next request opens it again.
func closeAll(list []*keptSession) {
	for _, kept := range list {
		if kept != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			_ = kept.Close(ctx) // a kernel that is gone has closed it
			cancel()
		}
	}
}

// forget has the next page open a session anew: what the folder's app may do has changed.
func (s *sessions) forget(c *client.Client, workspace string) {
	key := sessionKey{c, workspace, ""}
	s.mu.Lock()
	old := s.byKey[key]
	delete(s.byKey, key)
	s.mu.Unlock()
	closeAll([]*keptSession{old})
}
