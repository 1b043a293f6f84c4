package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file is a file of a package: its path below the prefix, and its bytes.
type file struct {
	path string
	data []byte
	mode os.FileMode
}

// commonFiles makes the pages and completions, and reads the words that go with them.
func (r *release) commonFiles(ctx context.Context, scratch string) ([]file, error) {
	pages, completions := filepath.Join(scratch, "pages"), filepath.Join(scratch, "completions")
	err := r.goTool(ctx, []string{"GOOS=", "GOARCH="}, "run", "-trimpath", "./scripts/manual", pages, completions)
	if err != nil {
		return nil, err
	}
	var files []file
	read := func(from, to string) error {
		data, err := os.ReadFile(from)
		files = append(files, file{to, data, 0o644})
		return err
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := read(filepath.Join(pages, e.Name()), "share/man/man1/"+e.Name()); err != nil {
			return nil, err
		}
	}
	for from, to := range map[string]string{
		filepath.Join(completions, "callgate"):      "share/bash-completion/completions/callgate",
		filepath.Join(completions, "_callgate"):     "share/zsh/site-functions/_callgate",
		filepath.Join(completions, "callgate.fish"): "share/fish/vendor_completions.d/callgate.fish",
		filepath.Join(r.root, "LICENSE"):            "share/doc/callgate/copyright",
		filepath.Join(r.root, "CHANGELOG.md"):       "share/doc/callgate/changelog",
		filepath.Join(r.root, "README.md"):          "share/doc/callgate/README.md",
	} {
		if err := read(from, to); err != nil {
			return nil, err
		}
	}
	return sorted(files), nil
}

func sorted(files []file) []file {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files
}

// forPackage are the files as a package of a kind has them: pages packed, as the policies
// of distributions want it, the zsh completion in Debian's own folder, and the mark that
// says who removes them.
func forPackage(kind string, files []file) ([]file, error) {
	out := []file{{"share/callgate/package", []byte(kind + "\n"), 0o644}}
	for _, f := range files {
		if kind == "deb" {
			f.path = strings.Replace(f.path, "share/zsh/site-functions/", "share/zsh/vendor-completions/", 1)
		}
		if strings.HasPrefix(f.path, "share/man/") || f.path == "share/doc/callgate/changelog" {
			packed, err := pack(f.data)
			if err != nil {
				return nil, err
			}
			f.path, f.data = f.path+".gz", packed
		}
		out = append(out, f)
	}
	return sorted(out), nil
}

// pack compresses without a name and without a time.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}
