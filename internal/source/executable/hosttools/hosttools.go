// Package hosttools lets a program in the sandbox have the kernel run tools that its
// manifest names, and nothing else.
//
// # Law
//
//   - The connection is one end of a socket pair that the program inherits. It has no name
//     and no token: whoever does not descend from the run cannot have it, and it ends with
//     the run. What comes after that is refused.
//   - A request is a call of the session for which the program runs, as a child of its call,
//     through the whole gate. So it is never more than what the manifest names and the
//     caller may do.
//   - Requests are bounded in number, in size, and in how many are made at once.
//
// # Protocol
//
// One JSON object in a line each way. The program writes
//
//	{"id": 1, "tool": "memory.query", "args": {"query": "apples"}}
//
// and reads {"id": 1, "result": {"status": "success", "summary": …, "data": …}}. The id is
// any JSON value of the program's choice. Answers come in the order in which calls end.
package hosttools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"

	"callgate/tool"
)

// The bounds of one run.
const (
	MaxCalls   = 200     // requests
	maxAtOnce  = 4       // requests under way
	maxLine    = 1 << 20 // bytes of a request
	maxAnswer  = 4 << 20 // bytes of an answer
	maxRefused = 20      // requests beyond MaxCalls that are answered, before the connection ends
)

const op = "hosttools"

// Call makes a call of a tool, for the session on whose behalf the program runs.
type Call func(ctx context.Context, name string, args json.RawMessage) *tool.Result

// request is what a program writes.
type request struct {
	ID   json.RawMessage `json:"id,omitempty"`
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"`
}

// answer is what it reads.
type answer struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Result *tool.Result    `json:"result"`
}

// Serve answers the requests of one run until the connection or ctx ends. When it returns,
// no call of the run is under way. Who calls it closes the connection when ctx ends.
func Serve(ctx context.Context, conn io.ReadWriter, allowed []string, call Call) {
	s := &server{allowed: allowed, call: call, to: conn}
	ctx, cancel := context.WithCancel(ctx)
	defer s.calls.Wait()
	defer cancel()
	places := make(chan struct{}, maxAtOnce)
	lines := bufio.NewReaderSize(conn, 64<<10)
	for n := 0; n < MaxCalls+maxRefused; n++ {
		line, err := readLine(lines)
		if err != nil {
			return // the program has ended, or writes too much
		}
		r, refused := s.read(line, n)
		if refused != nil {
			s.write(answer{r.ID, refused})
			continue
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s.calls.Go(func() {
			defer func() { <-places }()
			s.write(answer{r.ID, s.call(ctx, r.Tool, r.Args)})
		})
	}
}

// server is the host's side of one run.
type server struct {
	allowed []string
	call    Call
	calls   sync.WaitGroup

	mu sync.Mutex // held while an answer is written
	to io.Writer
}

// read reads the nth request, or says why it is refused.
func (s *server) read(line []byte, n int) (r request, refused *tool.Result) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return request{}, failure(tool.Errorf(op, tool.Invalid, "the request is not one: %w", err).
			WithHint(`write a line such as {"id": 1, "tool": "memory.query", "args": {}}`))
	}
	switch {
	case n >= MaxCalls:
		return r, failure(tool.Errorf(op, tool.Unavailable, "a run has at most %d calls of the host's tools", MaxCalls))
	case !slices.Contains(s.allowed, r.Tool):
		return r, failure(tool.Errorf(op, tool.Denied, "the manifest does not name %q in host_tools",
			tool.Truncate(r.Tool)).WithHint("it names %s", strings.Join(s.allowed, ", ")))
	}
	if len(r.Args) == 0 {
		r.Args = json.RawMessage("{}")
	}
	return r, nil
}

// write sends an answer. A program that has left needs none.
func (s *server) write(a answer) {
	data, err := json.Marshal(a)
	if err != nil || len(data) > maxAnswer {
		a.Result = failure(tool.Errorf(op, tool.Failed, "the answer has %d bytes, and %d are the most", len(data), maxAnswer).
			WithHint("ask for less"))
		data, _ = json.Marshal(a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.to.Write(append(data, '\n'))
}

func failure(e *tool.Error) *tool.Result {
	status := tool.Failure
	if e.Kind == tool.Denied {
		status = tool.Refused
	}
	return &tool.Result{Status: status, Summary: e.Error(), Error: e}
}

// readLine reads a line, without its end. One that is too long is an error.
func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, bufio.ErrTooLong
		}
		line = append(line, part...)
		switch err {
		case nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case bufio.ErrBufferFull:
		default:
			return nil, err
		}
	}
}
