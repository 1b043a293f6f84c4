package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/module/git/gitconfig"
	"callgate/tool"
)

// allowedSettings are the settings of a repository that Git sees, of sections
// without a subsection. Their values are data: none is a program or a path.
var allowedSettings = map[string][]string{
	"core": {
		"autocrlf", "checkstat", "eol", "filemode", "ignorecase", "logallrefupdates", "precomposeunicode", "safecrlf",
		"sharedrepository", "sparsecheckout", "sparsecheckoutcone", "symlinks", "trustctime", "whitespace",
	},
	"user":      {"name", "email"},
	"author":    {"name", "email"},
	"committer": {"name", "email"},
}

// knownExtensions are the extensions of the repository format that a view can
// show. Git does not see those of a partial clone and of settings for one
// working tree: an object that is missing stays missing, and the settings are
// read here.
var knownExtensions = []string{
	"noop", "objectformat", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig",
}

// readSettings reads the repository's own settings. It follows no include and
// runs nothing.
func (r *Repository) readSettings() error {
	all, err := r.parseSettings(filepath.Join(r.rel(r.common), "config"))
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Section != "extensions" {
			continue
		}
		switch {
		case !slices.Contains(knownExtensions, e.Name):
			return tool.Errorf(r.op, tool.Unavailable, "the repository has a format that this tool does not know: "+
				"extensions.%s = %s", tool.Truncate(e.Name), tool.Truncate(e.Value)).
				WithHint("use git in a shell")
		case e.Name == "worktreeconfig" && isTrue(e.Value):
			own, err := r.parseSettings(filepath.Join(r.rel(r.dir), "config.worktree"))
			if err != nil {
				return err
			}
			all = append(all, own...)
		}
	}
	r.settings = all
	return nil
}

// parseSettings reads a settings file. A file that does not exist is empty.
func (r *Repository) parseSettings(name string) ([]gitconfig.Entry, error) {
	const maxSize = 1 << 20
	if _, err := r.grant.Root.Lstat(name); os.IsNotExist(err) {
		return nil, nil
	}
	data, err := r.read(name, maxSize)
	var entries []gitconfig.Entry
	if err == nil {
		entries, err = gitconfig.Parse(data)
	}
	if err != nil {
		name = filepath.ToSlash(name)
		return nil, tool.Errorf(r.op, tool.Invalid, "the repository's settings in %q cannot be read: %w", name, err).
			WithHint("repair the file, or ask the user to")
	}
	return entries, nil
}

func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// Setting returns the last value that the repository's own settings give a key,
// section.name or section.sub.name; "" if they give none.
func (r *Repository) Setting(key string) string {
	for _, e := range slices.Backward(r.settings) {
		if e.Key() == key {
			return e.Value
		}
	}
	return ""
}

// Remotes lists the names of the remotes.
func (r *Repository) Remotes() []string {
	var names []string
	for _, e := range r.settings {
		if e.Section == "remote" && e.Name == "url" && IsRemote(e.Sub) && !slices.Contains(names, e.Sub) {
			names = append(names, e.Sub)
		}
	}
	return names
}

// isAllowedSetting reports whether Git sees a setting of the repository.
func isAllowedSetting(e gitconfig.Entry) bool {
	const maxLength = 1000
	switch {
	case len(e.Value) > maxLength || !e.Writable():
		return false
	case e.Sub == "" && slices.Contains(allowedSettings[e.Section], e.Name):
		return true
	case e.Section == "extensions":
		return e.Name == "objectformat" || e.Name == "preciousobjects"
	case e.Section == "branch" && e.Name == "remote":
		return e.Value == "." || IsRemote(e.Value)
	case e.Section == "branch" && e.Name == "merge":
		return strings.HasPrefix(e.Value, "refs/")
	case e.Section == "remote" && e.Name == "fetch":
		return IsRemote(e.Sub) && strings.HasPrefix(strings.TrimPrefix(e.Value, "+"), "refs/")
	}
	return false
}

// viewSettings are the settings that Git sees.
func (r *Repository) viewSettings() []gitconfig.Entry {
	version := 0
	var all []gitconfig.Entry
	if r.user.name != "" {
		all = append(all, gitconfig.Entry{Section: "user", Name: "name", Value: r.user.name})
	}
	if r.user.email != "" {
		all = append(all, gitconfig.Entry{Section: "user", Name: "email", Value: r.user.email})
	}
	for _, e := range r.settings {
		if isAllowedSetting(e) {
			all = append(all, e)
			if e.Section == "extensions" {
				version = 1
			}
		}
	}
	if r.user.ignores != "" {
		all = append(all, gitconfig.Entry{Section: "core", Name: "excludesfile", Value: r.user.ignores})
	}
	return append(all,
		gitconfig.Entry{Section: "core", Name: "repositoryformatversion", Value: strconv.Itoa(version)},
		gitconfig.Entry{Section: "core", Name: "bare", Value: "false"})
}
