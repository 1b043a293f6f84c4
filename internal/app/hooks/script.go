package hooks

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/hook"
	"callgate/internal/launch"
)

// maxScript is the size of a script in bytes. A larger file counts as not there, so that
// its hook refuses: there is no digest of a part.
const maxScript = 64 << 20

// interpreters are the programs whose first file is a script, whatever it is called.
var interpreters = []string{
	"bash", "sh", "zsh", "dash", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "source", ".", "tsx",
}

// scriptEndings are those of files that are run.
var scriptEndings = []string{
	".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php",
}

// Scripts returns the files of the project that a command line runs, with their content:
// who accepts the command accepts those. A file that is named and not there is among
// them: one that is put there later was not accepted. A line whose scripts cannot be told
// before it runs is a mistake.
func Scripts(line, folder, workdir string) ([]hook.Script, error) {
	p := newProject(folder, workdir)
	if err := p.check(line, 0); err != nil {
		return nil, err
	}
	var found []hook.Script
	take := func(path, digest string) {
		if !slices.ContainsFunc(found, func(s hook.Script) bool { return s.Path == path }) {
			found = append(found, hook.Script{Path: path, Digest: digest})
		}
	}
	after := ""
	for _, word := range flatten(append(words(line), p.words...), folder, workdir) {
		path, explicit := projectPath(word, folder, workdir)
		isFirst := slices.Contains(interpreters, filepath.Base(after))
		if !strings.HasPrefix(word, "-") {
			after = word
		}
		if path == "" {
			continue
		}
		ending := isScript(path)
		head, digest, executable := examine(path)
		switch {
		case digest == "" && (explicit || ending),
			digest != "" && (ending || isFirst || executable || bytes.HasPrefix(head, []byte("#!"))):
			take(path, digest)
		}
	}
	for _, path := range p.scripts {
		take(path, Digest(path))
	}
	return found, nil
}

// withFolders adds the folders of scripts: a script loads what lies beside it. The
// project's folder is none of them, since a guard starts elsewhere and loads nothing there.
func withFolders(scripts []hook.Script, roots ...string) []hook.Script {
	all := slices.Clone(scripts)
	for _, s := range scripts {
		dir := filepath.Dir(s.Path)
		isRoot := slices.ContainsFunc(roots, func(root string) bool { return within(root, dir) })
		if !isRoot && !slices.ContainsFunc(all, func(h hook.Script) bool { return h.Path == dir }) {
			all = append(all, hook.Script{Path: dir, Digest: launch.Digest(dir), Folder: true})
		}
	}
	return all
}

// isScript reports whether a file is called as those are that are run.
func isScript(path string) bool {
	ending := filepath.Ext(path)
	return slices.Contains(scriptEndings, ending) && ending != filepath.Base(path)
}

// flatten takes words apart that are command lines themselves, as that of sh -c is.
func flatten(all []string, folder, workdir string) []string {
	var flat []string
	for _, word := range all {
		if path, _ := projectPath(word, folder, workdir); strings.ContainsAny(word, " \t\n;") && Digest(path) == "" {
			flat = append(flat, words(word)...)
			continue
		}
		flat = append(flat, word)
	}
	return flat
}

// Digest is the content of a script as it is now; empty: there is none.
func Digest(path string) string {
	_, digest, _ := examine(path)
	return digest
}

// Changed reports whether a script, or the folder of one, is not what it was.
func Changed(s hook.Script) bool {
	if s.Folder {
		return launch.Digest(s.Path) != s.Digest
	}
	return Digest(s.Path) != s.Digest
}

// examine reads a file: how it begins, what it holds, and whether it can be executed.
func examine(path string) (head []byte, digest string, executable bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", false
	}
	defer f.Close()
	all := bufio.NewReader(f)
	head, _ = all.Peek(2) // a shorter file has no more
	head = bytes.Clone(head)
	sum := sha256.New()
	if n, err := io.Copy(sum, io.LimitReader(all, maxScript+1)); err != nil || n > maxScript {
		return nil, "", false
	}
	return head, hex.EncodeToString(sum.Sum(nil)), info.Mode()&0o111 != 0
}

// projectPath is the file that a word may name, if that would be in the project. explicit
// says that the word can be nothing else.
func projectPath(word, folder, workdir string) (path string, explicit bool) {
	for _, name := range []string{"${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"} {
		if rest, ok := strings.CutPrefix(word, name+"/"); ok {
			word, explicit = filepath.Join(folder, rest), true
		}
	}
	switch {
	case word == "" || word[0] == '-' || strings.HasSuffix(word, "..."), strings.Contains(word, "://"),
		strings.ContainsAny(word, "$*?`~\x00"):
		return "", false
	case !filepath.IsAbs(word):
		explicit = strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
		word = filepath.Join(workdir, word)
	}
	word = filepath.Clean(word)
	if word == folder || word == workdir || !within(word, folder) && !within(word, workdir) {
		return "", false
	}
	return word, explicit
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// words splits a command line where bash would, roughly: a word too many names no file.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quote := rune(0)
	end := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
			word.Reset()
		}
	}
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote = c
		case strings.ContainsRune(" \t\n;|&()<>=\\", c):
			end()
		default:
			word.WriteRune(c)
		}
	}
	end()
	return all
}
