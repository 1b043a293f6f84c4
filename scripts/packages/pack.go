package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pack makes everything for one system from its program, whose bytes are data.
func (r *release) pack(system, arch, program string, data []byte) error {
	all := sorted(append([]file{{"bin/callgate", data, 0o755}}, r.common...))
	base := fmt.Sprintf("callgate-%s-%s-%s", r.version, system, arch)
	archive, err := r.archive(base, all)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.out, base+".tar.gz"), archive, 0o644)
	}
	if err == nil {
		err = r.writeSBOM(program, data, filepath.Join(r.out, base+".cdx.json"))
	}
	if err != nil || system != "linux" {
		return err
	}
	for kind, write := range map[string]func(string, []file) error{"deb": r.writeDeb, "rpm": r.writeRPM} {
		files, err := forPackage(kind, all)
		if err == nil {
			err = write(arch, files)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// archive is a .tar.gz with everything in one folder.
func (r *release) archive(folder string, all []file) ([]byte, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	made := map[string]bool{}
	header := func(h *tar.Header) error {
		h.ModTime, h.Uname, h.Gname, h.Format = r.time, "root", "root", tar.FormatGNU
		return w.WriteHeader(h)
	}
	for _, f := range all {
		path := folder + "/" + f.path
		for i, c := range path {
			if above := path[:i]; c == '/' && !made[above] {
				made[above] = true
				if err := header(&tar.Header{Typeflag: tar.TypeDir, Name: above + "/", Mode: 0o755}); err != nil {
					return nil, err
				}
			}
		}
		err := header(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: int64(f.mode), Size: int64(len(f.data))})
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

const (
	maintainer  = "The Callgate authors <callgate@localhost>"
	description = `Gate between language models and their tools
A model proposes a call. Callgate resolves the name, judges it, checks the
arguments, asks a human where it must, locks what the call touches, runs it
inside its limits and writes it into a tamper-evident journal. One program is
the daemon, the command line, the MCP gateway and the agent runtime.`
)

// sums writes SHA256SUMS for all files of a folder, as sha256sum -c reads it.
func sums(folder string) error {
	var b strings.Builder
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type() != fs.FileMode(0) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(b.String()), 0o644)
}
