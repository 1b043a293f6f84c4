package dialog

import (
	"bufio"
	"context"
	"os"
	"strings"

	"golang.org/x/term"
)

// Ask writes a question to a terminal and reads the line that a person types after
// it. What was typed before the question is discarded.
func Ask(ctx context.Context, terminal *os.File, question string) (string, error) {
	if term.IsTerminal(int(terminal.Fd())) {
		dropTyped(int(terminal.Fd()))
	}
	if _, err := terminal.WriteString(question); err != nil {
		return "", err
	}
	typed := lines{in: bufio.NewReader(terminal), got: make(chan line, 1)}
	text, err := typed.next(ctx)
	return strings.TrimSpace(text), err
}
