//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// speaker speaks MCP to a process, as cheaply as can be: what is measured is the process.
type speaker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader

	mu    sync.Mutex
	asked int
	open  map[int]chan struct{}
	wrong error
}

// speak starts a process and introduces itself.
func speak(environ []string, name string, args ...string) (*speaker, error) {
	s := &speaker{cmd: exec.Command(name, args...), open: map[int]chan struct{}{}}
	s.cmd.Env, s.cmd.Stderr = environ, os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in, s.lines = in, bufio.NewReaderSize(out, 4<<20) // the longest list
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.listen()
	err = s.ask("initialize",
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	if err == nil {
		_, err = io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return s, err
}

func (s *speaker) process() *os.Process { return s.cmd.Process }

// end closes the process's input and waits for its end.
func (s *speaker) end() error {
	_ = s.in.Close()
	defer time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() }).Stop()
	_ = s.cmd.Wait() // it was told to end
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

func (s *speaker) listen() {
	for {
		line, err := s.lines.ReadSlice('\n')
		s.mu.Lock()
		if err != nil {
			for id, done := range s.open {
				s.wrong = errors.Join(s.wrong, fmt.Errorf("request %d has no answer", id))
				close(done)
			}
			s.open = nil
			s.mu.Unlock()
			return
		}
		if id, ok := answered(line); ok {
			if done := s.open[id]; done != nil {
				close(done)
			}
			delete(s.open, id)
		} else if !bytes.Contains(line, []byte(`"method":`)) && s.wrong == nil {
			s.wrong = fmt.Errorf("it says %.300s", line)
		}
		s.mu.Unlock()
	}
}

// answered finds which request a line answers with a result.
func answered(line []byte) (id int, ok bool) {
	rest, found := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`))
	digits, rest, found2 := bytes.Cut(rest, []byte(","))
	id, err := strconv.Atoi(string(digits))
	ok = found && found2 && err == nil && bytes.HasPrefix(rest, []byte(`"result"`)) &&
		!bytes.Contains(rest, []byte(`"isError":true`))
	return id, ok
}

// ask sends a request and waits for its answer.
func (s *speaker) ask(method, params string) error {
	done := make(chan struct{})
	s.mu.Lock()
	if s.open == nil || s.wrong != nil {
		defer s.mu.Unlock()
		return errors.Join(errors.New("the connection has ended"), s.wrong)
	}
	s.asked++
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", s.asked, method, params)
	s.open[s.asked] = done
	_, err := s.in.Write(line)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.wrong
	case <-time.After(time.Minute):
		s.mu.Lock()
		defer s.mu.Unlock()
		return errors.Join(errors.New("no answer within a minute"), s.wrong)
	}
}

// spent is the processor time of processes, their threads together.
func spent(pids []int) (time.Duration, error) {
	total := time.Duration(0)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		user, _ := strconv.Atoi(string(fields[11]))
		system, _ := strconv.Atoi(string(fields[12]))
		total += time.Duration(user+system) * 10 * time.Millisecond // the kernel's clock tick, everywhere
	}
	return total, nil
}

// resident is the memory of a process in MB, and the most that it had.
func resident(pid int) (now, most int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kb, _ := strconv.Atoi(string(fields[1]))
		switch string(fields[0]) {
		case "VmRSS:":
			now = kb / 1000
		case "VmHWM:":
			most = kb / 1000
		}
	}
	return now, most, nil
}
