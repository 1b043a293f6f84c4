package conversations

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/cli/command"
	"callgate/tool"
)

const opRequest = "cli.run"

const (
	maxInput     = 1 << 20         // bytes of standard input that are part of a request
	inputSilence = 2 * time.Second // after which somebody is told what is awaited
)

// read reads standard input, once, if it is neither a terminal nor a device such as
// /dev/null.
func (t *turns) read(ctx context.Context) error {
	if t.isRead || !hasInput(t.Stdin) {
		return nil
	}
	t.isRead = true
	waiting := time.AfterFunc(inputSilence, func() {
		t.Status("callgate: waiting for standard input to end; < /dev/null gives none")
	})
	defer waiting.Stop()
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // a pipe that nobody closes must not keep a signal from ending the command
		data, err := io.ReadAll(io.LimitReader(t.Stdin, maxInput+1))
		done <- read{data, err}
	}()
	var got read
	select {
	case got = <-done:
	case <-ctx.Done():
		return command.Exit(command.ExitCancelled)
	}
	switch {
	case got.err != nil && !errors.Is(got.err, io.EOF):
		return &tool.Error{Op: opRequest, Kind: tool.Invalid, Message: "standard input cannot be read", Err: got.err}
	case len(got.data) > maxInput:
		return tool.Errorf(opRequest, tool.Invalid, "standard input is longer than a megabyte").
			WithHint("put it into a file of the workspace, and name the file")
	case !utf8.Valid(got.data) || strings.ContainsRune(string(got.data), 0):
		return tool.Errorf(opRequest, tool.Invalid, "standard input is not text").
			WithHint("put it into a file of the workspace, and name the file")
	}
	t.input = string(got.data)
	return nil
}

// hasInput reports whether a stream may hold something: a pipe, a file, a socket.
func hasInput(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return stream != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// request is what the command line and standard input ask for, together; one says
// that it is the only turn.
func (t *turns) request() (text string, one bool, err error) {
	prompt, input := strings.TrimSpace(t.prompt), strings.TrimSpace(t.input)
	switch _, terminal := command.Terminal(t.Stdin); {
	case prompt != "" && input != "":
		return t.prompt + "\n\n<stdin>\n" + fence(t.input) + "\n</stdin>", true, nil
	case prompt != "":
		return t.prompt, true, nil
	case input != "":
		return t.input, true, nil
	case terminal:
		return "", false, nil
	case t.resumed != "":
		return "", true, tool.Errorf(opRequest, tool.Invalid, "the last turn has ended, and there is nothing new to do").
			WithHint(`say what: %s sessions resume %s -p "…"`, t.Self(), t.resumed)
	}
	return "", true, tool.Errorf(opRequest, tool.Invalid, "there is nothing to do").
		WithHint(`say what: %s run -p "…"`, t.Self())
}

// fence keeps a text from closing the block that it stands in.
func fence(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "</stdin", "<\u200b/stdin")
}
