package undoing

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"callgate/internal/conversation/history"
	"callgate/internal/linediff"
	"callgate/internal/module/workfile"
	"callgate/internal/undo"
	"callgate/tool"
)

// Preview is what an undo would do.
type Preview struct {
	ID           string // tells it from a preview of something else
	Workspace    string
	Conversation string // "": the calls are of none
	Turns        []Turn // that it undoes, with those that changed nothing
	Redo         bool   // it undoes an undo
	Calls        []undo.Entry
	Files        []File // that it changes, or cannot
	// Rules are the files among them that hold rules of agents.
	Rules []string
	// NotKept are paths of which nothing is kept.
	NotKept []undo.NotKept
	// Unnamed are the calls that may have changed other files too.
	Unnamed []undo.Entry
}

// Diff is how a file changes, for people.
type Diff struct {
	Text           string // unified; "": it is no text, or too large
	Added, Removed int
	Binary         bool
	Cut            bool // the text is not all of it
}

// Conflicts are the files that somebody else wrote since.
func (p *Preview) Conflicts() (found []File) {
	for _, f := range p.Files {
		if f.Conflict != nil {
			found = append(found, f)
		}
	}
	return found
}

// Changes reports whether the undo would change a file.
func (p *Preview) Changes() bool {
	for _, f := range p.Files {
		if f.Action != None && f.NotKept == "" {
			return true
		}
	}
	return false
}

// describe makes the preview of a plan.
func (u *Undoer) describe(ctx context.Context, c choice, made *plan, g tool.Grant) Preview {
	p := Preview{
		Workspace: c.workspace, Conversation: c.conversation, Turns: c.turns, Calls: c.calls, Redo: c.redo,
	}
	budget := maxDiffs
	for _, f := range made.files {
		if f.Action == None {
			continue
		}
		if ctx.Err() == nil && budget > 0 {
			f.Diff = u.diff(f, g)
			budget -= len(f.Diff.Text)
		}
		p.Files = append(p.Files, *f)
	}
	for _, e := range c.calls {
		p.NotKept = append(p.NotKept, e.NotKept...)
		if e.Unnamed {
			p.Unnamed = append(p.Unnamed, e)
		}
	}
	p.ID, p.Rules = fingerprint(p), u.rulesIn(ctx, p)
	return p
}

// The bounds of what is compared.
const (
	maxCompared = 1 << 20   // bytes of a text
	maxDiff     = 64 << 10  // bytes of one difference
	maxDiffs    = 512 << 10 // of all
)

// diff compares a file as it is with what it becomes.
func (u *Undoer) diff(f *File, g tool.Grant) Diff {
	if f.Action == MoveBack || f.Action == SetMode || f.NotKept != "" {
		return Diff{}
	}
	is, ok := u.textNow(f, g)
	was, ok2 := u.textWas(f)
	if !ok || !ok2 {
		return Diff{Binary: f.first.Kind == undo.File || f.now.Kind == undo.File}
	}
	var d Diff
	var b strings.Builder
	for _, line := range linediff.Unified(is, was) {
		switch line.Sign {
		case '+':
			d.Added++
		case '-':
			d.Removed++
		}
		if b.Len() > maxDiff {
			d.Cut = true
			continue
		}
		b.WriteString(line.String() + "\n")
	}
	d.Text = b.String()
	return d
}

// textNow is the text that lies at the path, if it is one.
func (u *Undoer) textNow(f *File, g tool.Grant) (string, bool) {
	switch f.now.Kind {
	case undo.Absent, undo.Folder:
		return "", true
	case undo.Link:
		return "link to " + f.now.Target + "\n", true
	case undo.File:
		file, info, err := workfile.OpenRegular(g.Root, f.Path)
		if err != nil {
			return "", false
		}
		defer file.Close()
		return readText(file, info.Size())
	}
	return "", false
}

// textWas is the text that lay at the path, if it was one.
func (u *Undoer) textWas(f *File) (string, bool) {
	switch f.first.Kind {
	case undo.Absent, undo.Folder:
		return "", true
	case undo.Link:
		return "link to " + f.first.Target + "\n", true
	case undo.File:
		if f.content == "" {
			return "", false
		}
		r, err := u.opt.Store.Content(f.content)
		if err != nil {
			return "", false
		}
		defer r.Close()
		return readText(r, f.first.Size)
	}
	return "", false
}

// readText reads a text that is not too large to compare.
func readText(r io.Reader, size int64) (string, bool) {
	if size > maxCompared {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(r, maxCompared+1))
	if err != nil || len(data) > maxCompared || !utf8.Valid(data) || strings.IndexByte(string(data), 0) >= 0 {
		return "", false
	}
	return string(data), true
}

// maxNamed is how many files the model is told by name.
const maxNamed = 50

// tell writes into the history what was undone, or takes the turns out of it.
func (u *Undoer) tell(ctx context.Context, log *history.Log, r Request, c choice, done *Done) error {
	if r.Rewind {
		return u.rewind(ctx, log, c, done)
	}
	if len(done.Put) == 0 {
		return nil
	}
	what := "The user has put files back to what they were before you changed them"
	if done.Redo {
		what = "The user has taken an undo back: files are again as you had changed them"
	}
	text := what + ": " + list(done.Put) + ". Read a file again before you change it."
	if len(done.Left)+len(done.Failed) > 0 {
		left := done.Left
		for _, f := range done.Failed {
			left = append(left, f.Path)
		}
		text += " These were not put back: " + list(left) + "."
	}
	m := history.KernelNote(text)
	return log.Append(ctx, history.Event{Type: history.Note, Message: &m})
}

// list names paths.
func list(paths []string) string {
	if n := len(paths) - maxNamed; n > 0 {
		return strings.Join(paths[:maxNamed], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(paths, ", ")
}

// rewind takes the turns out of what the model is shown, and tells it what of them is
// left in the files.
func (u *Undoer) rewind(ctx context.Context, log *history.Log, c choice, done *Done) error {
	at := -1
	for i, turn := range c.turns {
		if !turn.Cut {
			at = i
			break
		}
	}
	if at < 0 {
		return tool.Errorf(op, tool.NotFound, "there is no turn to go back to")
	}
	first := c.turns[at]
	before, err := u.endBefore(ctx, c.conversation, first.Seq)
	if err == nil {
		err = u.opt.Rewind(ctx, c.conversation, before) // first: who is cut off here goes back again
	}
	if err != nil {
		return err
	}
	_, err = log.Update(ctx, func(s *history.State) []history.Event {
		if !s.Starts(first.Seq) {
			return nil
		}
		events := s.Rewound(history.Rewind{Before: first.Seq, Turn: first.Number})
		left := done.Left
		for _, f := range done.Failed {
			left = append(left, f.Path)
		}
		if len(left) > 0 {
			m := history.KernelNote("The user went back to this point of the conversation. These files have changed " +
				"since, and were not put back: " + list(left) + ".")
			events = append(events, history.Event{Type: history.Note, Message: &m})
		}
		return events
	})
	done.Rewound = err == nil
	return err
}
