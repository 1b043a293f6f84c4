// Package jsonrpc speaks JSON-RPC 2.0 with a program over a pair of streams, in the framing
// of language servers: headers, an empty line, a message of Content-Length bytes.
//
// # Law
//
// The other side is not trusted. A header is short, a message has a limit, and between two
// calls of ours only so many messages and bytes are read: who sends more loses the connection.
// What it asks is answered without waiting, and one that asks and does not read the answers
// loses the connection, too. A connection that failed stays failed, and says why.
package jsonrpc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The limits of a header.
const (
	maxHeaderLine  = 1 << 10
	maxHeaderLines = 16
)

// ReadMessage reads one message of at most limit bytes. A stream that ends before a message
// begins is io.EOF.
func ReadMessage(r *bufio.Reader, limit int) ([]byte, error) {
	length := -1
	for n := 0; ; n++ {
		line, err := readHeaderLine(r)
		switch {
		case err == io.EOF && n == 0 && line == "":
			return nil, io.EOF
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case n == maxHeaderLines:
			return nil, errors.New("a header of too many lines")
		case line == "" && length < 0:
			return nil, errors.New("a header without Content-Length")
		case line == "":
			message := make([]byte, length)
			if _, err := io.ReadFull(r, message); err != nil {
				return nil, io.ErrUnexpectedEOF
			}
			return message, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q where a header should be", line[:min(len(line), 80)])
		}
		if strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			if length, err = parseLength(strings.TrimSpace(value), limit); err != nil {
				return nil, err
			}
		}
	}
}

// readHeaderLine reads a line, without its end.
func readHeaderLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return string(line), err
		case c == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case len(line) == maxHeaderLine:
			return "", errors.New("a header line that does not end")
		}
		line = append(line, c)
	}
}

func parseLength(text string, limit int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the Content-Length %q", text[:min(len(text), 80)])
	case n > uint64(limit):
		return 0, fmt.Errorf("a message of %d bytes, and at most %d are read", n, limit)
	}
	return int(n), nil
}

// WriteMessage writes one message.
func WriteMessage(w io.Writer, message []byte) error {
	_, err := w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...))
	return err
}
