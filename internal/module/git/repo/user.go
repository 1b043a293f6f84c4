package repo

import (
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/module/git/gitconfig"
	"callgate/tool"
)

// user is all that counts of the user's own settings of Git: who he is, and
// his list of files that are never added. The rest (aliases, helpers, signing)
// is programs, and stays away.
type user struct {
	name, email string
	ignores     string // absolute; "": there is no such file
}

// readUser reads the user's settings as they hold for a repository's folder.
func readUser(dir string) user {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	u := user{}
	if config != "" {
		u.ignores = filepath.Join(config, "git", "ignore")
	}
	files := []string{filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig")}
	if own, ok := os.LookupEnv("GIT_CONFIG_GLOBAL"); ok {
		files = []string{own}
	}
	for _, name := range files {
		u.add(name, home, dir, 0)
	}
	real, err := filepath.EvalSymlinks(u.ignores)
	if info, err2 := os.Stat(real); err != nil || err2 != nil || !info.Mode().IsRegular() {
		real = ""
	}
	u.ignores = real
	return u
}

// add takes over what a file says, and the files it includes: always, or for
// repositories below a folder. Other conditions are taken as not met.
func (u *user) add(name, home, dir string, depth int) {
	const maxDepth, maxSize = 10, 1 << 20
	info, err := os.Stat(name)
	if depth > maxDepth || !filepath.IsAbs(name) || err != nil || !info.Mode().IsRegular() || info.Size() > maxSize {
		return
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return
	}
	entries, err := gitconfig.Parse(data)
	if err != nil {
		return
	}
	path := func(value string) string {
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			return filepath.Join(home, rest)
		}
		if !filepath.IsAbs(value) {
			return filepath.Join(filepath.Dir(name), value)
		}
		return value
	}
	for _, e := range entries {
		switch e.Key() {
		case "user.name":
			u.name = e.Value
		case "user.email":
			u.email = e.Value
		case "core.excludesfile":
			u.ignores = path(e.Value)
		case "include.path":
			u.add(path(e.Value), home, dir, depth+1)
		default:
			below, ok := strings.CutPrefix(e.Sub, "gitdir:")
			if ok && e.Section == "includeif" && e.Name == "path" && strings.HasSuffix(below, "/") && strings.HasPrefix(dir+"/", filepath.Clean(path(below))+"/") {
				u.add(path(e.Value), home, dir, depth+1)
			}
		}
	}
}

// SetIdentity says under which name the call's commits are made: that of the app
// file, or else of the repository, or else the user's own.
func (r *Repository) SetIdentity(name, email string) error {
	for _, who := range []struct {
		given string
		into  *string
		key   string
	}{{name, &r.user.name, "user.name"}, {email, &r.user.email, "user.email"}} {
		switch own := r.Setting(who.key); {
		case who.given != "":
			*who.into = who.given
			r.settings = append(r.settings, gitconfig.Entry{Section: "user", Name: strings.TrimPrefix(who.key, "user."), Value: who.given})
		case own != "":
			*who.into = own
		case *who.into == "":
			return tool.Errorf(r.op, tool.Failed, "nobody is named as the author of commits: %s is not set", who.key).
				WithHint(`ask the user to set it, with: git config --global user.name "Their Name" and git config --global user.email them@example.com; or in the app file as tools.modules.git.config.author_name and author_email`)
		}
	}
	return nil
}
