package match

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// PlainRepository reports whether Git, called in a folder of the workspace to read, runs no
// program that the repository's settings name: they hold nothing but what Git itself writes
// when it makes or clones a repository and keeps its branches. Settings of the user lie
// outside the workspace, and are the user's.
func (d *Disk) PlainRepository(workspace, dir string) bool {
	if d.Imagined {
		return true
	}
	for ; isWithin(workspace, dir); dir = filepath.Dir(dir) {
		f := d.Folder(dir)
		git := filepath.Join(dir, ".git")
		info, err := os.Lstat(git)
		switch {
		case err == nil:
			return info.IsDir() && plainSettings(git)
		case f.Repository: // a bare one
			return false
		case dir == filepath.Dir(dir):
			return true
		}
	}
	return true
}

// maxSettings bounds the settings that are read.
const maxSettings = 64 << 10

var (
	settingsSection = regexp.MustCompile(`^\[([A-Za-z]+)(?: "[^"\\]*")?\]$`)
	settingsKey     = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?$`)
	// plainSections are sections whose keys run nothing, and those of core that do not either.
	plainSections = map[string]string{
		"remote": "url pushurl fetch push tagopt prune mirror skipdefaultupdate", "branch": "remote merge rebase description",
		"user": "name email", "init": "defaultbranch", "pull": "rebase ff", "push": "default autosetupremote followtags",
		"fetch": "prune prunetags", "submodule": "url active", "color": "ui status diff branch", "advice": "",
		"core": `repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol
			safecrlf longpaths quotepath untrackedcache`,
		"extensions": "objectformat refstorage", "index": "version", "gc": "auto", "merge": "conflictstyle ff",
		"rebase": "autostash autosquash", "status": "showuntrackedfiles", "log": "date decorate", "maintenance": "auto strategy",
	}
)

// plainSettings reads a repository's settings. What it does not know is not plain.
func plainSettings(git string) bool {
	for _, other := range []string{"config.worktree", "commondir", "hooks/post-index-change"} {
		if _, err := os.Lstat(filepath.Join(git, other)); err == nil {
			return false
		}
	}
	text, err := os.ReadFile(filepath.Join(git, "config"))
	if err != nil {
		return os.IsNotExist(err)
	}
	if len(text) > maxSettings {
		return false
	}
	keys := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if section := settingsSection.FindStringSubmatch(line); section != nil {
			known := false
			if keys, known = plainSections[strings.ToLower(section[1])]; !known {
				return false
			}
			continue
		}
		key := settingsKey.FindStringSubmatch(line)
		if key == nil || strings.HasSuffix(line, `\`) || !hasWord(keys, strings.ToLower(key[1])) {
			return false
		}
	}
	return true
}

func hasWord(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == word {
			return true
		}
	}
	return false
}
