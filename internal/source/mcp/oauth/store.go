// Package oauth logs in to remote MCP servers and remembers the logins.
//
// A login is the OAuth 2.1 flow of the protocol: the server names its
// authorization server, that says where to log in, a person does so in a
// browser, and the code that comes back to a port of this machine is exchanged
// for tokens (PKCE, with a state that must return). The tokens are kept in a
// [Store], sealed. parties.go says to whom a login is bound.
//
// # Law
//
// An [Account] returns a token that is still valid, and renews it when it is
// not, one request at a time; a renewed token is stored before it is used,
// because the old one may be void from then on. The store is read again before
// a token counts as void: a login may have been made by another kernel.
//
// A refresh token may be good once. So of all kernels that share a store, one
// renews a token: it claims the record first, and the others wait until the
// claim ends. A claim ends with the renewal, or by its time when the kernel that
// made it died.
package oauth

import (
	"context"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"callgate/tool"
)

// Record is one login, and how to renew it.
type Record struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token,omitempty"`
	Expiry  time.Time `json:"expiry,omitzero"`

	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"`
	Parties      Parties          `json:"parties,omitzero"` // to whom it is bound; zero: of a version that did not keep them

	Claimed time.Time `json:"claimed,omitzero"` // until when a kernel may renew it; zero: none does
	Version int64     `json:"-"`                // of the stored record, as Load returned it; 0: there was none
}

// AnyVersion is the version of a record that replaces whatever is stored.
const AnyVersion = -1

// Store keeps logins by a key.
type Store interface {
	// Load returns a login, or nil when there is none.
	Load(ctx context.Context, key string) (*Record, error)
	// Save stores a login in the place of the one with its version, and sets its
	// new version. If another login is stored, that is a Conflict.
	Save(ctx context.Context, key string, r *Record) error
	// Delete removes a login, if there is one.
	Delete(ctx context.Context, key string) error
}

// NewMemory returns a store that keeps logins in memory.
func NewMemory() Store { return &memory{records: map[string]Record{}} }

type memory struct {
	mu      sync.Mutex
	records map[string]Record
	version int64
}

func (m *memory) Load(_ context.Context, key string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[key]
	if !ok {
		return nil, nil
	}
	return &r, nil
}

func (m *memory) Save(_ context.Context, key string, r *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Version != AnyVersion && r.Version != m.records[key].Version {
		return tool.Errorf(op, tool.Conflict, "the login was changed meanwhile")
	}
	m.version++
	r.Version = m.version
	m.records[key] = *r
	return nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, key)
	return nil
}
