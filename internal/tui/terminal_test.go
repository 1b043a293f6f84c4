package tui_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/programtest"
)

func TestFirstScreenOnATerminal(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 80, 24, nil, "chat")
	screen := p.want("An agent whose every call goes through your rules.", "> what is in this folder",
		"> run the tests, and mend what fails", "@ names a file", "say what to do")
	p.capture("first", project, screen)
	if rows := strings.Count(strings.TrimRight(screen, "\n"), "\n") + 1; rows != 24 {
		t.Errorf("%d rows are shown", rows)
	}
	p.tmux("resize-window", "-t", "m", "-x", "140", "-y", "40")
	p.want(strings.Repeat("─", 140), "An agent whose every call")
	p.enter("list the files here")
	p.until("the answer without the first screen", func(s string) bool {
		return strings.Contains(s, "✓ filesystem.list") && !strings.Contains(s, "An agent whose")
	})
}

// Words while a command runs are queued, and told with the next request.
func TestSteeringOnATerminal(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 90, 24, nil, "chat")
	p.want("say what to do")
	gate := filepath.Join(project.folder, "gate")
	p.enter(`run the command "echo begun; until test -e gate; do sleep 0.1; done"`)
	p.want("│ begun")
	p.enter("read notes.txt")
	p.want("queued: read notes.txt  (up takes it back)")
	p.keys("Up")
	p.want("> read notes.txt\n")
	p.keys("Enter")
	p.capture("steering", project, p.want("queued: read notes.txt  (up takes it back)", "a call runs; esc stops it"))
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.want("✓ shell.bash", "\n> read notes.txt", "✓ filesystem.read", "alpha")

	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	p.enter(`run the command "echo again; until test -e gate; do sleep 0.1; done"`)
	p.want("│ again")
	p.enter("words that are not taken")
	p.want("queued: words that are not taken")
	p.keys("Escape")
	p.want("stopped", "\n> words that are not taken")
}

// A kernel that ends takes no words with it: the chat goes on at the next one.
func TestChatGoesOnAtTheNextKernel(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 90, 24, nil, "chat")
	p.want("say what to do")
	p.enter("list the files here")
	p.want("✓ filesystem.list")
	p.typeText("read notes.txt")
	p.want("> read notes.txt")
	project.callgate(t, "down", "--force")
	p.keys("Enter")
	p.want("the kernel had gone away; the conversation goes on at the next one", "✓ filesystem.read", "alpha")
	p.enter("/quit")
	p.wantExit(0)
}

func TestEditorHistoryAndOwnCommand(t *testing.T) {
	parallel(t)
	project := newProject(t)
	editor := filepath.Join(project.folder, "edit.sh")
	programtest.Write(t, editor, "#!/bin/sh\nprintf 'list the files here' > \"$1\"\n")
	p := project.run(t, 90, 24, []string{"VISUAL=" + editor}, "chat")
	p.want("say what to do")
	p.keys("C-g")
	p.want("─\n> list the files here")
	p.keys("Enter")
	p.want("✓ filesystem.list", "notes.txt")
	p.enter("!cat notes.txt; exit 3")
	p.want("> !cat notes.txt; exit 3", "✗ shell.bash", "│ alpha", "exit code 3")
	p.enter("/quit")
	p.wantExit(0)
	all := p.tmux("capture-pane", "-p", "-S", "-", "-t", "m")
	if !strings.Contains(all, "✓ filesystem.list") || !strings.Contains(all, "chat --resume t") {
		t.Errorf("left on the terminal is\n%s", all)
	}
	p = project.run(t, 90, 24, nil, "chat", "--continue")
	p.want("✓ filesystem.list")
	p.keys("C-r")
	p.typeText("cat not")
	p.want("search cat not", "!cat notes.txt; exit 3")
	p.keys("Enter")
	p.want("─\n> !cat notes.txt; exit 3")
}

func TestPlainReadsAPipe(t *testing.T) {
	parallel(t)
	project := newProject(t)
	cmd := exec.Command("callgate", "chat", "--plain")
	cmd.Dir, cmd.Env = project.folder, append(os.Environ(), "CALLGATE_STATE="+project.state)
	cmd.Stdin = strings.NewReader("list the files here\n\nread notes.txt\n")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "> read notes.txt") || !strings.Contains(string(out), "alpha") ||
		strings.Count(string(out), "→ filesystem.") != 2 {
		t.Errorf("%v: %s", err, out)
	}
}
