package launch

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file or folder of a workspace that an accepted command line runs. It is part
// of what was accepted.
type File struct {
	Path   string
	Digest string // see Digest
}

// The limits of what is recorded. A folder above them is protected, and not recorded.
const (
	maxFiles = 5_000
	maxBytes = 128 << 20
)

// TooLarge is the digest of a folder that is too large to be recorded.
const TooLarge = "too large to record"

// Code returns the files and folders below a folder that a command line runs: scripts and
// programs that it names, the folder of each unless that is the whole, and folders of
// packages. whole reports that it runs the folder itself as a package. The words have
// been resolved.
func Code(words []string, folder string) (paths []string, whole bool) {
	take := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	first := true // no plain argument came yet
	runs := len(words) > 0 && (slices.Contains(packageRunners, base(words[0])) || slices.Contains(interpreters, base(words[0])))
	for i, word := range words {
		isFlag := i > 0 && strings.HasPrefix(word, "-")
		if isFlag {
			_, word, _ = strings.Cut(word, "=")
		}
		from := runs && first && i > 0 && (slices.Contains(takesFolder, words[i-1]) || isFlag && takesValue(words[i]))
		isRun := i == 0 || runs && (first || from)
		if i > 0 && !isFlag && !slices.Contains(verbs, word) && !from {
			first = false
		}
		if !filepath.IsAbs(word) || !isIn(word, folder) {
			continue
		}
		info, err := os.Stat(word)
		switch {
		case err != nil && (isRun || isScript(word)): // one that is put there later was not accepted
			take(word)
		case err != nil:
		case info.IsDir() && isIn(folder, word):
			whole = whole || isRun
		case info.IsDir():
			if isRun || isPackage(word) {
				take(word)
			}
		case isRun || isScript(word) || runsItself(word, info):
			take(word)
			if dir := filepath.Dir(word); !isIn(folder, dir) {
				take(dir)
			}
		}
	}
	return paths, whole
}

// takesValue reports a flag of the form --from=FOLDER.
func takesValue(flag string) bool {
	name, _, ok := strings.Cut(flag, "=")
	return ok && slices.Contains(takesFolder, name)
}

// isPackage reports whether a folder is one that a package runner or an interpreter runs.
func isPackage(dir string) bool {
	return slices.ContainsFunc([]string{packageFile, "pyproject.toml", "setup.py", "__main__.py", "index.js", "deno.json"},
		func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		})
}

// runsItself reports whether a file is a program, or begins as a script does.
func runsItself(path string, info fs.FileInfo) bool {
	return info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || strings.HasPrefix(firstLine(path), "#!"))
}

func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 256
	line, _ := bufio.NewReader(io.LimitReader(f, most)).ReadString('\n')
	return line
}

// ModuleFolder returns the folder from which a script may load modules of its own: that
// of a Python script, unless it is the workspace itself, where a tool may put any module.
// PYTHONSAFEPATH takes it out of the search path; PYTHONPATH puts it back.
func ModuleFolder(script, workspace string) string {
	dir := filepath.Dir(script)
	python := filepath.Ext(script) == ".py" || strings.Contains(firstLine(script), "python")
	if !filepath.IsAbs(script) || !python || workspace != "" && isIn(workspace, dir) {
		return ""
	}
	return dir
}

// Digest is the content of a file or a folder: SHA-256, in hex. It is empty if there is
// neither, and [TooLarge] for a folder above the limits.
func Digest(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		sum, err := digestFolder(path)
		if errors.Is(err, errTooLarge) {
			return TooLarge
		}
		if err != nil {
			return ""
		}
		return sum
	case !info.Mode().IsRegular():
		return ""
	}
	left := int64(maxBytes)
	sum, err := digestFile(path, &left)
	if err != nil {
		return ""
	}
	return sum
}

var errTooLarge = errors.New("it holds too much")

// digestFolder is of all files in a folder and below, their names, and whether they can be
// executed. A link counts with what it leads to.
func digestFolder(dir string) (string, error) {
	sum := sha256.New()
	files, left := 0, int64(maxBytes)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if files++; files > maxFiles {
			return errTooLarge
		}
		rel, _ := filepath.Rel(dir, path) // below it
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			content = "link " + target
			if to, err := os.Stat(path); err == nil && to.Mode().IsRegular() {
				one, err := digestFile(path, &left)
				if err != nil {
					return err
				}
				content += " " + one
			}
		case info.Mode().IsRegular():
			if content, err = digestFile(path, &left); err != nil {
				return err
			}
		}
		fmt.Fprintf(sum, "%s\x00%s\x00%t\x00%s\x00", filepath.ToSlash(rel), e.Type(), info.Mode()&0o111 != 0, content)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

func digestFile(path string, left *int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, *left+1))
	if *left -= n; err == nil && *left < 0 {
		err = errTooLarge
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// Copy copies a recorded file or folder to a place, and returns an error if its content is
// another than was recorded.
func (f File) Copy(to string) error {
	info, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		err = copyFile(f.Path, to, info)
	} else {
		err = filepath.WalkDir(f.Path, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && e.Name() == ".git" {
				return cmp.Or(err, fs.SkipDir)
			}
			info, err := os.Stat(path) // what a link leads to
			if err != nil || !info.Mode().IsRegular() {
				return nil // the digest knows
			}
			rel, _ := filepath.Rel(f.Path, path) // below it
			return copyFile(path, filepath.Join(to, rel), info)
		})
	}
	if err == nil && Digest(f.Path) != f.Digest {
		err = fmt.Errorf("%s has changed since it was accepted", f.Path)
	}
	return err
}

func copyFile(from, to string, info fs.FileInfo) error {
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600|info.Mode()&0o100)
}
