// Package keyfile keeps the key that signs for a journal in a file of its owner.
package keyfile

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"callgate/internal/durable"
	"callgate/tool"
)

// Read reads a key. A file that others can read is Denied.
func Read(path string) (ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, keyError(tool.Denied, nil, "the journal's signing key can be read by others").
			WithHint("chmod 600 %s", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, keyError(tool.Unavailable, err, "the journal's signing key cannot be read")
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, keyError(tool.Invalid, err, "the journal's signing key is damaged").
			WithHint("restore %s from a copy", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// Public returns the public part of the key in a file; nil when there is no
// such file.
func Public(file string) (ed25519.PublicKey, error) {
	key, err := Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return key.Public().(ed25519.PublicKey), nil
}

// Make makes a key file. Of two makers the first wins.
func Make(path string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, keyError(tool.Internal, err, "no signing key can be made")
	}
	err = durable.Create(path, []byte(base64.StdEncoding.EncodeToString(key.Seed())+"\n"), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return Read(path)
	}
	if err != nil {
		return nil, keyError(tool.Unavailable, err, "the journal's signing key cannot be written")
	}
	return key, nil
}

func keyError(kind tool.Kind, err error, message string) *tool.Error {
	return &tool.Error{Op: "journal.key", Kind: kind, Message: message, Err: err}
}
