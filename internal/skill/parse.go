package skill

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/app/node"
	"callgate/internal/visible"
	"callgate/tool"
)

// Parse reads the text of a skill: YAML between two lines of dashes, and Markdown. file
// is its name in messages. The name must be in it, or be given.
func Parse(file, name string, data []byte) (*Skill, error) {
	const op = "skill.Parse"
	if len(data) > MaxText {
		return nil, tool.Errorf(op, tool.Invalid, "%s is longer than %d KiB", file, MaxText>>10).
			WithHint("put what is not always needed into files beside it, and name them in the text")
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, tool.Errorf(op, tool.Invalid, "%s is not text", file).WithHint("save it as UTF-8")
	}
	head, body := split(data)
	s := &Skill{Name: name, Body: visible.Lines(body), Path: file}
	if strings.TrimSpace(head) != "" {
		if err := s.readHead(file, head); err != nil {
			return nil, err
		}
	}
	s.Digest = digest(data)
	return s, s.check(op, file)
}

// check reports what no skill may lack.
func (s *Skill) check(op, file string) error {
	switch {
	case s.Name == "":
		return tool.Errorf(op, tool.Invalid, "%s has no name", file).
			WithHint("begin it with a line ---, then name: and description:, then a line ---")
	case CheckName(s.Name) != nil:
		return fmt.Errorf("%s: %w", file, CheckName(s.Name))
	case s.Description == "":
		return tool.Errorf(op, tool.Invalid, "%s has no description", file).
			WithHint("say in a sentence what the skill is for and when it is used: description: …")
	case strings.TrimSpace(s.Body) == "" && s.Machine == nil:
		return tool.Errorf(op, tool.Invalid, "%s says nothing", file).WithHint("write how it is done below the second ---")
	}
	return nil
}

// split cuts a text into its YAML, whose lines keep their numbers, and the rest.
func split(data []byte) (head, body string) {
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text
	}
	if after, empty := strings.CutPrefix(rest, "---\n"); empty {
		return "", after
	}
	head, body, ok = strings.Cut(rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix(rest, "\n---"); !ok {
			return "", text
		}
	}
	return "#\n" + head + "\n", body
}

// readHead reads the YAML of a skill. Keys that other agents know and this one does not
// are noted and left alone.
func (s *Skill) readHead(file, head string) error {
	r, root, ok := node.Open(file, []byte(head), node.Keys{}, nil)
	if ok {
		s.readKeys(r, root)
	}
	if err := node.Err(r.Report); err != nil {
		text := strings.ReplaceAll(err.(*tool.Error).Message, " in an app file", " in a skill")
		return &tool.Error{Op: "skill.Parse", Kind: tool.Invalid, Message: text}
	}
	return nil
}

func (s *Skill) readKeys(r *node.Reader, root node.Entry) {
	m := machineReader{Reader: r, made: &Machine{MaxSteps: defaultSteps, Interruptible: true}}
	reads := map[string]node.Read{
		"name": func(e node.Entry) { s.readName(r, e) },
		"description": func(e node.Entry) {
			text, ok := r.Text(e)
			if len(text) > maxDescription {
				r.Fail(e.At, "shorten it; the rest belongs below", "the description has more than %d bytes", maxDescription)
			} else if ok {
				s.Description = visible.Text(strings.Join(strings.Fields(text), " "))
			}
		},
		"license":       scalar(r, &s.License),
		"version":       scalar(r, &s.Version),
		"compatibility": scalar(r, new(string)),
		"metadata":      func(e node.Entry) { s.readMetadata(r, e) },
		"allowed-tools": func(e node.Entry) { s.Tools = toolNames(r, e) },
		"disable-model-invocation": r.Boolean(&s.ForUser,
			"write true if only a human begins it"),
		"user-invocable": func(e node.Entry) {
			yes := true
			r.Boolean(&yes, "write false if nobody begins it by its name")(e)
			s.ForModel = !yes
		},
		"instructions": func(e node.Entry) {
			if text, ok := r.Text(e); ok {
				s.Body = visible.Lines(text)
			}
		},
	}
	for key, read := range m.reads() {
		reads[key] = read
	}
	for _, e := range r.Entries(root, "write name: and description:") {
		if read, ok := reads[e.Key]; ok {
			read(e)
			continue
		}
		s.note(r, e, reads)
	}
	if m.found != nil {
		s.Machine = m.finish()
	} else if len(m.keyed) > 0 {
		r.Fail(m.keyed[0].KeyAt, "write states: too, or delete the key", "%s is of a skill with states, and there are none",
			m.keyed[0].Key)
	}
	if s.ForUser && s.ForModel {
		r.Fail(r.Position("user-invocable"), "delete one of the two", "nobody could begin this skill")
	}
}

// note says of a key that nothing here reads.
func (s *Skill) note(r *node.Reader, e node.Entry, reads map[string]node.Read) {
	var known []string
	for key := range reads {
		known = append(known, key)
	}
	slices.Sort(known)
	text := fmt.Sprintf("%s: the key %s means nothing here", r.Where(e.KeyAt), node.Quote(e.Key))
	if near := node.Closest(e.Key, known); near != "" {
		text += "; did you mean " + near + "?"
	}
	s.Notes = append(s.Notes, text)
}

func (s *Skill) readName(r *node.Reader, e node.Entry) {
	name, ok := r.Text(e)
	switch {
	case !ok:
	case CheckName(name) != nil:
		r.Fail(e.At, fmt.Sprintf("use at most %d small letters, digits and single dashes", maxName),
			"a skill cannot be called %s", node.Quote(name))
	case s.Name != "" && s.Name != name:
		r.Fail(e.At, "give both the same name", "the skill is called %s here, and lies in the folder %s",
			node.Quote(name), node.Quote(s.Name))
	default:
		s.Name = name
	}
}

func (s *Skill) readMetadata(r *node.Reader, e node.Entry) {
	s.Metadata = map[string]string{}
	for _, in := range r.Entries(e, "write key: value") {
		if text, ok := in.Scalar(); ok {
			s.Metadata[in.Key] = visible.Text(text)
		}
	}
	s.Version = cmp.Or(s.Version, s.Metadata["version"])
}

// scalar reads a text or a number as it is written.
func scalar(r *node.Reader, to *string) node.Read {
	return func(e node.Entry) {
		text, ok := e.Scalar()
		if !ok {
			r.TypeError(e, "text", "write one value")
			return
		}
		*to = visible.Text(text)
	}
}

// toolNames reads tools: a list, or a text with commas or spaces between them. Spaces
// within brackets do not end a name, as in Bash(git log *).
func toolNames(r *node.Reader, e node.Entry) (names []string) {
	if e.IsList() {
		r.Texts(&names, "name tools, such as [filesystem.read]")(e)
		return names
	}
	text, ok := r.Text(e)
	if !ok {
		return nil
	}
	depth := 0
	return strings.FieldsFunc(text, func(c rune) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && (c == ',' || c == ' ' || c == '\n')
	})
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
