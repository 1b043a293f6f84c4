package patchfile

import "strings"

// The markers of the form that begins with *** Begin Patch.
const (
	endPatch   = "*** End Patch"
	endOfFile  = "*** End of File"
	addFile    = "*** Add File:"
	deleteFile = "*** Delete File:"
	updateFile = "*** Update File:"
	moveTo     = "*** Move to:"
)

// readMarked reads the form that begins with *** Begin Patch.
func (r *reader) readMarked(p *Patch) error {
	if line, _ := r.peek(); strings.TrimSpace(line) == beginPatch {
		r.at++
	}
	for {
		line, ok := r.peek()
		switch {
		case !ok:
			return &Error{0, `the patch does not end in "*** End Patch"`}
		case strings.TrimSpace(line) == endPatch:
			return r.expectEnd()
		case strings.TrimSpace(line) == "":
			r.at++
			continue
		}
		f, err := r.readFile(line)
		if err != nil {
			return err
		}
		p.Files = append(p.Files, f)
	}
}

// expectEnd lets nothing follow the end of a patch but a fence.
func (r *reader) expectEnd() error {
	for r.at++; r.at < len(r.lines); r.at++ {
		line := strings.TrimSpace(r.lines[r.at])
		if line != "" && !strings.HasPrefix(line, "```") && line != "EOF" && line != "PATCH" {
			return r.errorf(`there is text after "*** End Patch"; one patch holds all files`)
		}
	}
	return nil
}

func (r *reader) readFile(line string) (File, error) {
	f := File{Line: r.line()}
	var err error
	switch {
	case strings.HasPrefix(line, addFile):
		f.Action = Add
		if f.Path, err = r.name(line, addFile); err == nil {
			r.at++
			err = r.readAdded(&f)
		}
	case strings.HasPrefix(line, deleteFile):
		f.Action = Delete
		f.Path, err = r.name(line, deleteFile)
		r.at++
	case strings.HasPrefix(line, updateFile):
		if f.Path, err = r.name(line, updateFile); err == nil {
			r.at++
			err = r.readUpdate(&f)
		}
	default:
		err = r.errorf(`it should be "*** Add File: PATH", "*** Update File: PATH", "*** Delete File: PATH" or `+
			`"*** End Patch", and is %q`, shorten(line))
	}
	return f, err
}

func (r *reader) readAdded(f *File) error {
	for line, ok := r.peek(); ok && !strings.HasPrefix(line, "*** "); line, ok = r.peek() {
		text, plus := strings.CutPrefix(line, "+")
		if !plus {
			if strings.TrimSpace(line) == "" && r.nextIsMarker() {
				r.at++
				continue
			}
			return r.errorf("each line of the new file %q begins with a +; this one is %q", f.Path, shorten(line))
		}
		f.Lines = append(f.Lines, text)
		r.at++
	}
	return nil
}

// nextIsMarker reports whether only blank lines come before the next marker.
func (r *reader) nextIsMarker() bool {
	for _, line := range r.lines[r.at:] {
		if strings.TrimSpace(line) != "" {
			return strings.HasPrefix(line, "*** ")
		}
	}
	return true
}

func (r *reader) readUpdate(f *File) error {
	if line, ok := r.peek(); ok && strings.HasPrefix(line, moveTo) {
		name, err := r.name(line, moveTo)
		if err != nil {
			return err
		}
		f.MoveTo = name
		r.at++
	}
	for line, ok := r.peek(); ok && (!strings.HasPrefix(line, "*** ") || line == endOfFile); line, ok = r.peek() {
		h, err := r.readHunk(len(f.Hunks) == 0)
		if err != nil {
			return err
		}
		if len(h.Lines) > 0 {
			f.Hunks = append(f.Hunks, h)
		}
	}
	if len(f.Hunks) == 0 && f.MoveTo == "" {
		return &Error{f.Line, "the update of " + f.Path + " changes nothing: it has no hunk"}
	}
	return nil
}

// readHunk reads the @@ lines of a hunk, which the first may lack, and its lines.
func (r *reader) readHunk(first bool) (Hunk, error) {
	h := Hunk{Line: r.line()}
	named := false
	for line, ok := r.peek(); ok && strings.HasPrefix(line, "@@"); line, ok = r.peek() {
		named = true
		if start, _ := unifiedStart(line); start >= 0 {
			h.Start = start
		} else if above := strings.TrimSpace(strings.TrimSuffix(line[2:], "@@")); above != "" {
			h.Above = append(h.Above, above)
		}
		r.at++
	}
	for line, ok := r.peek(); ok && !strings.HasPrefix(line, "@@"); line, ok = r.peek() {
		if line == endOfFile {
			h.EndOfFile = true
			r.at++
			break
		}
		if strings.HasPrefix(line, "*** ") {
			break
		}
		one, ok := hunkLine(line)
		if !ok {
			return h, r.errorf("a line of a hunk begins with a space, - or +; this one is %q", shorten(line))
		}
		h.Lines = append(h.Lines, one)
		r.at++
	}
	if h.Lines = trimBare(h.Lines); len(h.Lines) == 0 && (named || !first) && !h.EndOfFile {
		return h, &Error{h.Line, "the hunk has no lines"}
	}
	return h, nil
}

// shorten shortens a line for an error.
func shorten(line string) string {
	const most = 80
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "…"
}
