package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleTeam runs examples/team as its README says: a coordinator has one agent look,
// and another one write; the one that only looks writes nothing.
func TestExampleTeam(t *testing.T) {
	t.Parallel()
	state, folder := newState(t), copyExample(t, "team", nil)
	person(t, state, "-C", folder, "app", "trust", "--yes")
	said := runOK(t, state, folder, "run", "-p", readFile(t, folder, "start.txt"))
	for _, want := range []string{"3:lamp,40", "3:lamp,0", `there is no tool \"filesystem.write\"`, "created shop/order.txt"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if text := readFile(t, folder, filepath.Join("shop", "order.txt")); text != "10 lamps" {
		t.Errorf("the order is %q", text)
	}
	if _, err := os.Stat(filepath.Join(folder, "shop", "note.txt")); err == nil {
		t.Error("the reader has written")
	}
	list := runOK(t, state, folder, "sessions", "list")
	id := strings.Fields(strings.Split(list, "\n")[1])[0]
	tree := runOK(t, state, folder, "sessions", "tree", id)
	if strings.Count(list, "└ "+id) != 3 || strings.Count(tree, "└ reader  completed") != 2 ||
		strings.Count(tree, "└ writer  completed") != 1 {
		t.Errorf("the conversations are\n%s\nand the agents\n%s", list, tree)
	}
	shown := runOK(t, state, folder, "sessions", "show", id+"-5-1-agent")
	if !strings.Contains(shown, `filesystem.write path=shop/note.txt content="the reader was here"`) {
		t.Errorf("the reader's conversation is\n%s", shown)
	}
}
