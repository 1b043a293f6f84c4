package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is something that goes wrong at a request, counted from 1. A request that is
// sent again because of it is not counted again.
type Fault struct {
	Request int    `yaml:"request"`
	Kind    string `yaml:"kind"`    // rate_limit, broken_stream, file_changed; max_tokens: of the first words
	Seconds int    `yaml:"seconds"` // of rate_limit: how long it lasts, as Retry-After says
	Seen    string `yaml:"seen"`    // of file_changed: it happens when results first show this text
	File    string `yaml:"file"`    // of file_changed: what somebody else writes meanwhile
	Text    string `yaml:"text"`
}

// Server serves one model on loopback, over the API of its form.
type Server struct {
	form  Form
	model *Model
	dir   string // the workspace
	log   io.Writer
	http  *http.Server
	addr  string

	mu      sync.Mutex
	faults  []Fault
	limited time.Time // until when requests are refused
	asked   int
	left    string // the rest of an answer that was cut off
	sent    int
	said    int
}

// Serve starts a server for a task in the workspace dir. What is asked and answered
// goes to log.
func Serve(form Form, model *Model, dir string, faults []Fault, log io.Writer) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{form: form, model: model, dir: dir, log: log, addr: ln.Addr().String(), faults: slices.Clone(faults)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", s.answer)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"object": "list", "data": []object{{"id": "scripted", "object": "model"}}})
	})
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(ln) }()
	return s, nil
}

// URL is where the model is asked.
func (s *Server) URL() string {
	if s.form == Anthropic {
		return "http://" + s.addr
	}
	return "http://" + s.addr + "/v1"
}

// Close ends the server.
func (s *Server) Close() error { return s.http.Close() }

// Tokens returns how much the model was sent and has said, four bytes a token.
func (s *Server) Tokens() (sent, said int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.said
}

// due returns the fault of the next request, once.
func (s *Server) due() Fault {
	for i, f := range s.faults {
		if f.Request == s.asked+1 && f.Kind != "max_tokens" && f.Kind != "file_changed" {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			return f
		}
	}
	return Fault{}
}

func (s *Server) answer(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // who asked has gone
	}
	read := map[Form]func([]byte) (*Request, error){Anthropic: readAnthropic, OpenAI: readOpenAI, Text: readText}[s.form]
	r, err := read(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent += (len(body) + 3) / 4
	fault := s.due()
	if fault.Kind == "rate_limit" {
		s.limited = time.Now().Add(time.Duration(fault.Seconds) * time.Second)
	}
	if left := time.Until(s.limited); left > 0 {
		fmt.Fprintf(s.log, "\n### refused: rate limit\n")
		w.Header().Set("Retry-After", fmt.Sprint(int(left.Seconds()+0.999)))
		const body = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`
		http.Error(w, body, http.StatusTooManyRequests)
		return
	}
	if fault.Kind == "broken_stream" {
		s.breakOff(w)
		return
	}
	s.change(r)
	s.asked++
	a, stop := s.next(r)
	s.said += received(a)
	s.note(r, body, a)
	s.write(w, a, (len(body)+3)/4, stop)
}

// change writes the files that somebody else writes while the model thinks.
func (s *Server) change(r *Request) {
	s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool {
		if f.Kind != "file_changed" || !strings.Contains(r.shown(), f.Seen) {
			return false
		}
		err := os.WriteFile(filepath.Join(s.dir, filepath.FromSlash(f.File)), []byte(f.Text), 0o644)
		fmt.Fprintf(s.log, "\n### somebody wrote %s: %v\n", f.File, err)
		return true
	})
}

// next is the model's answer, or the part of it that fits.
func (s *Server) next(r *Request) (Answer, string) {
	if s.left != "" {
		rest := s.left
		s.left = ""
		return Answer{Text: rest}, ""
	}
	a := s.model.Next(r)
	cut := slices.IndexFunc(s.faults, func(f Fault) bool { return f.Kind == "max_tokens" })
	if cut >= 0 && len(a.Calls) == 0 {
		s.faults = slices.Delete(s.faults, cut, cut+1)
		parts := pieces(a.Text)
		s.left = parts[len(parts)-1]
		return Answer{Text: parts[0]}, "max_tokens"
	}
	if s.form == Text {
		a = inText(a)
	}
	return a, ""
}

// breakOff writes the first word of an answer and ends the connection.
func (s *Server) breakOff(w http.ResponseWriter) {
	fmt.Fprintf(s.log, "\n### the stream broke off\n")
	w.Header().Set("Content-Type", "text/event-stream")
	events := writeOpenAI(Answer{Text: "I am"}, 1, "")[:2]
	if s.form == Anthropic {
		events = writeAnthropic(Answer{Text: "I am"}, 1, "")[:3]
	}
	writeEvents(w, events)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

func (s *Server) write(w http.ResponseWriter, a Answer, sent int, stop string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if s.form == Anthropic {
		writeEvents(w, writeAnthropic(a, sent, stop))
		return
	}
	writeEvents(w, writeOpenAI(a, sent, stop))
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func writeEvents(w io.Writer, events []object) {
	for _, e := range events {
		if kind, named := e["type"]; named {
			fmt.Fprintf(w, "event: %s\n", kind)
		}
		data, _ := json.Marshal(e) // of plain values
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// note writes what was asked and said, for somebody who looks at a task.
func (s *Server) note(r *Request, body []byte, a Answer) {
	fmt.Fprintf(s.log, "\n### request %d: %d bytes, %d tools\n", s.asked, len(body), len(r.Tools))
	if s.asked == 1 {
		fmt.Fprintf(s.log, "%s\n", r.System)
		for _, t := range r.Tools {
			fmt.Fprintf(s.log, "tool %s\n", t.Name)
		}
	}
	if len(r.Messages) > 0 {
		fmt.Fprintf(s.log, "last words: %s\n", clip(r.lastWords()))
	}
	for _, res := range r.results() {
		fmt.Fprintf(s.log, "result: %s\n", clip(res.Text))
	}
	fmt.Fprintf(s.log, "--- it says: %s\n", a.Text)
	for _, c := range a.Calls {
		fmt.Fprintf(s.log, "--- it calls: %s %s\n", c.Name, c.Args)
	}
}

func clip(text string) string {
	if len(text) <= 3000 {
		return text
	}
	return strings.ToValidUTF8(text[:1500], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-1500:], "")
}
