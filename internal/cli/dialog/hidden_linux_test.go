package dialog_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"callgate/internal/cli/dialog"
	"callgate/internal/peer/terminaltest"
	"callgate/tool"
)

// What is typed the moment the question is there is not shown, and afterwards the terminal
// is as it was.
func TestHiddenFromTheFirstKey(t *testing.T) {
	t.Parallel()
	keys, terminal := terminaltest.Pair(t)
	fd := int(terminal.Fd())
	got, err := dialog.ReadHidden(t.Context(), fd, func() {
		write(t, terminal, "password: ")
		write(t, keys, "correct-horse\n")
	})
	if string(got) != "correct-horse" || err != nil {
		t.Fatalf("read %q: %v", got, err)
	}
	write(t, terminal, "|")
	shown, err := bufio.NewReader(keys).ReadString('|')
	if shown != "password: |" || err != nil {
		t.Errorf("the terminal shows %q: %v", shown, err)
	}
	if !echoes(t, fd) {
		t.Error("the terminal no longer shows what is typed")
	}
}

func TestHiddenIsGivenUp(t *testing.T) {
	t.Parallel()
	_, terminal := terminaltest.Pair(t)
	fd := int(terminal.Fd())
	why := errors.New("answered elsewhere")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := dialog.ReadHidden(ctx, fd, func() { cancel(why) })
	if tool.KindOf(err) != tool.Cancelled || !errors.Is(err, why) {
		t.Errorf("ended with %v", err)
	}
	if !echoes(t, fd) {
		t.Error("the terminal no longer shows what is typed")
	}
}

func write(t *testing.T, f *os.File, text string) {
	t.Helper()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func echoes(t *testing.T, fd int) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
