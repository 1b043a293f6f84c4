// Package transfer is the border between a browser and a workspace: what pages
// give comes in under a name that is safe and new, and what they are given goes
// out as a copy.
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

// Folder is where downloads are put in the workspace.
const Folder = "downloads"

// SaveDownload moves a file that has arrived into the workspace, under a name that
// nothing there has, and returns its path there.
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
	return "", tool.Errorf(op, tool.Conflict, "every name for %q is taken in %s", tool.Truncate(suggested), Folder)
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

// safeName makes a name that a page suggests one that is safe on every system:
// no folders, nothing hidden, nothing that would not be seen, no device.
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
	return len(first) == 4 && (strings.HasPrefix(first, "com") || strings.HasPrefix(first, "lpt")) && first[3] >= '0' && first[3] <= '9'
}

// maxUpload bounds what is given to a page at once.
const maxUpload = 200 << 20

// StageUpload copies files of the workspace into a folder where the browser may read
// them, and returns their paths there.
func StageUpload(op string, g tool.Grant, folder string, paths []string) ([]string, error) {
	w, err := workfile.New(op, g)
	if err != nil {
		return nil, err
	}
	var lent []string
	left := int64(maxUpload)
	for i, path := range paths {
		n, to, err := lendOne(op, w, path, filepath.Join(folder, fmt.Sprint(i)), left)
		if err != nil {
			return nil, err
		}
		left -= n
		lent = append(lent, to)
	}
	return lent, nil
}

func lendOne(op string, w workfile.Workspace, path, folder string, left int64) (int64, string, error) {
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
		err = tool.Errorf(op, tool.Invalid, "the files are larger than %d MiB together", maxUpload>>20).WithHint("give fewer, or smaller ones")
	}
	return n, name, err
}
