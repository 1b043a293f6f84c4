package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/nofollow"
	"callgate/internal/ownership"
	"callgate/internal/visible"
	"callgate/tool"
)

// Load reads the skill of a folder, and all its files for the digest.
func Load(dir string) (*Skill, error) {
	const op = "skill.Load"
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.NotFound, Message: "the folder " + dir + " cannot be opened", Err: err}
	}
	defer root.Close()
	l := loader{dir: dir, hash: sha256.New(), kept: map[string][]byte{}}
	if err := l.walk(root, ".", 0); err != nil {
		return nil, err
	}
	return l.skill(op)
}

// LoadBelow reads the skill of a folder below another one, if no link leads to it.
func LoadBelow(folder, name string) (*Skill, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := nofollow.OpenDir(root, name)
	if err != nil {
		return nil, err
	}
	_ = dir.Close()
	return Load(filepath.Join(folder, name))
}

// loader reads a folder.
type loader struct {
	dir   string
	hash  hash.Hash
	files []File
	size  int64
	kept  map[string][]byte // the texts of the skill itself
}

func (l *loader) refuse(name, what, hint string) error {
	return tool.Errorf("skill.Load", tool.Denied, "%s: %s", filepath.Join(l.dir, filepath.FromSlash(name)), what).
		WithHint("%s", hint)
}

