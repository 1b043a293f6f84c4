package shellcmd

import (
	"slices"
	"strings"
)

// gitCommands are the subcommands of git that a wildcard may stand for, and their
// options that run programs or write files besides what the subcommand is for.
// The others (difftool, bisect, submodule, config, rebase, filter-branch, and
// whatever is an alias) must be fixed by the pattern.
var gitCommands = map[string]program{
	"log": gitShow, "show": gitShow, "diff": gitShow, "whatchanged": gitShow, "shortlog": gitShow, "reflog": gitShow,
	"rev-list": gitShow, "diff-tree": gitShow, "diff-index": gitShow, "diff-files": gitShow, "stash": gitShow,
	"range-diff": gitShow,
	"status":     {}, "blame": {long: []string{"contents"}}, "annotate": {long: []string{"contents"}},
	"branch": {long: []string{"edit-description"}}, "tag": gitSign, "describe": {}, "rev-parse": {long: []string{"parseopt"}},
	"ls-files": {}, "ls-tree": {}, "cat-file": {long: []string{"textconv", "filters", "batch-command"}}, "count-objects": {},
	"for-each-ref": {}, "show-ref": {}, "merge-base": {}, "name-rev": {}, "cherry": {}, "show-branch": {}, "var": {},
	"check-ignore": {}, "check-attr": {}, "version": {}, "help": {short: "wim", long: []string{"web", "info", "man"}},
	"grep": {short: "Of", long: []string{"open-files-in-pager", "ext-grep", "textconv"}},
	"add":  {short: "ie", long: []string{"edit", "interactive", "patch"}}, "restore": {}, "switch": {}, "checkout": {},
	"mv": {}, "rm": {}, "reset": {}, "commit": gitSign, "merge": gitMerge, "cherry-pick": gitMerge, "revert": gitMerge,
	"fetch": gitRemote, "pull": gitRemote, "push": gitRemote, "ls-remote": gitRemote, "clone": gitRemote,
	"archive": {short: "o", long: []string{"output", "exec", "remote"}}, "init": {long: []string{"template"}},
	"remote": gitRemote, "worktree": {}, "gc": {}, "fsck": {}, "prune": {}, "apply": {}, "clean": {},
}

var (
	gitShow = program{long: []string{
		"output", "output-directory", "ext-diff", "textconv", "show-signature", "no-index", "attach",
	}}
	gitSign   = program{short: "Sue", long: []string{"gpg-sign", "edit", "local-user", "sign"}}
	gitMerge  = program{short: "Ssex", long: []string{"gpg-sign", "edit", "strategy", "exec"}}
	gitRemote = program{short: "uc", long: []string{
		"upload-pack", "receive-pack", "exec", "config", "template", "recurse-submodules", "server-option", "bundle-uri",
		"edit", "gpg-sign", "strategy", "upload-archive", "rebase",
	}, operand: func(text string) string {
		if strings.Contains(text, "::") { // a helper of that name
			return runs
		}
		return ""
	}}
)

// safeGitFlags may stand before the subcommand.
var safeGitFlags = []string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help"}

// gitRisk looks at a call of git whose words from one on are not fixed.
func gitRisk(words []Word, from int) string {
	at := 1
	for at < len(words) && words[at].Static && slices.Contains(safeGitFlags, words[at].Text) {
		at++
	}
	if at == len(words) {
		return ""
	}
	if at < from && strings.HasPrefix(words[at].Text, "-") {
		return "an option before the subcommand must stand in a pattern that fixes every word"
	}
	if !words[at].Static {
		return unseen
	}
	sub, known := gitCommands[words[at].Text]
	if !known {
		return "git " + words[at].Text + " can run programs, or is not known"
	}
	return sub.risk(words[max(at+1, from):])
}
