// Package rulefiles knows the files that hold the rules of agents: app files and what
// they read, the folders of executable tools, and Git's own folder. Law: files are
// compared by identity, because a path may be a link or be written in another case.
package rulefiles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/tool"
)

// Names of files and folders that hold rules wherever they lie in a workspace: an
// app file is in force in its folder and below, and Git runs what its folder
// says.
const (
	appFileName   = "callgate.yaml"
	gitFolderName = ".git"
)

// Set is the files with rules of one session.
type Set struct {
	Workspace string
	Files     []string // absolute paths that the app names
}

// Changed returns which of the files that hold the rules of agents a call would
// change. A claim on the whole workspace says nothing about a file in it;
// the sandbox keeps those read-only.
func (s Set) Changed(claims []tool.Claim) []string {
	var found []string
	for _, claim := range claims {
		path, isFile := strings.CutPrefix(claim.Resource, "file:")
		path = filepath.FromSlash(path)
		if !isFile || !claim.Mode.Writes() || strings.EqualFold(path, s.Workspace) {
			continue
		}
		if s.isRuleFile(path) || claim.Mode == tool.X && s.containsRuleFile(path) {
			found = append(found, path)
		}
	}
	return found
}

// isRuleFile reports whether a path is a file that holds rules, or lies in a
// folder of them. It compares files and not only names: a path may be a hard
// link, or be written in another case.
func (s Set) isRuleFile(path string) bool {
	below, _ := filepath.Rel(s.Workspace, path)
	for _, part := range strings.Split(below, string(filepath.Separator)) {
		if strings.EqualFold(part, gitFolderName) {
			return true
		}
	}
	if strings.EqualFold(filepath.Base(path), appFileName) {
		return true
	}
	rules := s.ruleInfos()
	for dir := path; ; dir = filepath.Dir(dir) {
		if sameAsAny(dir, rules) {
			return true
		}
		for _, rule := range s.Files {
			if strings.EqualFold(dir, rule) { // it need not exist
				return true
			}
		}
		if dir == s.Workspace || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// containsRuleFile reports whether a file that holds rules lies below a path, so
// that what happens to the path happens to it.
func (s Set) containsRuleFile(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if holdsRules(path) {
		return true
	}
	for _, rule := range s.Files {
		if !exists(rule) {
			continue
		}
		for dir := rule; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if sameAsAny(dir, []os.FileInfo{info}) {
				return true
			}
		}
	}
	return false
}

// ruleInfos returns the identity of each file that holds rules and exists, and
// of the folder in which Git keeps those of the workspace.
func (s Set) ruleInfos() []os.FileInfo {
	var infos []os.FileInfo
	for _, path := range append([]string{filepath.Join(s.Workspace, gitFolderName)}, s.Files...) {
		if info, err := os.Stat(path); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}

func sameAsAny(path string, infos []os.FileInfo) bool {
	if len(infos) == 0 {
		return false
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, other := range infos {
		if os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// ReadOnly returns the files with rules that a process may not write: all but
// those that a human approved for this call, with what lies around or below them.
// Some of them are not there, and must not come to be.
func (s Set) ReadOnly(approved []string) []string {
	all := append(s.gitFiles(), s.Files...)
	own := filepath.Join(s.Workspace, appFileName)
	if _, err := os.Lstat(own); err == nil || s.ruledFromAbove() {
		all = append(all, own)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real // as the approved ones are written
		}
		return slices.ContainsFunc(approved, func(p string) bool { return isWithin(p, path) || isWithin(path, p) })
	})
}

func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Reason says to a human what a call that changes rules is.
func Reason(paths []string) string {
	return "this changes the rules that agents work by: " + tool.TruncateTo(strings.Join(paths, ", "), 300)
}
