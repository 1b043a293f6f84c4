package proposal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/app/edit"
	"callgate/internal/lazyregexp"
	"callgate/internal/skill"
	"callgate/internal/source/executable/manifest"
	"callgate/internal/visible"
	"callgate/tool"
)

// ToolBody is a proposed tool. Of the kernel's view it has what a model may wish for:
// no program, no arguments, no secrets, no variables, and no word on its risk.
type ToolBody struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	SideEffect  string          `json:"side_effect,omitempty"`
	Network     bool            `json:"network,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	TimeoutMS   int             `json:"timeout_ms,omitempty"`
	Locks       json.RawMessage `json:"locks,omitempty"`
	Reason      string          `json:"reason"`
}

// SkillBody is a proposed skill.
type SkillBody struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Content     string          `json:"content,omitempty"`
	States      json.RawMessage `json:"states,omitempty"` // by name; nil: a text without states
	Initial     string          `json:"initial_state,omitempty"`
	Place       string          `json:"place,omitempty"` // project or user
	Reason      string          `json:"reason"`
}

// ConfigBody is a proposed change of the app file.
type ConfigBody struct {
	Changes []ConfigChange `json:"changes"`
	Reason  string         `json:"reason"`
}

// ConfigChange sets one key of the app file; null takes it out.
type ConfigChange struct {
	Path  string `json:"path"` // dotted
	Value any    `json:"value"`
}

// ForUser is the place of a skill that is the user's own, and ForProject that of one in
// the workspace.
const (
	ForProject = "project"
	ForUser    = "user"
)

const op = "proposal.Check"

// Check reads what a call proposes and reports what nobody could accept. It returns the
// proposal's title and reason.
func Check(kind Kind, body json.RawMessage, schema func(json.RawMessage) error) (title, reason string, err error) {
	if len(body) > MaxBody {
		return "", "", tool.Errorf(op, tool.Invalid, "the proposal has %d bytes, and %d are the most", len(body), MaxBody).
			WithHint("propose less at once")
	}
	switch kind {
	case Tool:
		var b ToolBody
		if err = Decode(body, &b); err == nil {
			_, err = b.Manifest(schema)
		}
		title, reason = b.Name, b.Reason
	case Skill:
		var b SkillBody
		if err = Decode(body, &b); err == nil {
			err = b.check()
		}
		title, reason = b.Name, b.Reason
	case Config:
		var b ConfigBody
		if err = Decode(body, &b); err == nil {
			_, err = b.Edits()
		}
		for _, c := range b.Changes {
			title += ", " + c.Path
		}
		title, reason = strings.TrimPrefix(title, ", "), b.Reason
	default:
		err = tool.Errorf(op, tool.Invalid, "nothing of the kind %q can be proposed", tool.Truncate(string(kind)))
	}
	if err != nil {
		return "", "", err
	}
	if reason = strings.TrimSpace(reason); reason == "" || len(reason) > maxReason {
		return "", "", tool.Errorf(op, tool.Invalid, "a proposal has a reason of 1 to %d bytes", maxReason).
			WithHint("say in reason, for the human who decides, what it is for")
	}
	return tool.TruncateTo(title, maxTitle), reason, nil
}

// Decode reads the body of a proposal. A key that it does not have is a mistake: what is not
// understood is not shown either.
func Decode(body json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &tool.Error{Op: op, Kind: tool.Invalid, Message: "the proposal cannot be read: " + err.Error()}
	}
	return nil
}

// FileName is the name of the tool's manifest, without its suffix, and of its executable.
func (b ToolBody) FileName() string { return strings.ReplaceAll(b.Name, ".", "_") }

// toolName is stricter than what a tool may be called: it becomes the name of a file.
var toolName = lazyregexp.New(`^[a-z][a-z0-9_]{0,40}(\.[a-z][a-z0-9_]{0,60}){1,3}$`)

// Manifest is the manifest of the tool, as a file.
func (b ToolBody) Manifest(schema func(json.RawMessage) error) ([]byte, error) {
	if !toolName.MatchString(b.Name) {
		return nil, tool.Errorf(op, tool.Invalid, "a tool cannot be proposed as %q", tool.Truncate(b.Name)).
			WithHint("name a module and an action in small letters, digits and _, such as team.greet")
	}
	type llm struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	runtime := map[string]any{"side_effect": "write"}
	if b.SideEffect != "" {
		runtime["side_effect"] = b.SideEffect
	}
	if b.Network {
		runtime["network"] = true
	}
	if b.Idempotent {
		runtime["idempotent"] = true
	}
	if b.TimeoutMS != 0 {
		runtime["timeout_ms"] = b.TimeoutMS
	}
	if len(b.Locks) > 0 {
		runtime["locks"] = b.Locks
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(struct {
		LLM     llm            `json:"llm"`
		Runtime map[string]any `json:"runtime"`
	}{llm{b.Name, b.Description, b.Parameters}, runtime})
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the tool cannot be written as a manifest", Err: err}
	}
	file := b.FileName() + ".json"
	if _, problems := manifest.Parse(file, text.Bytes(), schema); len(problems) > 0 {
		return nil, tool.Errorf(op, tool.Invalid, "no tool could be made of it: %s", problems[0].What).
			WithHint("%s", problems[0].Hint)
	}
	return text.Bytes(), nil
}

// Placeholder stands where a human writes the tool's executable. Nothing in it is of the
// asker's words.
const Placeholder = `#!/bin/sh
# An agent proposed this tool, and a human accepted that it is wanted. Nobody has written it
# yet: put the executable here. It reads its arguments from standard input, one JSON object,
# and prints one JSON value. The manifest beside this file says what they are. Then review it
# with: callgate app trust
echo '{"status": "failure", "summary": "this tool was proposed, and a human must write it first"}'
exit 1
`

// skillName is that of package skill: a name of a folder.
var skillName = lazyregexp.New(`^[a-z0-9]+(?:[-_][a-z0-9]+)*$`)

const (
	maxSkillName = 64
	maxAbout     = 1024
	maxContent   = 48 << 10
)

func (b SkillBody) check() error {
	switch {
	case len(b.Name) > maxSkillName || !skillName.MatchString(b.Name):
		return tool.Errorf(op, tool.Invalid, "a skill cannot be called %q", tool.Truncate(b.Name)).
			WithHint("use at most %d small letters, digits and single dashes, as in make-release", maxSkillName)
	case strings.TrimSpace(b.Description) == "" || len(b.Description) > maxAbout:
		return tool.Errorf(op, tool.Invalid, "a skill has a description of 1 to %d bytes", maxAbout).
			WithHint("say in a sentence what it is for and when it is used")
	case strings.TrimSpace(b.Content) == "" && len(b.States) == 0:
		return tool.Errorf(op, tool.Invalid, "the skill %s says nothing", b.Name).
			WithHint("write in content how it is done, or give it states")
	case len(b.Content) > maxContent:
		return tool.Errorf(op, tool.Invalid, "the content has %d bytes, and %d are the most", len(b.Content), maxContent)
	case b.Place != "" && b.Place != ForProject && b.Place != ForUser:
		return tool.Errorf(op, tool.Invalid, "there is no place %q", tool.Truncate(b.Place)).WithHint("use project or user")
	case len(b.States) > 0 && b.Initial == "":
		return tool.Errorf(op, tool.Invalid, "the states of %s have no beginning", b.Name).
			WithHint("name one in initial_state")
	}
	_, err := skill.Parse(skill.TextFile, b.Name, b.Text())
	return err
}

// Text is the skill as its SKILL.md.
func (b SkillBody) Text() []byte {
	var s strings.Builder
	fmt.Fprintf(&s, "---\nname: %s\ndescription: %s\n", b.Name, line(b.Description))
	if len(b.States) > 0 {
		var flat bytes.Buffer
		if json.Compact(&flat, b.States) != nil {
			flat.WriteString("{}")
		}
		fmt.Fprintf(&s, "initial_state: %s\nstates: %s\n", line(b.Initial), visible.JSON(flat.String()))
	}
	s.WriteString("---\n")
	if content := strings.TrimSpace(b.Content); content != "" {
		s.WriteString("\n" + content + "\n")
	}
	return []byte(s.String())
}

// line writes a text on one line of YAML.
func line(text string) string {
	return strconv.QuoteToGraphic(strings.Join(strings.Fields(text), " "))
}

// keyName is a key of an app file. A key with a dot in it cannot be named, and is set with
// the level around it.
var keyName = lazyregexp.New(`^[A-Za-z0-9_*-]{1,100}$`)

// Edits are the changes as they are made.
func (b ConfigBody) Edits() ([]edit.Change, error) {
	if len(b.Changes) == 0 || len(b.Changes) > maxChanges {
		return nil, tool.Errorf(op, tool.Invalid, "a proposal has 1 to %d changes", maxChanges).
			WithHint(`write {"changes":[{"path":"runtime.max_turns","value":20}],"reason":"…"}`)
	}
	var edits []edit.Change
	for _, c := range b.Changes {
		path := strings.Split(strings.TrimSpace(c.Path), ".")
		if slices.ContainsFunc(path, func(key string) bool { return !keyName.MatchString(key) }) {
			return nil, tool.Errorf(op, tool.Invalid, "%q is not the path of a key", tool.Truncate(c.Path)).
				WithHint("name the keys from the top of the file, with dots: tools.modules.http.config; a list is set whole")
		}
		edits = append(edits, edit.Change{Path: path, Value: c.Value})
	}
	return edits, nil
}
