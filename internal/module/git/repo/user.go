package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/module/git/gitconfig"
	"callgate/tool"
)

// user holds the user's own settings of Git that are used: a name, an address,
// and the list of files that are never added. All others (aliases, helpers,
// signing) are programs, and are ignored.
type user struct {
	name, email string
	ignores     string // absolute; "": there is no such file
	// safe are the folders of other users' repositories that the user trusts.
	safe []string
}

// readUser reads the user's settings as they apply to a repository's folder.
func readUser(dir string) user {
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	u := userReader{home: home, dir: dir}
	if config != "" {
		u.ignores = filepath.Join(config, "git", "ignore")
	}
	files := []string{filepath.Join(config, "git", "config"), filepath.Join(home, ".gitconfig")}
	if own, ok := os.LookupEnv("GIT_CONFIG_GLOBAL"); ok {
		files = []string{own}
	}
	for _, name := range files {
		u.readFile(name, 0)
	}
	canonical, err := filepath.EvalSymlinks(u.ignores)
	if info, err2 := os.Stat(canonical); err != nil || err2 != nil || !info.Mode().IsRegular() {
		canonical = ""
	}
	u.ignores = canonical
	return u.user
}

// trusts reports whether the user calls the repository of a folder safe, by its
// path, by that of a folder above with /*, or by * for all.
func (u user) trusts(folder string) bool {
	return slices.ContainsFunc(u.safe, func(safe string) bool {
		above, all := strings.CutSuffix(safe, "*")
		return safe == "*" || safe == folder || all && strings.HasSuffix(above, "/") && strings.HasPrefix(folder, above)
	})
}

// userReader reads the user's settings for one repository.
type userReader struct {
	user
	home string
	dir  string // the repository's folder
}

// readFile reads a settings file, and the files that it includes: always, or
// for repositories below a folder. Other conditions are taken as not met.
func (u *userReader) readFile(name string, depth int) {
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
	for _, e := range entries {
		switch e.Key() {
		case "user.name":
			u.name = e.Value
		case "user.email":
			u.email = e.Value
		case "safe.directory":
			switch e.Value {
			case "": // as for Git: what was said before does not count
				u.safe = nil
			case "*":
				u.safe = append(u.safe, e.Value)
			default:
				u.safe = append(u.safe, u.path(name, e.Value))
			}
		case "core.excludesfile":
			u.ignores = u.path(name, e.Value)
		case "include.path":
			u.readFile(u.path(name, e.Value), depth+1)
		default:
			if u.includes(name, e) {
				u.readFile(u.path(name, e.Value), depth+1)
			}
		}
	}
}

// includes reports whether an entry includes a file for repositories below a
// folder, and this repository is one of them.
func (u *userReader) includes(name string, e gitconfig.Entry) bool {
	folder, ok := strings.CutPrefix(e.Sub, "gitdir:")
	if !ok || e.Section != "includeif" || e.Name != "path" || !strings.HasSuffix(folder, "/") {
		return false
	}
	return strings.HasPrefix(u.dir+"/", filepath.Clean(u.path(name, folder))+"/")
}

// path makes a path in a settings file absolute.
func (u *userReader) path(file, value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(u.home, rest)
	}
	if !filepath.IsAbs(value) {
		return filepath.Join(filepath.Dir(file), value)
	}
	return value
}

// SetIdentity sets the author of the call's commits: the given name and
// address, or else those of the repository, or else the user's own.
func (r *Repository) SetIdentity(name, email string) error {
	for _, part := range []struct {
		given   string
		current *string
		name    string
	}{{name, &r.user.name, "name"}, {email, &r.user.email, "email"}} {
		switch own := r.Setting("user." + part.name); {
		case part.given != "":
			*part.current = part.given
			r.settings = append(r.settings, gitconfig.Entry{Section: "user", Name: part.name, Value: part.given})
		case own != "":
			*part.current = own
		case *part.current == "":
			return tool.Errorf(r.op, tool.Failed, "commits have no author: user.%s is not set", part.name).
				WithHint(`ask the user to set it, with: git config --global user.name "Their Name" and ` +
					`git config --global user.email them@example.com; ` +
					`or in the app file as tools.modules.git.config.author_name and author_email`)
		}
	}
	return nil
}
