package porcelain

import (
	"strconv"
	"strings"
)

// RefFormat is the option of git for-each-ref whose output ParseRefs reads.
const RefFormat = "--format=%(refname)%00%(objectname)%00%(upstream)%00%(upstream:track,nobracket)%00" +
	"%(committerdate:iso-strict)%00%(HEAD)%00%(symref)%00%(contents:subject)%00"

const refFields = 8

// Ref is one reference.
type Ref struct {
	Name     string // full, as refs/heads/main
	ID       string
	Upstream string // full
	Track    string // "ahead 1, behind 2", "gone", or ""
	Date     string
	Current  bool   // HEAD is at it
	Symbolic string // the reference that a symbolic one points to
	Subject  string
}

// ParseRefs reads references.
func ParseRefs(data string) ([]Ref, error) {
	var all []Ref
	for data != "" {
		fields := strings.SplitN(data, "\x00", refFields+1)
		if len(fields) != refFields+1 || !strings.HasPrefix(fields[0], "refs/") || !isID(fields[1]) {
			return nil, malformed("for-each-ref", data)
		}
		all = append(all, Ref{
			Name: Text(fields[0]), ID: fields[1], Upstream: Text(fields[2]), Track: Text(fields[3]), Date: Text(fields[4]),
			Current: fields[5] == "*", Symbolic: Text(fields[6]), Subject: Text(fields[7]),
		})
		data = strings.TrimPrefix(fields[refFields], "\n")
	}
	return all, nil
}

// Object is one object in the output of git cat-file --batch.
type Object struct {
	ID      string
	Type    string // blob, tree, commit or tag
	Size    int64
	Content string // as much of it as was read
}

// ParseObject reads one object, whose content may be cut. It reports false if
// there is no such object.
func ParseObject(data string) (Object, bool, error) {
	header, rest, ok := strings.Cut(data, "\n")
	fields := strings.Fields(header)
	if !ok || len(fields) < 2 {
		return Object{}, false, malformed("cat-file", header)
	}
	if last := fields[len(fields)-1]; last == "missing" || last == "ambiguous" {
		return Object{}, false, nil
	}
	if len(fields) != 3 || !isID(fields[0]) {
		return Object{}, false, malformed("cat-file", header)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, false, malformed("cat-file", header)
	}
	return Object{ID: fields[0], Type: fields[1], Size: size, Content: rest[:min(int64(len(rest)), size)]}, true, nil
}

// TreeEntry is one name in a tree.
type TreeEntry struct {
	Mode string
	Name Name
}

// ParseTree reads the content of a tree object, whose ids have idSize bytes.
func ParseTree(content string, idSize int) ([]TreeEntry, error) {
	var all []TreeEntry
	for content != "" {
		entry, rest, ok := strings.Cut(content, "\x00")
		mode, name, ok2 := strings.Cut(entry, " ")
		if !ok || !ok2 || name == "" || len(rest) < idSize || strings.Trim(mode, "01234567") != "" {
			return nil, malformed("tree", entry)
		}
		all, content = append(all, TreeEntry{mode, Name(name)}), rest[idSize:]
	}
	return all, nil
}

// ParseAttributes reads git check-attr -z for one attribute, and returns the
// paths for which the attribute has a text as its value.
func ParseAttributes(data string) (map[Name]string, error) {
	found := map[Name]string{}
	for data != "" {
		fields := strings.SplitN(data, "\x00", 4)
		if len(fields) != 4 {
			return nil, malformed("check-attr", data)
		}
		switch fields[2] {
		case "unspecified", "unset", "set", "":
		default:
			found[Name(fields[0])] = Text(fields[2])
		}
		data = fields[3]
	}
	return found, nil
}

// StashFormat is the option of git log --walk-reflogs -z whose output
// ParseStashes reads.
const StashFormat = "--format=tformat:%H%x00%cI%x00%gs"

// Stash is one stash.
type Stash struct {
	Index   int    `json:"index"` // 0 is the latest
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	Message string `json:"message"`
}

// Ref is the stash's name for Git.
func (s Stash) Ref() string { return "stash@{" + strconv.Itoa(s.Index) + "}" }

// ParseStashes reads stashes, the latest first.
func ParseStashes(data string) ([]Stash, error) {
	all := []Stash{}
	for data != "" {
		fields := strings.SplitN(data, "\x00", 4)
		if len(fields) != 4 || !isID(fields[0]) {
			return nil, malformed("stash list", data)
		}
		all = append(all, Stash{len(all), fields[0], Text(fields[1]), Text(fields[2])})
		data = fields[3]
	}
	return all, nil
}
