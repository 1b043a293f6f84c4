package skill

import (
	"os"
	"path/filepath"
	"strings"

	"callgate/tool"
)

const plainTemplate = `---
name: NAME
description: Say in a sentence what this skill is for and when it is used.
---
# NAME

Say how it is done here, step by step. Name files beside this one where more is needed,
such as references/details.md or scripts/check.sh: they are read when they are needed.
`

const statesTemplate = `---
name: NAME
description: Say in a sentence what this skill is for and when it is used.
initial_state: understand
max_steps: 20
interruptible: true
input_schema:
  type: object
output_schema:
  type: object
  properties:
    summary: {type: string}
  required: [summary]
states:
  understand:
    objective: Find out what is wanted.
    allowed_tools: [filesystem.read, filesystem.grep]
    transitions:
      - {on: understood, to: modify}
  modify:
    objective: Make the change.
    allowed_tools: [filesystem]
    transitions:
      - {on: modified, to: validate}
      - {on: unclear, to: understand}
  validate:
    objective: Check that the change does what was wanted.
    allowed_tools: [filesystem.read, shell.bash]
    transitions:
      - {on: good, to: done}
      - {on: bad, to: modify}
  done:
    objective: Say what was changed.
    terminal: true
---
# NAME

Say what holds in every state.
`

// New makes a folder with a skill to start from, below another one, and returns it. It
// replaces nothing.
func New(below, name string, states bool) (string, error) {
	const op = "skill.New"
	if err := CheckName(name); err != nil {
		return "", err
	}
	dir := filepath.Join(below, name)
	if err := os.MkdirAll(below, 0o755); err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the folder " + below + " cannot be made", Err: err}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Conflict, Message: "the folder " + dir + " cannot be made", Err: err}
	}
	text := plainTemplate
	if states {
		text = statesTemplate
	}
	text = strings.ReplaceAll(text, "NAME", name)
	if err := os.WriteFile(filepath.Join(dir, TextFile), []byte(text), 0o644); err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: TextFile + " cannot be written", Err: err}
	}
	return dir, nil
}
