package porcelain

import (
	"fmt"
	"strconv"
	"strings"
)

// Status is the state of a working tree.
type Status struct {
	Branch   string // "" if HEAD is detached
	Head     string // the commit; "" before the first one
	Upstream string
	Ahead    int
	Behind   int
	Tracked  bool // the upstream exists, so Ahead and Behind are known
	Stashes  int
	Changes  []Change
}

// Change is one path that differs from the last commit.
type Change struct {
	Path     Name
	From     Name // of a rename or a copy
	Staged   byte // Git's letter for how the index differs from the commit; '.': not at all
	Unstaged byte // Git's letter for how the working tree differs from the index
	Kind     ChangeKind
	Module   bool // it is a submodule
}

// ChangeKind is the kind of a change.
type ChangeKind byte

// The kinds, by the first character of their records.
const (
	Ordinary  ChangeKind = '1'
	Renamed   ChangeKind = '2'
	Unmerged  ChangeKind = 'u'
	Untracked ChangeKind = '?'
	Ignored   ChangeKind = '!'
)

// ParseStatus reads git status --porcelain=v2 --branch --show-stash -z.
func ParseStatus(data string) (*Status, error) {
	s := &Status{}
	for data != "" {
		record, rest, ok := strings.Cut(data, "\x00")
		if !ok {
			return nil, malformed("status", record)
		}
		data = rest
		if header, ok := strings.CutPrefix(record, "# "); ok {
			s.header(header)
			continue
		}
		c, err := parseChange(record)
		if err != nil {
			return nil, err
		}
		if c.Kind == Renamed {
			from, rest, ok := strings.Cut(data, "\x00")
			if !ok {
				return nil, malformed("status", record)
			}
			c.From, data = Name(from), rest
		}
		s.Changes = append(s.Changes, c)
	}
	return s, nil
}

func (s *Status) header(line string) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if value != "(detached)" {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		_, err := fmt.Sscanf(value, "+%d -%d", &s.Ahead, &s.Behind)
		s.Tracked = err == nil
	case "stash":
		s.Stashes, _ = strconv.Atoi(value)
	}
}

// parseChange reads one record. Each kind has a fixed number of fields before
// its path.
func parseChange(record string) (Change, error) {
	if len(record) < 3 || record[1] != ' ' {
		return Change{}, malformed("status", record)
	}
	c := Change{Kind: ChangeKind(record[0]), Staged: '.', Unstaged: '.'}
	last := map[ChangeKind]int{Ordinary: 8, Renamed: 9, Unmerged: 10}[c.Kind] // the field that is the path
	switch c.Kind {
	case Untracked, Ignored:
		c.Path = Name(record[2:])
		return c, nil
	case Ordinary, Renamed, Unmerged:
	default:
		return Change{}, malformed("status", record)
	}
	fields := strings.SplitN(record, " ", last+1)
	if len(fields) != last+1 || len(fields[1]) != 2 || len(fields[2]) != 4 || fields[last] == "" {
		return Change{}, malformed("status", record)
	}
	c.Staged, c.Unstaged = fields[1][0], fields[1][1]
	c.Module = fields[2][0] == 'S'
	c.Path = Name(fields[last])
	return c, nil
}

// Line writes the change as git status --short does.
func (c Change) Line() string {
	switch {
	case c.Kind == Untracked || c.Kind == Ignored:
		return string([]byte{byte(c.Kind), byte(c.Kind)}) + " " + c.Path.String() + "\n"
	case c.From != "":
		return c.letters() + " " + c.From.String() + " -> " + c.Path.String() + "\n"
	default:
		return c.letters() + " " + c.Path.String() + "\n"
	}
}

func (c Change) letters() string {
	return strings.ReplaceAll(Text(string([]byte{c.Staged, c.Unstaged})), ".", " ")
}

// malformed is the error for a record of a command's output that cannot be
// parsed.
func malformed(command, record string) error {
	const maxShown = 60
	if len(record) > maxShown {
		record = record[:maxShown] + "…"
	}
	return fmt.Errorf("git %s printed a record that was not understood: %q", command, record)
}
