package secret

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"callgate/tool"
)

// PlacedVariable is the variable of the environment that may hold the key which is placed at each node.
const PlacedVariable = "CALLGATE_USER_SECRETS_KEY"

// PlacedFileVariable is the variable that may name the file which holds that key, for containers: they mount such files
// with a mode of their own.
const PlacedFileVariable = "CALLGATE_USER_SECRETS_KEY_FILE"

// byPlacement is the place of a key that its operator puts at each node, see [PlacedKey].
const byPlacement = "placed"

// PlacedKey seals what several nodes read: their operator gives each the same key. The store's own is one machine's.
// There may be earlier keys beside it, which only open what they sealed.
type PlacedKey struct {
	keys []key  // the first seals
	from string // for people
}

// maxPlaced is how many keys are placed at most.
const maxPlaced = 8

// ReadPlaced reads the key, and earlier ones after it, from the environment, else from the file that the environment
// names, else from a file that only its owner may read. It returns nil if there is no key.
func ReadPlaced(path string) (*PlacedKey, error) {
	const op = "secret.ReadPlaced"
	from, text := "the variable "+PlacedVariable, os.Getenv(PlacedVariable)
	if named := os.Getenv(PlacedFileVariable); text == "" && named != "" {
		data, err := os.ReadFile(named)
		if err != nil {
			return nil, tool.Errorf(op, tool.Unavailable, "the key of users' secrets cannot be read: %w", err).
				WithHint("%s names the file; see that the kernel may read it", PlacedFileVariable)
		}
		from, text = named, string(data)
		if strings.TrimSpace(text) == "" {
			return nil, tool.Errorf(op, tool.Invalid, "the file %s, which %s names, holds no key", named, PlacedFileVariable)
		}
	}
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
	fields := strings.Fields(text)
	if len(fields) == 0 || len(fields) > maxPlaced {
		return nil, tool.Errorf(op, tool.Invalid, "there are %d keys of users' secrets in %s, not 1 to %d", len(fields), from,
			maxPlaced)
	}
	p := &PlacedKey{from: from}
	for _, field := range fields {
		k, err := parseKey(field)
		if err != nil {
			return nil, tool.Errorf(op, tool.Invalid, "a key of users' secrets in %s is not 64 hexadecimal digits", from).
				WithHint("make one with: openssl rand -hex 32, and give all nodes the same")
		}
		p.keys = append(p.keys, k)
	}
	return p, nil
}

// ID names the key that seals without revealing it.
func (p *PlacedKey) ID() string { return p.keys[0].id() }

// IDs name the key that seals, and the earlier ones.
func (p *PlacedKey) IDs() []string {
	ids := make([]string, len(p.keys))
	for i, k := range p.keys {
		ids[i] = k.id()
	}
	return ids
}

// Texts are the keys, to be kept out of what is shown.
func (p *PlacedKey) Texts() []string {
	texts := make([]string, len(p.keys))
	for i, k := range p.keys {
		texts[i] = k.text()
	}
	return texts
}

// Seal encrypts data under a name, as [Vault.Seal] does.
func (p *PlacedKey) Seal(name string, plain []byte) []byte {
	head := sealHead(dataMagic, byPlacement, p.keys[0])
	return gcm(p.keys[0]).Seal(bytes.Clone(head), nil, plain, slices.Concat(head, []byte(name)))
}

// Unseal decrypts what Seal made under a name with one of the keys.
func (p *PlacedKey) Unseal(name string, data []byte) ([]byte, error) {
	const op = "secret.Unseal"
	s, err := parseSealed(data, dataMagic)
	with := slices.IndexFunc(p.keys, func(k key) bool { return k.id() == s.id })
	if err == nil && with < 0 {
		return nil, tool.Errorf(op, tool.Invalid, "the sealed %s was sealed with the key %s, and in %s is %s",
			name, s.id, p.from, strings.Join(p.IDs(), ", ")).WithHint("give this node the keys that the others have")
	}
	var plain []byte
	if err == nil {
		plain, err = gcm(p.keys[with]).Open(nil, nil, s.body, slices.Concat(s.head, []byte(name)))
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

// Derive derives a key of 32 bytes for a purpose from each of the keys, in their order. None tells another, nor the
// key that it was derived from.
func (p *PlacedKey) Derive(purpose string) [][]byte {
	all := make([][]byte, len(p.keys))
	for i, k := range p.keys {
		derived, err := hkdf.Key(sha256.New, k[:], nil, purpose, sha256.Size)
		if err != nil {
			panic(err) // of a length that cannot be had
		}
		all[i] = derived
	}
	return all
}
