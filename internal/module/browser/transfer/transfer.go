// Package transfer moves files between a browser and a workspace: a download gets a name
// that is safe and new, and an upload is a copy.
package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Folder is the folder of the workspace for downloads.
const Folder = "downloads"

// SaveDownload moves a downloaded file into the workspace under a name that is not
// taken, and returns its path there.
func SaveDownload(op string, g tool.Grant, suggested, file string) (string, error) {
	defer os.Remove(file)
	w, err := workfile.New(op, g)
	if err != nil {
		return "", err
	}
	from, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer from.Close()
	stem, ext := safeName(suggested)
	for n := 1; n < 1000; n++ {
		name := stem + ext
		if n > 1 {
			name = fmt.Sprintf("%s (%d)%s", stem, n, ext)
		}
		path := Folder + "/" + name
		err := put(w, path, from)
		if tool.KindOf(err) == tool.Conflict {
			if _, err := from.Seek(0, io.SeekStart); err != nil {
				return "", err
			}
			continue
		}
		if err != nil {
			return "", err
		}
		return path, nil
	}
	return "", tool.Errorf(op, tool.Conflict, "every name for %q is taken in %s", tool.Truncate(suggested), Folder).
		WithHint("move or delete files in %s first", Folder)
}

func put(w workfile.Workspace, path string, from io.Reader) error {
	to, err := w.Target(path, false)
	if err != nil {
		return err
	}
	defer to.Close()
	draft, err := to.Create("")
	if err != nil {
		return err
	}
	if _, err := io.Copy(draft, from); err != nil {
		draft.Discard()
		return err
	}
	return draft.Commit()
}

// maxName bounds a file's name, in bytes.
const maxName = 120

// safeName makes a name that a page suggests safe on every system: without folders and
// invisible characters, not hidden, and not a device.
func safeName(suggested string) (stem, ext string) {
	name := suggested[strings.LastIndexAny(suggested, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		default:
			return r
		}
	}, name)
	name = strings.Trim(name, ". ")
	ext = filepath.Ext(name)
	if len(ext) > 20 || ext == name {
		ext = ""
	}
	stem = strings.TrimRight(strings.TrimSuffix(name, ext), ". ")
	for len(stem)+len(ext) > maxName {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-n]
	}
	switch {
	case stem == "":
		stem = "download"
	case reserved(stem):
		stem = "download-" + stem
	}
	return stem, ext
}

// reserved reports a name that is a device on Windows, whatever follows its
// first dot.
func reserved(stem string) bool {
	first, _, _ := strings.Cut(strings.ToLower(stem), ".")
	switch first {
	case "con", "prn", "aux", "nul":
		return true
	}
	port := strings.HasPrefix(first, "com") || strings.HasPrefix(first, "lpt")
	return port && len(first) == 4 && first[3] >= '0' && first[3] <= '9'
}

// maxUpload bounds the files of one upload together, in bytes.
const maxUpload = 200 << 20

// StageUpload copies files of the workspace into a folder that the browser may read, and
// returns their paths there.
func StageUpload(op string, g tool.Grant, folder string, paths []string) ([]string, error) {
	w, err := workfile.New(op, g)
	if err != nil {
		return nil, err
	}
	var staged []string
	left := int64(maxUpload)
	for i, path := range paths {
		n, to, err := stageFile(op, w, path, filepath.Join(folder, fmt.Sprint(i)), left)
		if err != nil {
			return nil, err
		}
		left -= n
		staged = append(staged, to)
	}
	return staged, nil
}

func stageFile(op string, w workfile.Workspace, path, folder string, left int64) (int64, string, error) {
	from, shown, err := w.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer from.Close()
	if err := os.Mkdir(folder, 0o700); err != nil {
		return 0, "", err
	}
	name := filepath.Join(folder, filepath.Base(filepath.FromSlash(shown)))
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, "", err
	}
	n, err := io.Copy(to, io.LimitReader(from, left+1))
	if err = errors.Join(err, to.Close()); err == nil && n > left {
		err = tool.Errorf(op, tool.Invalid, "the files are larger than %d MiB together", maxUpload>>20).
			WithHint("give fewer, or smaller ones")
	}
	return n, name, err
}
