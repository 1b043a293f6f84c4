package oauth

import (
	"context"
	"encoding/json"
	"errors"

	"callgate/internal/document"
	"callgate/tool"
)

// Sealer encrypts logins. A name belongs to each of them, and opens no other.
type Sealer interface {
	Seal(name string, plain []byte) ([]byte, error)
	Unseal(name string, sealed []byte) ([]byte, error)
}

// NewSealed returns a store that keeps each login in a document, sealed.
func NewSealed(docs document.Store, sealer Sealer) Store { return &sealedStore{docs, sealer} }

type sealedStore struct {
	docs   document.Store
	sealer Sealer
}

// Logins were kept in the collection of the kernel's own tokens once, and are moved when they are first read.
const (
	collection = "logins"
	formerly   = "tokens"
)

func sealName(key string) string { return "login " + key }

func (s *sealedStore) Load(ctx context.Context, key string) (*Record, error) {
	doc, err := s.docs.Get(ctx, collection, key)
	if tool.KindOf(err) == tool.NotFound {
		doc, err = s.move(ctx, key)
	}
	if tool.KindOf(err) == tool.NotFound {
		return nil, nil
	}
	var plain []byte
	if err == nil {
		plain, err = s.sealer.Unseal(sealName(key), doc.Data)
	}
	r := &Record{Version: doc.Version}
	if err == nil && json.Unmarshal(plain, r) != nil {
		err = errors.New("it is damaged") // the parser's error could quote a token
	}
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "the stored login cannot be read: %w", err).WithHint("log in again")
	}
	return r, nil
}

// move moves a login from where it was kept formerly.
func (s *sealedStore) move(ctx context.Context, key string) (document.Document, error) {
	old, err := s.docs.Get(ctx, formerly, key)
	if err != nil {
		return document.Document{}, err
	}
	if _, err := s.sealer.Unseal(sealName(key), old.Data); err != nil { // it is none, or another kernel's
		return document.Document{}, tool.Errorf(op, tool.NotFound, "there is no login")
	}
	version, err := s.docs.Write(ctx, document.Change{Collection: collection, Key: key, Data: old.Data},
		document.Change{Collection: formerly, Key: key, If: old.Version})
	if tool.KindOf(err) == tool.Conflict {
		return s.docs.Get(ctx, collection, key) // another was faster
	}
	return document.Document{Collection: collection, Key: key, Data: old.Data, Version: version}, err
}

func (s *sealedStore) Save(ctx context.Context, key string, r *Record) error {
	plain, err := json.Marshal(r)
	var data []byte
	if err == nil {
		data, err = s.sealer.Seal(sealName(key), plain)
	}
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the login cannot be stored", Err: err}
	}
	change := document.Change{Collection: collection, Key: key, If: r.Version, Data: data}
	var version int64
	if r.Version == AnyVersion {
		version, err = s.replace(ctx, change)
	} else {
		version, err = s.docs.Write(ctx, change)
	}
	switch {
	case tool.KindOf(err) == tool.Conflict:
		return err
	case err != nil:
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the login cannot be stored", Err: err}
	}
	r.Version = version
	return nil
}

func (s *sealedStore) Delete(ctx context.Context, key string) error {
	if _, err := s.replace(ctx, document.Change{Collection: collection, Key: key}); err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the login cannot be removed", Err: err}
	}
	return nil
}

// replace makes a change whatever is stored.
func (s *sealedStore) replace(ctx context.Context, c document.Change) (version int64, err error) {
	return document.Update(ctx, s.docs, func() ([]document.Change, error) {
		now, err := s.docs.Get(ctx, c.Collection, c.Key)
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return nil, err
		}
		c.If = now.Version
		return []document.Change{c}, nil
	})
}
