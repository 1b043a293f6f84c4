package porcelain

import (
	"strconv"
	"strings"
)

// CommitFormat is the option of git log -z whose output ParseCommits reads. No
// field holds a zero byte: Git ends a message at the first one.
const CommitFormat = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%cI%x00%D%x00%B"

const commitFields = 9

// Commit is one commit.
type Commit struct {
	ID        string   `json:"id"`
	Parents   []string `json:"parents"`
	Author    string   `json:"author"`
	Email     string   `json:"email"`
	Date      string   `json:"date"` // of the author, in ISO 8601
	Committer string   `json:"committer,omitempty"`
	Committed string   `json:"committed,omitempty"`
	Refs      []string `json:"refs,omitempty"`
	Subject   string   `json:"subject"`
	Body      string   `json:"body,omitempty"`
}

// Short is the start of the id, enough for people.
func (c *Commit) Short() string { return ShortID(c.ID) }

// ShortID is the start of an object's id.
func ShortID(id string) string { return id[:min(len(id), 10)] }

// ParseCommits reads any number of commits.
func ParseCommits(data string) ([]Commit, error) {
	var all []Commit
	for data != "" {
		c, rest, err := CutCommit(data)
		if err != nil {
			return nil, err
		}
		all, data = append(all, c), rest
	}
	return all, nil
}

// CutCommit reads the first commit and returns what follows it.
func CutCommit(data string) (c Commit, rest string, err error) {
	fields := strings.SplitN(data, "\x00", commitFields+1)
	if len(fields) != commitFields+1 || !isID(fields[0]) {
		return Commit{}, "", malformed("log", data)
	}
	c = Commit{
		ID: fields[0], Parents: strings.Fields(fields[1]),
		Author: Text(fields[2]), Email: Text(fields[3]), Date: Text(fields[4]),
	}
	if fields[5] != fields[2] {
		c.Committer = Text(fields[5])
	}
	if fields[6] != fields[4] {
		c.Committed = Text(fields[6])
	}
	if c.Parents == nil {
		c.Parents = []string{}
	}
	if fields[7] != "" {
		c.Refs = strings.Split(Text(fields[7]), ", ")
	}
	message := strings.Trim(Text(fields[8]), "\n")
	c.Subject, c.Body, _ = strings.Cut(message, "\n")
	c.Body = strings.Trim(c.Body, "\n")
	return c, fields[commitFields], nil
}

// isID reports whether text is the id of an object, by SHA-1 or SHA-256.
func isID(text string) bool {
	if len(text) != 40 && len(text) != 64 {
		return false
	}
	return strings.Trim(text, "0123456789abcdef") == ""
}

// File is how many lines of one file a patch changes.
type File struct {
	Path    Name `json:"path"`
	From    Name `json:"from,omitempty"` // of a rename or a copy
	Added   int  `json:"added"`
	Deleted int  `json:"deleted"`
	Binary  bool `json:"binary,omitempty"`
}

// CutNumstat reads the files of git diff --numstat -z, up to an empty record or
// the end, and returns what follows: the patch, with --patch.
func CutNumstat(data string) (files []File, rest string, err error) {
	for data != "" {
		record, after, ok := strings.Cut(data, "\x00")
		switch {
		case ok && record == "":
			return files, after, nil
		case !ok:
			return nil, "", malformed("numstat", record)
		}
		fields := strings.SplitN(record, "\t", 3)
		if len(fields) != 3 {
			return nil, "", malformed("numstat", record)
		}
		f := File{Path: Name(fields[2]), Binary: fields[0] == "-"}
		if !f.Binary {
			var err2 error
			f.Added, err = strconv.Atoi(fields[0])
			f.Deleted, err2 = strconv.Atoi(fields[1])
			if err != nil || err2 != nil {
				return nil, "", malformed("numstat", record)
			}
		}
		if f.Path == "" { // a rename: the two names follow
			names := strings.SplitN(after, "\x00", 3)
			if len(names) != 3 || names[0] == "" || names[1] == "" {
				return nil, "", malformed("numstat", record)
			}
			f.From, f.Path, after = Name(names[0]), Name(names[1]), names[2]
		}
		files, data = append(files, f), after
	}
	return files, "", nil
}

// Sections divides a patch into its files. Text before the first file is a
// section of its own.
func Sections(patch string) []string {
	var all []string
	start := 0
	for at := 0; at < len(patch); {
		end := strings.IndexByte(patch[at:], '\n')
		next := len(patch)
		if end >= 0 {
			next = at + end + 1
		}
		// Lines of a file begin with a space, a sign or a backslash, so this
		// is not one.
		if at > start && strings.HasPrefix(patch[at:], "diff --") {
			all, start = append(all, patch[start:at]), at
		}
		at = next
	}
	if start < len(patch) {
		all = append(all, patch[start:])
	}
	return all
}
