package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The store is one line of text, and then AES-256-GCM over JSON with a random
// nonce in front:
//
//	callgate-secrets 1 file 0011223344556677
//
// It says the version, where the key is (file or keyring), and which key that
// is, by the beginning of its hash. The line is authenticated with the rest, so
// nothing of the file can be changed without the key. Every write has a new
// random nonce; nobody writes so often that two could be equal.

const (
	sealMagic = "callgate-secrets 1"
	dataMagic = "callgate-sealed 1" // of what others keep, see Vault.Seal
)

// The places of a key.
const (
	inFile    = "file"
	inKeyring = "keyring"
)

// key is what the store is sealed with.
type key [32]byte

func newKey() (k key) {
	_, _ = rand.Read(k[:]) // it never fails
	return k
}

// id names a key without revealing it.
func (k key) id() string {
	sum := sha256.Sum256(append([]byte("callgate secrets key\n"), k[:]...))
	return hex.EncodeToString(sum[:8])
}

// text is a key as it is kept.
func (k key) text() string { return hex.EncodeToString(k[:]) }

// parseKey reads a key as it is kept.
func parseKey(text string) (k key, err error) {
	text = strings.TrimSpace(text)
	if len(text) != hex.EncodedLen(len(k)) {
		return k, errDamaged
	}
	if _, err := hex.Decode(k[:], []byte(text)); err != nil {
		return k, errDamaged // the parser's words may quote it
	}
	return k, nil
}

// sealed is a store, or other data, as it is kept, its first line read.
type sealed struct {
	where string // the key's place
	id    string // and its name
	head  []byte // the first line
	body  []byte
}

// errDamaged is the error of a file or key that is not whole, or was changed.
var errDamaged = errors.New("it was changed or cut short")

func parseSealed(data []byte, magic string) (s sealed, err error) {
	line, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return s, errDamaged
	}
	rest, ok := strings.CutPrefix(string(line), magic+" ")
	if !ok {
		if kind, _, _ := strings.Cut(magic, " "); strings.HasPrefix(string(line), kind+" ") {
			return s, errors.New("it was written by a newer Callgate")
		}
		return s, errDamaged
	}
	where, id, ok := strings.Cut(rest, " ")
	known := where == inFile || where == inKeyring || where == byPlacement && magic == dataMagic
	if !ok || !known || len(id) != 16 || strings.Trim(id, "0123456789abcdef") != "" {
		return s, errDamaged
	}
	return sealed{where, id, data[:len(line)+1], body}, nil
}

// contents is what the store holds.
type contents struct {
	Secrets map[string]entry `json:"secrets"`
}

type entry struct {
	Value []byte    `json:"value"`
	Set   time.Time `json:"set"`
}

// open reads what is sealed.
func (s sealed) open(k key) (contents, error) {
	c := contents{Secrets: map[string]entry{}}
	plain, err := gcm(k).Open(nil, nil, s.body, s.head)
	if err != nil {
		return c, errDamaged
	}
	if json.Unmarshal(plain, &c) != nil || c.Secrets == nil {
		return c, errDamaged
	}
	return c, nil
}

// seal writes contents for a key in a place.
func seal(c contents, k key, where string) ([]byte, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	head := sealHead(sealMagic, where, k)
	return gcm(k).Seal(bytes.Clone(head), nil, plain, head), nil
}

// sealHead is the first line of what is sealed.
func sealHead(magic, where string, k key) []byte {
	return fmt.Appendf(nil, "%s %s %s\n", magic, where, k.id())
}

func gcm(k key) cipher.AEAD {
	b, err := aes.NewCipher(k[:])
	if err == nil {
		var a cipher.AEAD
		if a, err = cipher.NewGCMWithRandomNonce(b); err == nil {
			return a
		}
	}
	panic("secret: " + err.Error()) // the key has the right length
}
