package skill_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/skill"
	"callgate/internal/skill/builtin"
	"callgate/tool"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const release = `---
name: release
description: >-
  How a release is made.
  Use it before you tag.
license: MIT
version: 1.2
allowed-tools: Read, Bash(git tag *) Grep
metadata: {author: ada, stars: 3}
model: large
---
# Release

1. Run scripts/check.sh
`

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := skill.Parse("SKILL.md", "release", []byte(release))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "release" || s.Description != "How a release is made. Use it before you tag." || s.Version != "1.2" ||
		s.License != "MIT" || s.Metadata["author"] != "ada" || s.Metadata["stars"] != "3" ||
		!strings.HasPrefix(s.Body, "# Release") {
		t.Errorf("%+v", s)
	}
	if got := strings.Join(s.Tools, "|"); got != "Read|Bash(git tag *)|Grep" {
		t.Errorf("tools %s", got)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "SKILL.md:10:") || !strings.Contains(s.Notes[0], `"model"`) {
		t.Errorf("notes %q", s.Notes)
	}
	if text := s.Text(); !strings.Contains(text, "and no more") {
		t.Errorf("%s", text)
	}
}

const machine = `---
name: m
description: d
initial_state: a
states:
  a: {objective: look, allowed_tools: [filesystem.read, http, "mcp_x.*", git__log, ask_user], transitions: [{on: ok, to: z}]}
  z: {terminal: true}
---
`

