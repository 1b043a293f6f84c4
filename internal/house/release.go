package house

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// release is the size of the tree at a commit of the git repository.
type release struct {
	name   string // "tagged v1.2.3", or its place before a heading of CHANGELOG.md
	commit string // its abbreviated hash and its date
	size
}

var (
	releaseTag = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)
	heading    = regexp.MustCompile(`(?m)^## \d+\.\d+\.\d+`)
)

// lastRelease measures the last release in the history of the repository at
// root. That is the newest tag vX.Y.Z. Without such a tag it is the commit before
// the one that added the newest heading to CHANGELOG.md.
func lastRelease(root string) (release, error) {
	name, commit, err := findRelease(root)
	if err != nil {
		return release{}, err
	}
	r := release{name: name}
	shown, err := git(root, "log", "--max-count=1", "--format=%h of %cs", commit)
	if err != nil {
		return release{}, err
	}
	r.commit = strings.TrimSpace(string(shown))
	files, err := git(root, "archive", "--format=tar", commit, "--", "*.go", "*go.mod")
	if err != nil {
		return release{}, err
	}
	r.size, err = sizeOfArchive(files)
	return r, err
}

func findRelease(root string) (name, commit string, err error) {
	prefix, err := git(root, "rev-parse", "--show-prefix")
	if err != nil {
		return "", "", err
	}
	if len(bytes.TrimSpace(prefix)) > 0 {
		return "", "", errors.New("this folder is not the root of a git repository")
	}
	tags, err := git(root, "tag", "--merged", "HEAD", "--sort=-version:refname")
	if err != nil {
		return "", "", err
	}
	for tag := range strings.FieldsSeq(string(tags)) {
		if releaseTag.MatchString(tag) {
			return "tagged " + tag, "refs/tags/" + tag, nil
		}
	}
	changelog, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", "", err
	}
	newest := string(heading.Find(changelog))
	if newest == "" {
		return "", "", errors.New("no tag vX.Y.Z, and no heading of a version in CHANGELOG.md")
	}
	log, err := git(root, "log", "--format=%H", "-S"+newest, "--", "CHANGELOG.md")
	if err != nil {
		return "", "", err
	}
	commits := strings.Fields(string(log))
	if len(commits) == 0 {
		return "", "", fmt.Errorf("no commit added %q to CHANGELOG.md", newest)
	}
	added := commits[len(commits)-1] // the oldest: later ones may quote the heading
	parent, err := git(root, "rev-parse", "--verify", "--quiet", added+"^")
	if err != nil {
		return "", "", fmt.Errorf("the git history begins after %q was added to CHANGELOG.md", newest)
	}
	return fmt.Sprintf("the last one before %q in CHANGELOG.md", newest), strings.TrimSpace(string(parent)), nil
}

// git runs a git command in a folder and returns its output.
func git(folder string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		reason, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		return nil, fmt.Errorf("git %s: %s", args[0], reason)
	}
	return out, err
}

// sizeOfArchive measures a tar archive by the rules of Read.
func sizeOfArchive(archive []byte) (size, error) {
	files, modules := map[string][]byte{}, map[string]bool{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return size{}, err
		}
		switch {
		case path.Base(h.Name) == "go.mod":
			modules[path.Dir(h.Name)] = true
		case h.Typeflag == tar.TypeReg && path.Ext(h.Name) == ".go":
			if files[h.Name], err = io.ReadAll(r); err != nil {
				return size{}, err
			}
		}
	}
	sum := sizes{}
	for file, text := range files {
		if !leftOut(path.Dir(file), modules) {
			sum.add(file, text)
		}
	}
	return sum.total(), nil
}

// leftOut reports whether Read skips a folder or one above it.
func leftOut(folder string, modules map[string]bool) bool {
	for ; folder != "."; folder = path.Dir(folder) {
		if ignored(path.Base(folder)) || modules[folder] {
			return true
		}
	}
	return false
}
