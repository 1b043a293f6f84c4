package executable

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"callgate/internal/signing"
	"callgate/internal/source/executable/manifest"
	"callgate/tool"
)

// SignedFunc reports why a manifest, with the executable that it leads to, does not count as signed.
type SignedFunc func(m Signed) error

// Signed is a manifest as it was loaded.
type Signed struct {
	ID        tool.ID
	File      string // its name, without the folder
	Folder    string // as the app names it
	Data      []byte
	Signature []byte // what stands beside it; nil: nothing does
	Program   string // the digest of the executable, sha256:…
}

func digestOfBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkSigned checks the bytes of a manifest, and the executable that was found for it.
func (l *loader) checkSigned(m *manifest.Manifest, path string, data []byte, p *program) error {
	if l.Signed == nil {
		return nil
	}
	signature, _ := readSmall(path+signing.Suffix, signing.MaxSignature) // none, where it cannot be read
	return l.Signed(Signed{
		ID: m.ID, File: filepath.Base(path), Folder: filepath.Clean(l.Dir), Data: data, Signature: signature,
		Program: digestOf(p.digest),
	})
}

// ProgramOf returns the digest of the executable that the manifest at a path leads to, as a
// signature of the manifest names it.
func ProgramOf(path string) (digest string, err error) {
	dir, name := filepath.Split(path)
	l, failed := New(Options{Dir: filepath.Clean(dir), Absolute: true}).loader()
	if failed != nil {
		return "", failed
	}
	m, data, problems := readManifest(path, filepath.Join(l.folder, name), l.folder, l.top(), nil)
	if len(problems) > 0 {
		return "", asError("executable.ProgramOf", problems)
	}
	p, failed := l.program(m, name, digestOfBytes(data))
	if failed != nil {
		return "", failed
	}
	return digestOf(p.digest), nil
}