func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"", "no description"},
		"no head":              {"# Release\n", "no description"},
		"no body":              {"---\nname: x\ndescription: d\n---\n", "says nothing"},
		"no description":       {"---\nname: x\n---\nbody\n", "no description"},
		"a bad name":           {"---\nname: Do It\ndescription: d\n---\nb\n", "SKILL.md:2:7: a skill cannot be called"},
		"a name of a path":     {"---\nname: ../x\ndescription: d\n---\nb\n", "cannot be called"},
		"another folder":       {"---\nname: y\ndescription: d\n---\nb\n", `lies in the folder "x"`},
		"no YAML":              {"---\nname: [x\n---\nb\n", "no closing ]"},
		"an anchor":            {"---\nname: &a x\ndescription: d\n---\nb\n", "anchors (&name) are not allowed in a skill"},
		"a colon":              {"---\nname: x\ndescription: use when: now\n---\nb\n", "SKILL.md:3"},
		"a long description":   {"---\nname: x\ndescription: " + strings.Repeat("d", 1025) + "\n---\nb\n", "more than 1024"},
		"too long":             {strings.Repeat("x", skill.MaxText+1), "longer than 64 KiB"},
		"no text":              {"a\x00b", "is not text"},
		"nobody begins it":     {"---\nname: x\ndescription: d\nuser-invocable: false\ndisable-model-invocation: true\n---\nb\n", "nobody could begin"},
		"no initial state":     {strings.Replace(machine, "initial_state: a\n", "", 1), "no initial_state"},
		"an unknown state":     {strings.Replace(machine, "to: z", "to: y", 1), `there is no state "y"`},
		"keys of states alone": {"---\nname: x\ndescription: d\nmax_steps: 3\n---\nb\n", "there are none"},
		"no way out":           {strings.Replace(machine, ", transitions: [{on: ok, to: z}]", "", 1), "nothing leads out of the state a"},
		"no end":               {strings.Replace(machine, "z: {terminal: true}", "z: {transitions: [{on: o, to: a}]}", 1), "no state is the end"},
		"an end that goes on":  {strings.Replace(machine, "terminal: true", "terminal: true, allowed_tools: [x.y]", 1), "nothing happens in z any more"},
		"a tool with a space":  {strings.Replace(machine, "git__log", "\"Bash(git *)\"", 1), "names no tool"},
		"an unknown key":       {strings.Replace(machine, "objective", "objectiv", 1), "did you mean objective?"},
		"two ways":             {strings.Replace(machine, "[{on: ok, to: z}]", "[{on: ok, to: z}, {on: OK, to: a}]", 1), "two transitions on"},
		"a bad schema":         {strings.Replace(machine, "initial_state", "input_schema: {type: objekt}\ninitial_state", 1), "is no schema"},
		"many steps":           {strings.Replace(machine, "initial_state", "max_steps: 100000\ninitial_state", 1), "must be from 1 to 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := "x"
			if strings.Contains(c.text, "name: m\n") {
				folder = "m"
			}
			_, err := skill.Parse("SKILL.md", folder, []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	text := strings.Replace(machine, "initial_state", "output_schema: {type: object, required: [n]}\ninitial_state", 1)
	s, err := skill.Parse("SKILL.md", "m", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := s.Machine
	if m == nil || m.MaxSteps != 50 || !m.Interruptible {
		t.Fatalf("%+v", m)
	}
	for name, want := range map[string]bool{
		"filesystem.read": true, "filesystem.write": false, "http.get": true, "mcp_x.any": true, "mcp_y.any": false,
		"git.log": true, "git.push": false,
	} {
		module, action, _ := strings.Cut(name, ".")
		if got := m.States["a"].Allows(tool.ID{Namespace: module, Name: action}, false); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !m.States["a"].Allows(tool.ID{Namespace: "context_builder", Name: "ask_user"}, true) ||
		m.States["a"].Allows(tool.ID{Namespace: "context_builder", Name: "http"}, false) {
		t.Error("the kernel's own tools go by their names")
	}
	only := m.States["a"].Only()
	if a := only["filesystem"]; len(a) != 1 || a[0] != "read" {
		t.Errorf("%v", only)
	}
	if a, listed := only["http"]; !listed || len(a) != 0 {
		t.Errorf("%v", only)
	}
	if to, err := m.Next("a", "OK"); err != nil || to != "z" {
		t.Errorf("%s %v", to, err)
	}
	if _, err := m.Next("a", "no"); err == nil || !strings.Contains(err.Error(), "ok → z") {
		t.Errorf("%v", err)
	}
	if err := m.CheckOutput(json.RawMessage(`{}`)); err == nil {
		t.Error("an output that does not fit")
	}
	if err := m.CheckOutput(json.RawMessage(`{"n":1}`)); err != nil {
		t.Error(err)
	}
	if told := m.Tell("m", "a", 1); !strings.Contains(told, "filesystem.read") || !strings.Contains(told, `{"on": "ok"}`) {
		t.Errorf("%s", told)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "release")
	write(t, filepath.Join(dir, "SKILL.md"), release)
	write(t, filepath.Join(dir, "scripts", "check.sh"), "echo ok\n")
	write(t, filepath.Join(dir, "assets", "x.bin"), "a\x00b")
	write(t, filepath.Join(dir, "references", "long.md"), strings.Repeat("é\n", skill.MaxShown/2))
	s, err := skill.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Files) != 3 || !strings.Contains(s.Text(), "- scripts/check.sh (8 bytes)") {
		t.Errorf("%+v", s.Files)
	}
	text, _, err := s.ReadFile("./scripts/check.sh", 0)
	if err != nil || text != "echo ok\n" {
		t.Errorf("%q %v", text, err)
	}
	first, next, err := s.ReadFile("references/long.md", 0)
	if err != nil || next == 0 || !utf8.ValidString(first) {
		t.Errorf("%d %v", next, err)
	}
	if rest, next, err := s.ReadFile("references/long.md", next); err != nil || next != 0 || first+rest != strings.Repeat("é\n", skill.MaxShown/2) {
		t.Errorf("%d %v", next, err)
	}
	for name, want := range map[string]string{
		"assets/x.bin": "is no text", "../release/SKILL.md": "has no file", "/etc/passwd": "has no file",
		"SKILL.md": "has no file", "scripts": "has no file",
	} {
		if _, _, err := s.ReadFile(name, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, change := range []func(){
		func() { write(t, filepath.Join(dir, "scripts", "check.sh"), "echo no\n") },
		func() { write(t, filepath.Join(dir, "new"), "") },
		func() { _ = os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "newer")) },
		func() { write(t, filepath.Join(dir, "SKILL.md"), release+"more\n") },
	} {
		change()
		now, err := skill.Load(dir)
		if err != nil || now.Digest == s.Digest {
			t.Errorf("the digest does not tell: %v", err)
		}
	}
	if _, _, err := s.ReadFile("scripts/check.sh", 0); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a file that nobody accepted is given: %v", err)
	}
}

// A folder does not lead anywhere else, and what cannot be read is said.
func TestHostileFolders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"a link to a file":   {func(d string) error { return os.Symlink("/etc/passwd", filepath.Join(d, "x.md")) }, "it is a link"},
		"a link inside":      {func(d string) error { return os.Symlink("SKILL.md", filepath.Join(d, "x.md")) }, "it is a link"},
		"a link to a folder": {func(d string) error { return os.Symlink("/etc", filepath.Join(d, "etc")) }, "it is a link"},
		"the text is a link": {func(d string) error {
			return os.Symlink("/etc/hostname", filepath.Join(d, "SKILL.md"))
		}, "it is a link"},
		"a large file": {func(d string) error {
			return os.WriteFile(filepath.Join(d, "x"), make([]byte, skill.MaxFile+1), 0o600)
		}, "more than 4 MiB"},
		"an invisible name": {func(d string) error { return os.WriteFile(filepath.Join(d, "a\u202eb"), nil, 0o600) }, "nobody sees"},
		"deep folders":      {func(d string) error { return os.MkdirAll(filepath.Join(d, strings.Repeat("a/", 10)), 0o755) }, "too deep"},
		"no text at all":    {func(string) error { return nil }, "has no SKILL.md"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "release")
			if name != "the text is a link" && name != "no text at all" {
				write(t, filepath.Join(dir, "SKILL.md"), release)
			} else if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.make(dir); err != nil {
				t.Skip(err)
			}
			if _, err := skill.Load(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A folder of Choir's own: the specification whole, in a file of its own.
func TestSpecFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "m")
	spec := strings.TrimSuffix(strings.TrimPrefix(machine, "---\n"), "---\n")
	write(t, filepath.Join(dir, "skill.yaml"), spec)
	s, err := skill.Load(dir)
	if err != nil || s.Machine == nil || s.Description != "d" {
		t.Fatalf("%+v %v", s, err)
	}
	write(t, filepath.Join(dir, "SKILL.md"), "---\nname: m\ndescription: d\n---\nBe careful.\n")
	if s, err = skill.Load(dir); err != nil || s.Machine == nil || s.Body != "Be careful.\n" {
		t.Errorf("%+v %v", s, err)
	}
	write(t, filepath.Join(dir, "SKILL.md"), machine)
	if _, err = skill.Load(dir); err == nil || !strings.Contains(err.Error(), "keep them in one of the two") {
		t.Errorf("%v", err)
	}
}

