package hosttools

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"

	"callgate/tool"
)

// Variable has the number of the descriptor that a program inherits.
const Variable = "CALLGATE_HOST_FD"

// Inherited returns the connection of the program in which this process runs, by the
// value of Variable.
func Inherited(number string) (*os.File, error) {
	fd, err := strconv.Atoi(number)
	if err == nil && fd > 2 {
		if f := os.NewFile(uintptr(fd), "host"); f != nil && isSocket(f) {
			return f, nil
		}
	}
	return nil, tool.Errorf(op, tool.Unavailable, "this process has no connection on which the kernel runs tools for it").
		WithHint("a tool whose manifest names host_tools has one, and so have its programs; it ends with the run")
}

// Ask has the kernel run a tool, and returns how that ended. Programs of one run that ask
// at the same time take turns.
func Ask(conn *os.File, name string, args json.RawMessage) (*tool.Result, error) {
	unlock := lock(conn)
	defer unlock()
	id, _ := json.Marshal(rand.Text()) // plain letters
	line, err := json.Marshal(request{ID: id, Tool: name, Args: args})
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the arguments are no JSON object: %w", err)
	}
	if len(line) >= maxLine {
		return nil, tool.Errorf(op, tool.Invalid, "the arguments have %d bytes, and a request %d at most", len(args), maxLine)
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return nil, ended(err)
	}
	lines := bufio.NewReaderSize(conn, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, ended(err)
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil || a.Result == nil {
			return nil, tool.Errorf(op, tool.Failed, "what the kernel answered cannot be read")
		}
		if bytes.Equal(a.ID, id) { // else it is that of a request which nobody waits for any more
			return a.Result, nil
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return &tool.Error{
		Op: op, Kind: tool.Unavailable, Err: err, Message: "the kernel runs no more tools for this program",
		Hint: "its run has ended, or it made more calls than one may make",
	}
}
