// Package skill reads skills: texts that tell a model how something is done, with files
// beside them, in the form that other agents have too (a folder with a SKILL.md).
//
// # Laws
//
//   - A skill is data until a human accepted it. Its digest covers every file of its
//     folder, so what was accepted is what is read: a file that has another content by
//     now is not given to anybody.
//   - Nothing of a folder is read through a link, and nothing outside of it. A folder
//     with a link, a pipe or another special file in it is refused as a whole, and so is
//     one that somebody else may write.
//   - A skill gives no rights. What it says of tools (allowed-tools, allowed_tools of a
//     state) narrows what may be called, or is a word to the model; it never widens.
//   - Nothing in a skill runs by itself. A script beside it is run by a call that goes
//     through the gate, as any other.
//   - Its size is bounded before it is read, and characters that a human would not see
//     are written out.
package skill

import (
	"fmt"
	"regexp"
	"strings"

	"callgate/tool"
)

// The bounds of a skill.
const (
	MaxText        = 64 << 10 // bytes of SKILL.md, or of skill.yaml
	MaxFile        = 4 << 20  // bytes of a file beside it
	MaxFolder      = 16 << 20 // bytes of all files together
	MaxFiles       = 500
	MaxShown       = 48 << 10 // bytes of a file that a model is given at once
	maxName        = 64
	maxDescription = 1024
	maxDepth       = 8
)

// TextFile is the file that makes a folder a skill, and SpecFile the one that may give it
// its states.
const (
	TextFile = "SKILL.md"
	SpecFile = "skill.yaml"
)

// Skill is a skill, read whole.
type Skill struct {
	Name        string
	Description string
	License     string
	Version     string
	// Tools are those that its author had in mind (allowed-tools). They give no rights.
	Tools    []string
	Metadata map[string]string
	// ForUser says that a model does not begin it by itself, and ForModel that people do
	// not begin it by its name.
	ForUser, ForModel bool
	Body              string
	Machine           *Machine // nil: a text without states

	Dir    string // its folder; "": it is in no file
	Path   string // of its text
	Files  []File // beside its text, by name
	Digest string // of everything that it is made of

	Notes []string // what its author should know
}

// File is a file beside a skill's text.
type File struct {
	Name string // with slashes, relative to the folder
	Size int64
	Sum  string // of its content
}

var nameForm = regexp.MustCompile(`^[a-z0-9]+(?:[-_][a-z0-9]+)*$`)

// CheckName reports a name that a skill cannot have.
func CheckName(name string) error {
	if len(name) > maxName || !nameForm.MatchString(name) {
		return tool.Errorf("skill.CheckName", tool.Invalid, "a skill cannot be called %q", tool.Truncate(name)).
			WithHint("use at most %d small letters, digits and single dashes, as in make-release", maxName)
	}
	return nil
}

// Text is what a model that uses the skill is given: its body, and what is beside it.
func (s *Skill) Text() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(s.Body))
	if len(s.Tools) > 0 {
		fmt.Fprintf(&b, "\n\nIts author had these tools in mind: %s. You may call what you may call anyway, and no more.",
			strings.Join(s.Tools, ", "))
	}
	if len(s.Files) > 0 {
		b.WriteString("\n\nFiles beside it, which use_skill reads with command and file:\n")
		for i, f := range s.Files {
			if i == maxListed {
				fmt.Fprintf(&b, "- … and %d more\n", len(s.Files)-i)
				break
			}
			fmt.Fprintf(&b, "- %s (%d bytes)\n", f.Name, f.Size)
		}
	}
	return strings.TrimSpace(b.String())
}

const maxListed = 100 // files that a text names
