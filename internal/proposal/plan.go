package proposal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"callgate/internal/linediff"
	"callgate/internal/visible"
)

// Plan is what accepting a proposal would do.
type Plan struct {
	Files []File
	// Allows is what could be done after it and could not before ("+ …"), and the other way
	// round ("- …").
	Allows []string
	// Consent is what the same yes accepts of the app file, as package consent shows it.
	Consent string
	Notes   []string // what follows, and what does not
	Tried   []string // what would have become of recorded calls. It is no part of the digest
	// Hunks says that the plan is a file of the workspace, which may be answered hunk by hunk.
	Hunks []linediff.Hunk
}

// File is a file that would change.
type File struct {
	Base   string // the folder that it may not leave
	Name   string // with slashes, relative to Base
	Shown  string // as people write it
	Before []byte // nil: there is none
	After  []byte // nil: there is to be none
	Mode   fs.FileMode
}

// Changes reports whether the file is to be another one.
func (f File) Changes() bool {
	return f.Before == nil || f.After == nil || string(f.Before) != string(f.After)
}

// Digest is that of everything that a human decides on.
func (p *Plan) Digest(id string) string {
	h := sha256.New()
	part := func(text string) { fmt.Fprintf(h, "%d\n%s\n", len(text), text) }
	part(id)
	for _, f := range p.Files {
		part(f.Base)
		part(f.Name)
		part(fmt.Sprint(f.Mode, f.Before == nil, f.After == nil))
		part(string(f.Before))
		part(string(f.After))
	}
	part(strings.Join(p.Allows, "\n"))
	part(p.Consent)
	return hex.EncodeToString(h.Sum(nil))
}

// Text is the plan as a human is shown it. Nothing in it acts on a terminal.
func (p *Plan) Text() string {
	var b strings.Builder
	for _, f := range p.Files {
		f.write(&b, p.Hunks)
	}
	section := func(head string, lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n" + head + "\n")
		}
		for _, line := range lines {
			b.WriteString("  " + visible.Text(line) + "\n")
		}
	}
	if len(p.Allows) == 0 && p.Hunks == nil {
		b.WriteString("\nwhat it would allow: nothing that is not allowed now\n")
	}
	section("what it would allow (+), and no longer (-):", p.Allows)
	if p.Consent != "" {
		section("accepting it accepts this of the app file:", strings.Split(p.Consent, "\n"))
	}
	section("of the recorded calls:", p.Tried)
	section("note:", p.Notes)
	return strings.TrimPrefix(b.String(), "\n")
}

// write shows how a file would change, with the IDs of its hunks where they are answered one
// by one.
func (f File) write(b *strings.Builder, hunks []linediff.Hunk) {
	name := visible.Text(f.Shown)
	switch {
	case f.Before == nil && f.Mode&0o100 != 0:
		fmt.Fprintf(b, "\nnew file %s, executable\n", name)
	case f.Before == nil:
		fmt.Fprintf(b, "\nnew file %s\n", name)
	case !f.Changes():
		fmt.Fprintf(b, "\n%s is as it should be\n", name)
	case f.After == nil:
		fmt.Fprintf(b, "\n%s is deleted\n", name)
	default:
		fmt.Fprintf(b, "\n%s\n", name)
	}
	n := 0
	for _, l := range linediff.Unified(string(f.Before), string(f.After)) {
		text := visible.Lines(strings.ReplaceAll(l.Text, "\n\\ no newline at the end", " ⟨no newline at the end⟩"))
		if l.Sign == '@' {
			if n < len(hunks) {
				text += " hunk " + hunks[n].ID
			}
			n++
			b.WriteString("  " + text + "\n")
			continue
		}
		fmt.Fprintf(b, "  %c %s\n", l.Sign, text)
	}
}

// Difference is what is in one list and not in the other, as lines with a sign.
func Difference(before, after []string) (lines []string) {
	for _, line := range after {
		if !slices.Contains(before, line) {
			lines = append(lines, "+ "+line)
		}
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, "- "+line)
		}
	}
	return lines
}
