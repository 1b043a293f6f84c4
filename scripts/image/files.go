package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/opencontainers/go-digest"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// userID is the user and the group of the image's processes. It is no number of a person or of a service of Debian.
const userID = 65532

// Where the image has things. The state lies in a folder below the volume, because whoever mounts a volume decides
// whose its top folder is, and a kernel uses no state directory but its own user's.
const (
	home      = "/var/lib/callgate"
	state     = home + "/state"
	workspace = "/workspace"
)

// entry is a file or, with a mode of a folder, a folder of a layer.
type entry struct {
	path  string
	data  []byte
	mode  int64
	owner int
	isDir bool
}

// programEntries are what every image has. accounts are the lines of the base's own passwd and group.
func programEntries(r release, accounts map[string][]byte) []entry {
	line := func(file, text string) entry {
		return entry{path: file, data: append(bytes.Clone(accounts[file]), text...), mode: 0o644}
	}
	return []entry{
		line("etc/group", fmt.Sprintf("callgate:x:%d:\n", userID)),
		line("etc/passwd", fmt.Sprintf("callgate:x:%d:%d:Callgate:%s:/usr/sbin/nologin\n", userID, userID, home)),
		{path: "usr/bin/callgate", data: r.program, mode: 0o755},
		{path: "usr/share/doc/callgate/copyright", data: r.license, mode: 0o644},
		{path: home[1:], mode: 0o700, owner: userID, isDir: true},
		{path: workspace[1:], mode: 0o755, owner: userID, isDir: true},
	}
}

// bareEntries are what an image without a base has besides.
func bareEntries() []entry {
	return []entry{
		{path: "etc/ssl/certs/ca-certificates.crt", data: rootCertificates(), mode: 0o644},
		{path: "tmp", mode: 0o1777, isDir: true},
	}
}

// rootCertificates are the roots that Mozilla trusts without a condition, as PEM. Those that it trusts for
// certificates of before some day alone are left out: a file of certificates cannot say that.
func rootCertificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// layer is the compressed archive of a layer, and the digest of what is in it.
type layer struct {
	data []byte
	diff digest.Digest
}

// newLayer makes a layer of files, with the folders above them.
func newLayer(entries []entry, when time.Time) (layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{".": true}
	for _, e := range entries {
		if err := writeEntry(w, e, when, made); err != nil {
			return layer{}, fmt.Errorf("%s: %w", e.path, err)
		}
	}
	if err := w.Close(); err != nil {
		return layer{}, err
	}
	return compress(&b)
}

func writeEntry(w *tar.Writer, e entry, when time.Time, made map[string]bool) error {
	if above := path.Dir(e.path); !made[above] {
		if err := writeEntry(w, entry{path: above, mode: 0o755, isDir: true}, when, made); err != nil {
			return err
		}
	}
	h := &tar.Header{
		Typeflag: tar.TypeReg, Name: e.path, Mode: e.mode, Size: int64(len(e.data)), ModTime: when,
		Uid: e.owner, Gid: e.owner, Format: tar.FormatUSTAR,
	}
	if e.isDir {
		made[e.path] = true
		h.Typeflag, h.Name = tar.TypeDir, e.path+"/"
	}
	err := w.WriteHeader(h)
	if err == nil {
		_, err = w.Write(e.data)
	}
	return err
}

// compress makes a layer of an archive.
func compress(archive io.Reader) (layer, error) {
	var b bytes.Buffer
	sum := digest.Canonical.Digester()
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return layer{}, err
	}
	_, err = io.Copy(io.MultiWriter(zip, sum.Hash()), archive)
	if err = errors.Join(err, zip.Close()); err != nil {
		return layer{}, err
	}
	return layer{b.Bytes(), sum.Digest()}, nil
}

// readAccounts returns etc/passwd and etc/group of an archive.
func readAccounts(file string) (map[string][]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found := map[string][]byte{}
	for archive := tar.NewReader(f); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if name := path.Clean(h.Name); name == "etc/passwd" || name == "etc/group" {
			if found[name], err = io.ReadAll(archive); err != nil {
				return nil, err
			}
		}
	}
	if len(found) != 2 {
		return nil, fmt.Errorf("%s has no etc/passwd and etc/group: it is no file system", file)
	}
	return found, nil
}
