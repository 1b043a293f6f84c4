package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is what make packages made for one architecture.
type release struct {
	version, arch string
	time          time.Time // of its files
	revision      string    // the commit, where the program knows it
	program       []byte
	license       []byte
}

// readReleases reads the archives for Linux in a folder, which are of one version, in the order of their names.
func readReleases(dir string) ([]release, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "callgate-*-linux-*.tar.gz"))
	if err != nil {
		return nil, err
	}
	var all []release
	for _, path := range paths {
		r, err := readRelease(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(all) > 0 && (r.version != all[0].version || r.revision != all[0].revision) {
			return nil, fmt.Errorf("%s has archives of two versions: run make packages", dir)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no archive for Linux: run make packages", dir)
	}
	return all, nil
}

func readRelease(path string) (release, error) {
	var r release
	folder := strings.TrimSuffix(filepath.Base(path), ".tar.gz")
	before, arch, _ := strings.Cut(folder, "-linux-")
	r.version, r.arch = strings.TrimPrefix(before, "callgate-"), arch
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return r, err
	}
	for archive := tar.NewReader(zip); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return r, err
		}
		switch strings.TrimPrefix(h.Name, folder+"/") {
		case "bin/callgate":
			r.time = h.ModTime.UTC()
			r.program, err = io.ReadAll(archive)
		case "share/doc/callgate/copyright":
			r.license, err = io.ReadAll(archive)
		}
		if err != nil {
			return r, err
		}
	}
	if r.program == nil || r.license == nil {
		return r, errors.New("it lacks the program or its license")
	}
	r.revision = revisionOf(r.program)
	return r, nil
}

// revisionOf is the commit that a program was built from; "": it does not say.
func revisionOf(program []byte) string {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// addSum puts the sum of an archive into SHA256SUMS of its folder, in the place of an older one.
func addSum(dir, archive string) error {
	data, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "SHA256SUMS")
	old, err := os.ReadFile(list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	name := filepath.Base(archive)
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(string(old))), func(line string) bool {
		return strings.HasSuffix(line, "  "+name+"\n")
	})
	lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
	return os.WriteFile(list, []byte(strings.Join(lines, "")), 0o644)
}
