package tui_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/statedir"
)

// callgate runs a short command on a project's state.
func (p project) callgate(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("callgate", args...)
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "CALLGATE_STATE="+p.state, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("callgate %q: %v", args, err)
	}
	return string(out)
}

// held reports whether a process holds the state directory.
func (p project) held() bool {
	held, err := statedir.Dir(p.state).Hold()
	if err != nil {
		return true
	}
	return held.Release() != nil
}

// The chat that started the kernel is left, and the others work on. The kernel ends
// with the last of them.
func TestChatsOutliveTheFirst(t *testing.T) {
	parallel(t)
	project := newProject(t)
	first := project.run(t, 80, 24, nil, "chat")
	first.want("say what to do")
	second, third := project.run(t, 80, 24, nil, "chat"), project.run(t, 80, 24, nil, "chat")
	second.want("say what to do")
	third.want("say what to do")
	third.typeText("read not")
	first.enter("/quit")
	first.wantExit(0)
	second.enter("list the files here")
	if screen := second.want("✓ filesystem.list", "notes.txt"); strings.Contains(screen, "gone away") {
		t.Errorf("the kernel ended with the first chat:\n%s", screen)
	}
	second.enter("/quit")
	second.wantExit(0)
	third.typeText("es.txt")
	third.want("> read notes.txt")
	third.keys("Enter")
	third.want("✓ filesystem.read", "alpha")
	third.enter("/quit")
	third.wantExit(0)
	if !poll(func() bool { return !project.held() }) {
		t.Error("a kernel is left when the last chat has ended")
	}
}

// The terminal of a chat is closed in the middle of a turn. The turn goes on to its end,
// and then the kernel ends by itself.
func TestClosedTerminalLeavesTheTurn(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 90, 24, nil, "chat")
	id := p.conversationID()
	gate := filepath.Join(project.folder, "gate")
	p.enter(`run the command "echo begun; until cat gate; do sleep 0.1; done; touch more"`)
	p.want("│ begun")
	p.tmux("kill-session", "-t", "m")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !poll(func() bool { _, err := os.Stat(filepath.Join(project.folder, "more")); return err == nil }) {
		t.Fatal("the turn did not go on")
	}
	if !poll(func() bool { return !project.held() }) {
		t.Fatal("the kernel does not end by itself")
	}
	if list := project.callgate(t, "sessions", "list"); !strings.Contains(list, id) || !strings.Contains(list, " done ") {
		t.Errorf("the conversations are\n%s", list)
	}
}

// The kernel of a chat ends, between two turns and in the middle of one: the chat goes
// on at the next one, and nothing that was said is lost.
func TestChatOutlivesItsKernel(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 90, 24, nil, "chat")
	p.conversationID()
	p.enter("read notes.txt")
	p.want("✓ filesystem.read", "alpha")
	project.callgate(t, "down", "--force")
	p.enter("list the files here")
	p.want("✓ filesystem.list")
	p.enter(`run the command "echo begun; sleep 300"`)
	p.want("│ begun")
	kernel, err := os.FindProcess(statedir.Dir(project.state).Holder())
	if err == nil {
		err = kernel.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.want("the kernel went away; the turn goes on at the next one", "may or may not have happened")
	p.enter("/quit")
	p.wantExit(0)
	if project.held() {
		t.Error("a kernel is left when the chat has ended")
	}
}
