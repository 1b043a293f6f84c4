// Package signing signs files and checks signatures, in the format of minisign: its program reads
// and writes the same public keys, secret keys and signatures.
//
// # Law
//
// A signature counts when a key that was given as trusted made it, over exactly the bytes that are
// asked about, and when its trusted comment, which the key signed too, names the file and the
// time: file:triage.yaml and timestamp:1763395200, as minisign writes them. So a signature of one
// file is none of another, and of two signed versions the older can be told. A key's number is a
// hint that anybody can copy; it decides nothing.
//
// Nothing here reads a file: who loads bytes gives these bytes.
package signing

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"aead.dev/minisign"

	"callgate/tool"
)

// The bounds of what is read.
const (
	MaxSignature = 4 << 10 // bytes of a signature
	MaxFile      = 16 << 20
	maxKey       = 1 << 10 // bytes of the text of a key
	maxName      = 255     // bytes of the name of a file
)

// Suffix is what the name of a signature has behind the name of its file.
const Suffix = ".minisig"

// Key is a public key.
type Key struct{ public minisign.PublicKey }

// ParseKey reads a public key: a line of base64, or a file of minisign with a comment above it.
func ParseKey(text string) (Key, error) {
	var k Key
	err := fmt.Errorf("it has %d bytes", len(text))
	if text = strings.TrimSpace(text); len(text) <= maxKey {
		err = k.public.UnmarshalText([]byte(text))
	}
	if err != nil {
		return Key{}, tool.Errorf("signing.ParseKey", tool.Invalid, "this is no public key of minisign: %v", err).
			WithHint("a key is a line such as RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3")
	}
	return k, nil
}

// ID is the number of the key, as minisign shows it.
func (k Key) ID() string { return keyID(k.public.ID()) }

// String is the key in a line.
func (k Key) String() string { return k.public.String() }

// File is the key as minisign keeps it.
func (k Key) File() []byte {
	text, _ := k.public.MarshalText() // it never fails
	return append(text, '\n')
}

// Equal reports whether two keys are the same.
func (k Key) Equal(o Key) bool { return k.public.Equal(o.public) }

func keyID(id uint64) string { return fmt.Sprintf("%016X", id) }

// Comment is what a signature says that its key signed too.
type Comment struct {
	Time time.Time // when it was made
	File string    // the name of the file, without its folder
	// Program is the digest of the executable of a manifest, sha256:…; "": none.
	Program string
}

func (c Comment) text() string {
	text := fmt.Sprintf("timestamp:%d\tfile:%s\thashed", c.Time.Unix(), c.File)
	if c.Program != "" {
		text += "\tprogram:" + c.Program
	}
	return text
}

// parseComment reads a trusted comment. Words that mean nothing here are passed over.
func parseComment(text string) (c Comment, err error) {
	seen := map[string]bool{}
	for _, field := range strings.Split(text, "\t") {
		key, value, ok := strings.Cut(field, ":")
		if ok && seen[key] {
			return Comment{}, fmt.Errorf("its trusted comment says %s twice", key)
		}
		seen[key] = ok
		switch {
		case ok && key == "timestamp":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n <= 0 || n > 1<<40 {
				return Comment{}, fmt.Errorf("its trusted comment has the time %q", tool.TruncateTo(value, 40))
			}
			c.Time = time.Unix(n, 0).UTC()
		case ok && key == "file":
			c.File = value
		case ok && key == "program":
			c.Program = value
		}
	}
	return c, nil
}

// checkName reports a name that no signature can have in it.
func checkName(name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) ||
		strings.IndexFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '/' || r == '\\' }) >= 0 {
		return tool.Errorf("signing.Sign", tool.Invalid, "%q cannot be signed by its name", tool.Truncate(name)).
			WithHint("rename it: a name is text in a line, without slashes")
	}
	return nil
}

// Secret is a secret key. It has no text but the ones that are asked for by name.
type Secret struct{ private minisign.PrivateKey }

// NewSecret makes a secret key.
func NewSecret() (Secret, error) {
	_, private, err := minisign.GenerateKey(rand.Reader)
	return Secret{private}, err
}

// String does not tell the key.
func (s Secret) String() string { return "a secret key" }

// GoString does not tell the key.
func (s Secret) GoString() string { return s.String() }

// Key is the public key.
func (s Secret) Key() Key { return Key{s.private.Public().(minisign.PublicKey)} }

// Bare is the key as minisign keeps one without a password. Whoever has it signs.
func (s Secret) Bare() ([]byte, error) { return s.private.MarshalText() }

// Encrypted is the key as minisign keeps one with a password.
func (s Secret) Encrypted(password string) ([]byte, error) {
	if password == "" {
		return nil, tool.Errorf("signing.Encrypted", tool.Invalid, "a secret key needs a password")
	}
	return minisign.EncryptKey(password, s.private)
}

// NeedsPassword reports whether the text of a secret key is encrypted.
func NeedsPassword(text []byte) bool { return len(text) <= maxKey && minisign.IsEncrypted(trim(text)) }

// ParseSecret reads a secret key of minisign, with its password if it has one.
func ParseSecret(text []byte, password string) (Secret, error) {
	const op = "signing.ParseSecret"
	if len(text) > maxKey {
		return Secret{}, tool.Errorf(op, tool.Invalid, "this is no secret key of minisign: it has %d bytes", len(text))
	}
	text = trim(text)
	if minisign.IsEncrypted(text) {
		private, err := minisign.DecryptKey(password, text)
		if err != nil {
			return Secret{}, tool.Errorf(op, tool.Denied, "the secret key does not open with this password")
		}
		return Secret{private}, nil
	}
	var s Secret
	if err := s.private.UnmarshalText(text); err != nil {
		return Secret{}, tool.Errorf(op, tool.Invalid, "this is no secret key of minisign")
	}
	return s, nil
}

func trim(text []byte) []byte { return []byte(strings.TrimSpace(string(text))) }

// Sign signs the bytes of a file.
func (s Secret) Sign(data []byte, c Comment) ([]byte, error) {
	if err := checkName(c.File); err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, tool.Errorf("signing.Sign", tool.Invalid, "%s has more than %d MiB", c.File, MaxFile>>20)
	}
	r := minisign.NewReader(strings.NewReader(string(data)))
	if _, err := discard(r); err != nil {
		return nil, err
	}
	return r.SignWithComments(s.private, c.text(), "signature from callgate with the key "+s.Key().ID()), nil
}
