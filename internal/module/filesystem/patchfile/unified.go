package patchfile

import (
	"strconv"
	"strings"
)

const noFile = "/dev/null"

// readUnified reads a unified diff.
func (r *reader) readUnified(p *Patch) error {
	for {
		f, found, err := r.readHeader()
		if err != nil {
			return err
		}
		if !found {
			return nil
		}
		for line, ok := r.peek(); ok && strings.HasPrefix(line, "@@"); line, ok = r.peek() {
			h, err := r.readUnifiedHunk(&f)
			if err != nil {
				return err
			}
			f.Hunks = append(f.Hunks, h)
		}
		if err := finishUnified(&f); err != nil {
			return err
		}
		p.Files = append(p.Files, f)
	}
}

// readHeader reads up to the first hunk of a file. Text that belongs to no file, such
// as a mail's, is passed over.
func (r *reader) readHeader() (f File, found bool, err error) {
	var from, to string
	git := false
	for ; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		switch {
		case strings.HasPrefix(line, "diff --git "):
			if git {
				return f, true, r.nameFile(&f, from, to)
			}
			git, f.Line = true, r.line()
		case strings.HasPrefix(line, "GIT binary patch"), strings.HasPrefix(line, "Binary files "):
			return f, false, r.errorf("a patch of a binary file cannot be applied")
		case git && strings.HasPrefix(line, "copy from "):
			return f, false, r.errorf("a patch that copies a file cannot be applied")
		case git && strings.HasPrefix(line, "rename from "):
			from = "a/" + strings.TrimPrefix(line, "rename from ")
		case git && strings.HasPrefix(line, "rename to "):
			to = "b/" + strings.TrimPrefix(line, "rename to ")
		case r.atNames():
			if f.Line == 0 {
				f.Line = r.line()
			}
			old, new, err := r.names()
			if err != nil {
				return f, false, err
			}
			if from != "" && (old != from || new != to) { // a file that was renamed, and no more
				return f, true, r.nameFile(&f, from, to)
			}
			r.at += 2
			return f, true, r.nameFile(&f, old, new)
		case strings.HasPrefix(line, "@@"):
			return f, false, r.errorf(`a hunk comes before the names of its file, "--- a/PATH" and "+++ b/PATH"`)
		}
	}
	if from != "" && to != "" {
		return f, true, r.nameFile(&f, from, to)
	}
	return f, false, nil
}

// atNames reports whether the names of a file come next.
func (r *reader) atNames() bool {
	return r.at+1 < len(r.lines) && strings.HasPrefix(r.lines[r.at], "--- ") &&
		strings.HasPrefix(r.lines[r.at+1], "+++ ")
}

// names reads the two lines with the names of a file.
func (r *reader) names() (old, new string, err error) {
	old, err = fileName(r.lines[r.at][4:])
	if err == nil {
		new, err = fileName(r.lines[r.at+1][4:])
	}
	if err != nil {
		err = r.errorf("the name of the file cannot be read: %v", err)
	}
	return old, new, err
}

// nameFile gives a file its names, without the prefixes of Git.
func (r *reader) nameFile(f *File, from, to string) error {
	if from == "" && to == "" {
		return &Error{f.Line, `the part names no file with "--- a/PATH" and "+++ b/PATH"`}
	}
	if (from == noFile || strings.HasPrefix(from, "a/")) && (to == noFile || strings.HasPrefix(to, "b/")) {
		if from != noFile {
			from = from[2:]
		}
		if to != noFile {
			to = to[2:]
		}
	}
	switch {
	case from == "" || to == "" || from == noFile && to == noFile:
		return &Error{f.Line, "a name is missing"}
	case from == noFile:
		f.Action, f.Path = Add, to
	case to == noFile:
		f.Action, f.Path = Delete, from
	default:
		f.Path = from
		if to != from {
			f.MoveTo = to
		}
	}
	return nil
}

// fileName reads a name after --- or +++: up to a tab, after which diff writes the
// time, or in quotes, as Git writes it.
func fileName(text string) (string, error) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", err
		}
		return strconv.Unquote(quoted)
	}
	name, _, _ := strings.Cut(text, "\t")
	return strings.TrimSpace(name), nil
}

// unifiedStart reads the first old line of an @@ line of a unified diff; -1 if it is
// not one. The numbers may be wrong.
func unifiedStart(line string) (start int, rest string) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return -1, ""
	}
	numbers, rest, ok := strings.Cut(rest, " @@")
	if !ok {
		return -1, ""
	}
	old, _, _ := strings.Cut(numbers, " ")
	old, count, _ := strings.Cut(old, ",")
	n, err := strconv.Atoi(old)
	if err != nil || n < 0 {
		return -1, ""
	}
	if count == "0" { // it comes after that line
		n++
	}
	return max(n, 1), rest
}

// oldNew reads how many lines of the old and of the new file a hunk says that it has.
func oldNew(line string) (left [2]int) {
	numbers, _, _ := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@")
	for i, part := range strings.Fields(numbers) {
		if i > 1 {
			break
		}
		left[i] = 1
		if _, count, ok := strings.Cut(part, ","); ok {
			left[i], _ = strconv.Atoi(count)
		}
	}
	return left
}

func (r *reader) readUnifiedHunk(f *File) (Hunk, error) {
	h := Hunk{Line: r.line()}
	line, _ := r.peek()
	if h.Start, _ = unifiedStart(line); h.Start < 0 {
		h.Start = 0
	}
	left := oldNew(line)
	for r.at++; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		complete := left[0] <= 0 && left[1] <= 0
		if strings.HasPrefix(line, `\`) { // \ No newline at end of file
			if n := len(h.Lines); n > 0 && h.Lines[n-1].Sign != '-' {
				f.End = WithoutNewline
			} else if f.End == SameEnd {
				f.End = WithNewline
			}
			h.EndOfFile = true
			continue
		}
		if strings.HasPrefix(line, "@@") || complete && r.atNames() || strings.HasPrefix(line, "diff --git ") {
			break
		}
		one, ok := hunkLine(line)
		if !ok {
			if complete || strings.HasPrefix(line, "```") {
				break
			}
			return h, r.errorf("a line of a hunk begins with a space, - or +; this one is %q", shorten(line))
		}
		if one.Sign != '+' {
			left[0]--
		}
		if one.Sign != '-' {
			left[1]--
		}
		h.Lines = append(h.Lines, one)
	}
	if h.Lines = trimBare(h.Lines); len(h.Lines) == 0 {
		return h, &Error{h.Line, "the hunk has no lines"}
	}
	return h, nil
}

// finishUnified makes of the hunks of a new file its lines.
func finishUnified(f *File) error {
	switch f.Action {
	case Add:
		for _, h := range f.Hunks {
			for _, line := range h.Lines {
				if line.Sign != '+' {
					return &Error{h.Line, "the new file " + f.Path + " can have only lines that come, each after a +"}
				}
				f.Lines = append(f.Lines, line.Text)
			}
		}
		f.Hunks = nil
	case Update:
		if len(f.Hunks) == 0 && f.MoveTo == "" {
			return &Error{f.Line, "the change of " + f.Path + " has no hunk"}
		}
	}
	return nil
}
