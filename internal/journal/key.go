package journal

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io/fs"

	"callgate/internal/journal/keyfile"
	"callgate/tool"
)

// signingKey returns the key that signs what pruning drops, and exports. A key
// file that does not exist is made with create, and gives no key without it.
func (o Options) signingKey(create bool) (ed25519.PrivateKey, error) {
	switch {
	case len(o.Key) == ed25519.PrivateKeySize:
		return o.Key, nil
	case len(o.Key) > 0:
		return nil, keyError(tool.Invalid, nil, "the journal's signing key is not an ed25519 private key")
	case o.KeyFile == "" && create:
		return nil, keyError(tool.Invalid, nil, "the journal has no signing key, and what is dropped must be signed for")
	case o.KeyFile == "":
		return nil, nil
	}
	key, err := keyfile.Read(o.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return nil, nil
		}
		return keyfile.Make(o.KeyFile)
	}
	return key, err
}

func keyError(kind tool.Kind, err error, message string) *tool.Error {
	return &tool.Error{Op: "journal.key", Kind: kind, Message: message, Err: err}
}

// signed is what a summary's signature covers: every other field.
func (s PruneSummary) signed() []byte {
	s.Signature = nil
	body, err := json.Marshal(s)
	if err != nil {
		return nil // a time outside of what JSON can write; nothing verifies it
	}
	return append([]byte("callgate journal drop\n"), body...)
}

func (s *PruneSummary) sign(key ed25519.PrivateKey) { s.Signature = ed25519.Sign(key, s.signed()) }

// authentic reports whether the summary was signed with the key.
func (s PruneSummary) authentic(key ed25519.PublicKey) bool {
	body := s.signed()
	return len(key) == ed25519.PublicKeySize && body != nil && ed25519.Verify(key, body, s.Signature)
}