// walk reads a folder below the skill's.
func (l *loader) walk(root *os.Root, name string, depth int) error {
	if depth > maxDepth {
		return l.refuse(name, "it lies too deep", fmt.Sprintf("a skill has folders of at most %d levels", maxDepth))
	}
	dir, err := nofollow.OpenDir(root, name)
	if err != nil {
		return l.refuse(name, err.Error(), "a skill has no links in it: copy the files")
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return l.refuse(name, err.Error(), "let it be read")
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		if w := ownership.WriterOf(info); w != nil {
			return l.refuse(name, w.Who+" may write it ("+w.How+")", w.Hint(l.dir))
		}
	}
	entries, err := f.ReadDir(MaxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return l.refuse(name, err.Error(), "let it be read")
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		at := path.Join(name, e.Name())
		if e.IsDir() {
			if ignored(e.Name()) {
				continue
			}
			if err := l.walk(root, at, depth+1); err != nil {
				return err
			}
			continue
		}
		if err := l.file(dir, at, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// ignored are folders of tools that are no part of a skill, and that no model is given.
func ignored(name string) bool {
	return slices.Contains([]string{".git", "__pycache__", "node_modules", ".venv"}, name)
}

// file reads one file.
func (l *loader) file(dir *os.Root, at, name string) error {
	if len(l.files)+len(l.kept) >= MaxFiles {
		return l.refuse(at, fmt.Sprintf("there are more than %d files", MaxFiles), "leave some out")
	}
	if visible.Text(name) != name || !utf8.ValidString(name) {
		return l.refuse(at, "its name has characters in it that nobody sees", "give it another name")
	}
	data, err := readFile(dir, name, MaxFile)
	var shared *ownership.Problem
	switch {
	case errors.As(err, &shared):
		return l.refuse(at, shared.What, shared.Fix)
	case err != nil:
		return l.refuse(at, err.Error(), "a skill has regular files, and no links in it")
	}
	if l.size += int64(len(data)); l.size > MaxFolder {
		return l.refuse(at, fmt.Sprintf("the files have more than %d MiB together", MaxFolder>>20), "leave some out")
	}
	sum := digest(data)
	fmt.Fprintf(l.hash, "%d %s %s\n", len(at), at, sum)
	if at == TextFile || at == SpecFile {
		l.kept[at] = data
		return nil
	}
	l.files = append(l.files, File{Name: at, Size: int64(len(data)), Sum: sum})
	return nil
}

// skill makes the skill of what was read.
func (l *loader) skill(op string) (s *Skill, err error) {
	text, hasText := l.kept[TextFile]
	spec, hasSpec := l.kept[SpecFile]
	name := filepath.Base(l.dir)
	switch {
	case !hasText && !hasSpec:
		return nil, tool.Errorf(op, tool.NotFound, "the folder %s has no %s", l.dir, TextFile).
			WithHint("callgate skills new makes one")
	case hasSpec && len(spec) > MaxText:
		return nil, tool.Errorf(op, tool.Invalid, "%s is longer than %d KiB", filepath.Join(l.dir, SpecFile), MaxText>>10)
	case hasText:
		s, err = Parse(filepath.Join(l.dir, TextFile), name, text)
	default:
		s = &Skill{Name: name, Path: filepath.Join(l.dir, SpecFile)}
	}
	if err == nil && hasSpec {
		if s.Machine != nil {
			return nil, tool.Errorf(op, tool.Invalid, "%s has states, and so has %s", s.Path, SpecFile).
				WithHint("keep them in one of the two")
		}
		if err = s.readHead(filepath.Join(l.dir, SpecFile), string(spec)); err == nil {
			err = s.check(op, s.Path)
		}
	}
	if err != nil {
		return nil, err
	}
	s.Dir, s.Files = l.dir, l.files
	s.Digest = hex.EncodeToString(l.hash.Sum(nil))
	return s, nil
}

// readFile reads a regular file of a folder that nobody else may write.
func readFile(dir *os.Root, name string, most int64) ([]byte, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := nofollow.Open(dir, name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if w := ownership.WriterOf(info); w != nil {
		return nil, &ownership.Problem{What: w.Who + " may write it (" + w.How + ")", Fix: w.Hint(name)}
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than %d MiB", most>>20)
	}
	return data, err
}

// ReadFile returns a text beside a skill, as it was when the skill was read, from an
// offset on. next is where the rest begins; 0: there is none.
func (s *Skill) ReadFile(name string, offset int) (text string, next int, err error) {
	const op = "skill.ReadFile"
	name = path.Clean(filepath.ToSlash(strings.TrimPrefix(name, "./")))
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Name == name })
	if i < 0 {
		e := tool.Errorf(op, tool.NotFound, "the skill %s has no file %q", s.Name, tool.Truncate(name))
		return "", 0, e.WithHint("its files are %s", s.fileNames())
	}
	root, err := os.OpenRoot(s.Dir)
	if err == nil {
		defer root.Close()
		var dir *os.Root
		if dir, err = nofollow.OpenDir(root, path.Dir(name)); err == nil {
			defer dir.Close()
			var data []byte
			if data, err = readFile(dir, path.Base(name), MaxFile); err == nil {
				return s.shown(op, s.Files[i], data, offset)
			}
		}
	}
	return "", 0, &tool.Error{Op: op, Kind: tool.Unavailable, Message: name + " cannot be read", Err: err}
}

// shown is the part of a file that a model is given.
func (s *Skill) shown(op string, f File, data []byte, offset int) (string, int, error) {
	switch {
	case digest(data) != f.Sum:
		return "", 0, tool.Errorf(op, tool.Denied, "%s of the skill %s has changed since it was accepted", f.Name, s.Name).
			WithHint("the user looks at the skill again: callgate skills show %s", s.Name)
	case !utf8.Valid(data) || slices.Contains(data, 0):
		return "", 0, tool.Errorf(op, tool.Invalid, "%s is no text", f.Name).
			WithHint("a script may use it; it lies at %s", filepath.Join(s.Dir, filepath.FromSlash(f.Name)))
	case offset < 0 || offset > len(data):
		return "", 0, tool.Errorf(op, tool.Invalid, "%s has %d bytes, and offset is %d", f.Name, len(data), offset)
	}
	rest, next := data[offset:], 0
	if len(rest) > MaxShown {
		end := MaxShown
		for end > 0 && !utf8.RuneStart(rest[end]) {
			end--
		}
		rest, next = rest[:end], offset+end
	}
	return visible.Lines(string(rest)), next, nil
}

func (s *Skill) fileNames() string {
	if len(s.Files) == 0 {
		return "none"
	}
	var names []string
	for i, f := range s.Files {
		if i == 20 {
			names = append(names, "…")
			break
		}
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}
