package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/tool"
)

// maxLine limits the length of a line. A longer one is more likely a mistake in
// the file than a tool.
const maxLine = 16 << 20

// place is a line of a file.
type place struct {
	file string
	line int
}

func (p place) errorf(format string, args ...any) *tool.Error {
	return tool.Errorf("eval.load", tool.Invalid, "%s:%d: %w", p.file, p.line, fmt.Errorf(format, args...))
}

// eachLine gives every line of a file of JSON objects to fn, and reports whether
// the file exists. Blank lines are counted and skipped.
func eachLine[T any](name string, fn func(place, T) error) (found bool, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, tool.Errorf("eval.load", tool.Unavailable, "%s cannot be read: %w", name, err)
	}
	defer f.Close()
	at := place{file: filepath.ToSlash(name)}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		at.line++
		text := lines.Bytes()
		if at.line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		v, err := parseLine[T](at, text)
		if err != nil {
			return true, err
		}
		if err := fn(at, v); err != nil {
			return true, err
		}
	}
	at.line++
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return true, at.errorf("the line is longer than %d MiB", maxLine>>20).WithHint("write one JSON object a line")
	case err != nil:
		return true, tool.Errorf("eval.load", tool.Unavailable, "%s cannot be read: %w", name, err)
	}
	return true, nil
}

// parseLine reads one JSON object.
func parseLine[T any](at place, text []byte) (v T, err error) {
	if text[0] != '{' {
		return v, at.errorf("the line is not a JSON object").WithHint("write one JSON object a line")
	}
	err = json.Unmarshal(text, &v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &wrong):
		return v, at.errorf("%q is a %s, and must be a %s", wrong.Field, wrong.Value, wrong.Type).
			WithHint("correct the value")
	}
	return v, at.errorf("the line is not JSON: %w", err).WithHint("write one JSON object a line")
}