func TestTemplatesAndBuiltin(t *testing.T) {
	t.Parallel()
	below := t.TempDir()
	for _, states := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "with-states"}[states]
		dir, err := skill.New(below, name, states)
		if err != nil {
			t.Fatal(err)
		}
		s, err := skill.Load(dir)
		if err != nil || (s.Machine != nil) != states || len(s.Notes) > 0 {
			t.Errorf("%+v %v", s, err)
		}
		if _, err := skill.New(below, name, states); tool.KindOf(err) != tool.Conflict {
			t.Errorf("it was replaced: %v", err)
		}
	}
	all, err := builtin.Skills()
	if err != nil || len(all) != 1 || all[0].Name != "tool-builder" || all[0].Machine == nil {
		t.Fatalf("%v %v", all, err)
	}
	if propose := all[0].Machine.States["propose"]; !propose.Allows(tool.ID{Namespace: "context_builder", Name: "propose_tool"}, true) ||
		propose.Allows(tool.ID{Namespace: "filesystem", Name: "write"}, false) {
		t.Error("the tool builder proposes, and writes nothing")
	}
}

// Whatever a text holds, reading it ends, and what is read keeps its bounds.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{release, machine, "---\n---\nx", "---\nname: x", "\ufeff---\r\nname: x\r\ndescription: d\r\n---\r\nb"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := skill.Parse("SKILL.md", "", data)
		if err != nil {
			return
		}
		if skill.CheckName(s.Name) != nil || s.Description == "" || strings.ContainsAny(s.Text(), "\x00\x1b\u202e") {
			t.Errorf("%+v", s)
		}
		if m := s.Machine; m != nil {
			if _, ok := m.States[m.Initial]; !ok || m.MaxSteps < 1 {
				t.Errorf("%+v", m)
			}
			if _, err := json.Marshal(m); err != nil {
				t.Error(err)
			}
		}
	})
}
