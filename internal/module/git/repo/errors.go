package repo

import (
	"strings"

	"callgate/internal/module/git/porcelain"
	"callgate/tool"
)

// Hints that several failures share.
const (
	hintList     = "git.branches and git.log list what there is"
	hintBranches = "git.branches lists what there is"
	hintConflict = "solve the conflicts, git.add the files and git.commit first"
	hintWorktree = "another working tree has that branch checked out"
)

// failures map what Git says when it fails to a kind and a hint. The first
// entry that matches is used.
var failures = []struct {
	says string // the parts between the stars must occur in this order
	kind tool.Kind
	hint string
}{
	{"index.lock*File exists", tool.Busy, "another git process is working in this repository; try again in a moment. " +
		"If there is none, one was killed: ask the user to delete the lock file"},
	{"cannot lock ref", tool.Busy, "another git process may be working in this repository, " +
		"or a branch of a similar name is in the way (a/b where a exists)"},
	{"would be overwritten", tool.Conflict, "nothing was changed: commit these changes or stash them first"},
	{"needs merge", tool.Conflict, hintConflict},
	{"you need to resolve your current index first", tool.Conflict, hintConflict},
	{"not fully merged", tool.Conflict,
		"its commits are on no other branch: merge it first, or use force where that is allowed"},
	{"already exists", tool.Conflict, "choose another name, or delete the old one first"},
	{"is already checked out at", tool.Conflict, hintWorktree},
	{"is already used by worktree", tool.Conflict, hintWorktree},
	{"did not match any file", tool.NotFound, "paths are relative to the repository and literal: no * and no ?; " +
		"git.status and filesystem.glob list what there is"},
	{"no such path", tool.NotFound,
		"paths are relative to the repository; the file may have another name at that revision"},
	{"no such ref", tool.NotFound, hintList},
	{"unknown revision", tool.NotFound, hintList},
	{"bad revision", tool.NotFound, hintList},
	{"invalid reference", tool.NotFound, hintBranches},
	{"not a valid object name", tool.NotFound, hintList},
	{"could not resolve", tool.NotFound, hintList},
	{"not a commit", tool.NotFound, hintList},
	{"branch*not found", tool.NotFound, hintBranches},
	{"no branch named", tool.NotFound, hintBranches},
	{"is not a valid branch name", tool.Invalid,
		"a branch name has no spaces, no .. and no ~^:?*[ and does not begin with a dash"},
	{"is not a valid reference", tool.NotFound, "git.stash with action list lists what there is"},
	{"No stash entries found", tool.NotFound, "nothing is stashed"},
	{"unable to normalize alternate object path", tool.Denied,
		"the repository borrows objects from a repository outside the workspace, which cannot be reached"},
	{"Could not read from remote", tool.Failed, ""},
	{"No space left on device", tool.Unavailable, "free some space and try again"},
	{"Read-only file system", tool.Denied, "the command would have changed files that it may not change"},
	{"Permission denied", tool.Denied, "check the owner and the mode of the repository's files"},
}

// Failure turns a failed run of Git into an error that says what to do next.
func Failure(op string, out *Output) *tool.Error {
	said := oneLine(out.Log)
	e := &tool.Error{Op: op, Kind: tool.Failed, Message: "git: " + said}
	if said == "" {
		e.Message = "git failed and said nothing"
		if text := oneLine(porcelain.Text(out.Text)); text != "" {
			e.Message = "git: " + text
		}
	}
	for _, f := range failures {
		if containsInOrder(out.Log, f.says) {
			e.Kind, e.Hint = f.kind, f.hint
			break
		}
	}
	return e
}

func containsInOrder(text, parts string) bool {
	for part := range strings.SplitSeq(parts, "*") {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// oneLine makes a log one line, without warnings and hints and without the
// words fatal and error.
func oneLine(log string) string {
	const maxLength = 600
	var kept []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "hint:") || strings.HasPrefix(line, "warning:") {
			continue
		}
		for _, prefix := range []string{"fatal: ", "error: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		kept = append(kept, line)
	}
	return tool.TruncateTo(strings.Join(kept, "; "), maxLength)
}
