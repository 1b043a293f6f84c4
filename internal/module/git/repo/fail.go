package repo

import (
	"strings"

	"callgate/internal/module/git/porcelain"
	"callgate/tool"
)

// failures are what Git says when it fails, what that is, and what to do next.
// The first that fits counts.
var failures = []struct {
	says string // all of the parts between the stars, in this order
	kind tool.Kind
	hint string
}{
	{"index.lock*File exists", tool.Busy, "another git process is working in this repository; try again in a moment. If none is, one was killed: ask the user to delete the lock file"},
	{"cannot lock ref", tool.Busy, "another git process may be working in this repository, or a branch of a similar name is in the way (a/b where a exists)"},
	{"would be overwritten", tool.Conflict, "nothing was changed: commit these changes or stash them first"},
	{"needs merge", tool.Conflict, "solve the conflicts, git.add the files and git.commit first"},
	{"you need to resolve your current index first", tool.Conflict, "solve the conflicts, git.add the files and git.commit first"},
	{"not fully merged", tool.Conflict, "its commits are on no other branch: merge it first, or use force where that is allowed"},
	{"already exists", tool.Conflict, "choose another name, or delete the old one first"},
	{"is already checked out at", tool.Conflict, "another working tree has that branch checked out"},
	{"is already used by worktree", tool.Conflict, "another working tree has that branch checked out"},
	{"did not match any file", tool.NotFound, "paths are relative to the repository and literal: no * and no ?; git.status and filesystem.glob say what is there"},
	{"no such path", tool.NotFound, "paths are relative to the repository; the file may have another name at that revision"},
	{"no such ref", tool.NotFound, "git.branches and git.log say what there is"},
	{"unknown revision", tool.NotFound, "git.branches and git.log say what there is"},
	{"bad revision", tool.NotFound, "git.branches and git.log say what there is"},
	{"invalid reference", tool.NotFound, "git.branches says what there is"},
	{"not a valid object name", tool.NotFound, "git.branches and git.log say what there is"},
	{"could not resolve", tool.NotFound, "git.branches and git.log say what there is"},
	{"not a commit", tool.NotFound, "git.branches and git.log say what there is"},
	{"branch*not found", tool.NotFound, "git.branches says what there is"},
	{"no branch named", tool.NotFound, "git.branches says what there is"},
	{"is not a valid branch name", tool.Invalid, "a branch name has no spaces, no .. and no ~^:?*[ and does not begin with a dash"},
	{"is not a valid reference", tool.NotFound, "git.stash with action list says what there is"},
	{"No stash entries found", tool.NotFound, "nothing is stashed"},
	{"unable to normalize alternate object path", tool.Denied, "the repository borrows objects from one outside the workspace, which cannot be reached"},
	{"Could not read from remote", tool.Failed, ""},
	{"No space left on device", tool.Unavailable, "free some space and try again"},
	{"Read-only file system", tool.Denied, "it would have changed what it may not"},
	{"Permission denied", tool.Denied, "check the owner and the mode of the repository's files"},
}

// failure turns what Git said into an error that says what to do next.
func (r *Repository) failure(out *Output) error { return Failure(r.op, out) }

// Failure is what a failed run of Git's means.
func Failure(op string, out *Output) *tool.Error {
	said := sentence(out.Log)
	e := &tool.Error{Op: op, Kind: tool.Failed, Message: "git: " + said}
	if said == "" {
		e.Message = "git failed and said nothing"
		if text := sentence(porcelain.Text(out.Text)); text != "" {
			e.Message = "git: " + text
		}
	}
	for _, f := range failures {
		if says(out.Log, f.says) {
			e.Kind, e.Hint = f.kind, f.hint
			break
		}
	}
	return e
}

func says(text, parts string) bool {
	for part := range strings.SplitSeq(parts, "*") {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// sentence is what a log says, in one line: without warnings and hints, and
// without the word that begins it.
func sentence(log string) string {
	const most = 600
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
	return tool.TruncateTo(strings.Join(kept, "; "), most)
}
