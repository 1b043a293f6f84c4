// Package child is the processes that a soak run drives besides the program itself:
// an MCP server whose effects are in a ledger, and a language model that proposes
// what its prompt says.
package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Line is one line of a ledger: something that the server did.
type Line struct {
	At   int64  `json:"at"` // nanoseconds since 1970
	ID   string `json:"id"`
	File string `json:"file,omitempty"`
}

// Server is an MCP server over standard input and output. It has a tool that may be
// called twice (put), two that may not (append, and vouch, for which the group's app asks
// a human), and one that reads (get). Each can be
// told to wait before its effect and after it, so that it can be killed on either side.
type Server struct {
	Folder string // of the files
	Ledger string // the file to which each effect is added, before it is answered

	out sync.Mutex
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"params"`
}

type arguments struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Before int    `json:"before"` // milliseconds
	After  int    `json:"after"`
}

const tools = `{"tools":[
{"name":"put","description":"Store an id in a file. It replaces what was there.",
 "annotations":{"idempotentHint":true,"destructiveHint":false,"openWorldHint":false},
 "inputSchema":{"type":"object","required":["file","id"],"properties":{"file":{"type":"string"},"id":{"type":"string"},
 "before":{"type":"integer"},"after":{"type":"integer"}}}},
{"name":"append","description":"Add an id to the ledger.","annotations":{"destructiveHint":false,"openWorldHint":false},
 "inputSchema":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"name":{"type":"string"},
 "before":{"type":"integer"},"after":{"type":"integer"}}}},
{"name":"vouch","description":"Add an id to the ledger, if a human agrees.",
 "annotations":{"destructiveHint":false,"openWorldHint":false},
 "inputSchema":{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"name":{"type":"string"},
 "before":{"type":"integer"},"after":{"type":"integer"}}}},
{"name":"get","description":"Read the id in a file.","annotations":{"readOnlyHint":true,"openWorldHint":false},
 "inputSchema":{"type":"object","required":["file"],"properties":{"file":{"type":"string"}}}}]}`

// Run serves until its input ends.
func (s *Server) Run(in io.Reader, out io.Writer) error {
	ledger, err := os.OpenFile(s.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer ledger.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil || len(r.ID) == 0 {
			continue
		}
		go func() { s.answer(out, r, ledger) }()
	}
	return lines.Err()
}

func (s *Server) answer(out io.Writer, r request, ledger *os.File) {
	result, failure := json.RawMessage("{}"), ""
	switch r.Method {
	case "initialize":
		result = json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"soak","version":"1"}}`)
	case "ping":
	case "tools/list":
		result = json.RawMessage(tools)
	case "tools/call":
		text, err := s.call(r.Params.Name, r.Params.Arguments, ledger)
		if err != nil {
			text = err.Error()
		}
		content, _ := json.Marshal(text)
		result = fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":%t}`, content, err != nil)
	default:
		failure = `{"code":-32601,"message":"there is no such method"}`
	}
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
	if failure != "" {
		line = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, r.ID, failure)
	}
	s.out.Lock()
	defer s.out.Unlock()
	_, _ = out.Write(append(compact(line), '\n'))
}

// compact makes one line of JSON.
func compact(data []byte) []byte {
	var value any
	if json.Unmarshal(data, &value) != nil {
		return data
	}
	line, _ := json.Marshal(value)
	return line
}

func (s *Server) call(name string, a arguments, ledger *os.File) (string, error) {
	path := filepath.Join(s.Folder, filepath.Base(a.File))
	if name == "get" {
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return "", nil
		}
		return string(data), err
	}
	time.Sleep(time.Duration(a.Before) * time.Millisecond)
	line := Line{At: time.Now().UnixNano(), ID: a.ID}
	if name == "put" {
		line.File = a.File
	}
	data, _ := json.Marshal(line)
	if _, err := ledger.Write(append(data, '\n')); err != nil { // one write: a line is whole or missing
		return "", err
	}
	if err := ledger.Sync(); err != nil {
		return "", err
	}
	if name == "put" {
		if err := Overwrite(path, a.ID+"\n"); err != nil {
			return "", err
		}
	}
	time.Sleep(time.Duration(a.After) * time.Millisecond)
	return "done", nil
}

// Overwrite puts a text over one of the same length, in one write, so that a kill
// leaves the old text or the new, and nothing beside the file.
func Overwrite(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// ReadLedger reads the whole lines of a ledger from an offset on, and returns the
// offset after them. A ledger that is not there is empty.
func ReadLedger(name string, from int64) ([]Line, int64, error) {
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, from, err
	}
	var lines []Line
	for r := bufio.NewReader(f); ; {
		data, err := r.ReadBytes('\n')
		if err != nil { // the end, or half a line
			return lines, from, nil
		}
		var line Line
		if err := json.Unmarshal(data, &line); err != nil {
			return nil, from, fmt.Errorf("%s at %d: %w", name, from, err)
		}
		from += int64(len(data))
		lines = append(lines, line)
	}
}
