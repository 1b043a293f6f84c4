package secret

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"callgate/tool"
)

// PlacedVariable is the variable of the environment that may hold the key which is placed at each node.
const PlacedVariable = "CALLGATE_USER_SECRETS_KEY"

// byPlacement is the place of a key that its operator puts at each node, see [PlacedKey].
const byPlacement = "placed"

// PlacedKey seals what several nodes read: their operator gives each the same key. The store's own is one machine's.
type PlacedKey struct {
	key  key
	from string // for people
}

// ReadPlaced reads the key from the environment, else from a file that only its owner may read; nil: there is none.
func ReadPlaced(path string) (*PlacedKey, error) {
	const op = "secret.ReadPlaced"
	from, text := "the variable "+PlacedVariable, os.Getenv(PlacedVariable)
	if text == "" {
		data, _, err := readOwn(op, path, "the key of users' secrets")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		from, text = path, string(data)
	}
	k, err := parseKey(text)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the key of users' secrets in %s is not 64 hexadecimal digits", from).
			WithHint("make one with: openssl rand -hex 32, and give all nodes the same")
	}
	return &PlacedKey{k, from}, nil
}

// ID names the key without revealing it.
func (p *PlacedKey) ID() string { return p.key.id() }

// Text is the key, to be kept out of what is shown.
func (p *PlacedKey) Text() string { return p.key.text() }

// Seal encrypts data under a name, as [Vault.Seal] does.
func (p *PlacedKey) Seal(name string, plain []byte) []byte {
	head := sealHead(dataMagic, byPlacement, p.key)
	return gcm(p.key).Seal(bytes.Clone(head), nil, plain, slices.Concat(head, []byte(name)))
}

// Unseal decrypts what Seal made under a name with the same key.
func (p *PlacedKey) Unseal(name string, data []byte) ([]byte, error) {
	const op = "secret.Unseal"
	s, err := parseSealed(data, dataMagic)
	if err == nil && s.id != p.key.id() {
		return nil, tool.Errorf(op, tool.Invalid, "the sealed %s was sealed with the key %s, and the one in %s is %s",
			name, s.id, p.from, p.key.id()).WithHint("give this node the key that the others have")
	}
	var plain []byte
	if err == nil {
		plain, err = gcm(p.key).Open(nil, nil, s.body, slices.Concat(s.head, []byte(name)))
	}
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the sealed %s cannot be opened: %w", name, errDamaged)
	}
	return plain, nil
}

// PlacedID returns the name of the placed key with which data was sealed; "": it was sealed otherwise.
func PlacedID(data []byte) string {
	rest, ok := strings.CutPrefix(string(data[:min(len(data), 256)]), dataMagic+" "+byPlacement+" ")
	id, _, ended := strings.Cut(rest, "\n")
	if !ok || !ended {
		return ""
	}
	return id
}
