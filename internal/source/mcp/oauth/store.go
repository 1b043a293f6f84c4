// Package oauth logs in to remote MCP servers and remembers the logins.
//
// A login is the OAuth 2.1 flow of the protocol: the server names its
// authorization server, that says where to log in, a person does so in a
// browser, and the code that comes back to a port of this machine is exchanged
// for tokens (PKCE, with a state that must return). The tokens are kept in a
// file that only its owner can read.
//
// # Law
//
// An [Account] returns a token that is still valid, and renews it when it is
// not, one request at a time; a renewed token is on disk before it is used,
// because the old one may be void from then on. The file is read again before a
// token counts as void: a login may have been made in another process.
package oauth

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"callgate/internal/durable"
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
}

// Store keeps logins in a folder, each in a file of its own; without a folder
// it keeps them in memory.
type Store struct {
	Dir string

	mu     sync.Mutex
	memory map[string]*Record
}

func (s *Store) path(key string) string { return filepath.Join(s.Dir, key+".json") }

// Load returns a login, or nil when there is none.
func (s *Store) Load(key string) (*Record, error) {
	if s.Dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.memory[key], nil
	}
	data, err := os.ReadFile(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &Record{}
	if err == nil && json.Unmarshal(data, r) != nil {
		err = errors.New("it is damaged") // the parser's error could quote a token
	}
	if err != nil {
		return nil, tool.Errorf("mcp.login", tool.Unavailable, "the stored login %s cannot be read: %v", s.path(key), err).
			WithHint("log in again, or remove the file")
	}
	return r, nil
}

// Save stores a login, whole or not at all, in a file that only its owner can
// read.
func (s *Store) Save(key string, r *Record) error {
	if s.Dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.memory == nil {
			s.memory = map[string]*Record{}
		}
		s.memory[key] = r
		return nil
	}
	if err := s.write(key, r); err != nil {
		return &tool.Error{Op: "mcp.login", Kind: tool.Unavailable, Message: "the login cannot be stored", Err: err}
	}
	return nil
}

func (s *Store) write(key string, r *Record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	return durable.Write(s.path(key), data, 0o600)
}

// Delete removes a login.
func (s *Store) Delete(key string) error {
	s.mu.Lock()
	delete(s.memory, key)
	s.mu.Unlock()
	if s.Dir == "" {
		return nil
	}
	if err := os.Remove(s.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &tool.Error{Op: "mcp.login", Kind: tool.Unavailable, Message: "the login cannot be removed", Err: err}
	}
	return nil
}
