//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// web speaks MCP to a process over streamable HTTP, as cheaply as can be: each caller has a connection that it keeps,
// and an answer must be a JSON text of a length that is told.
type web struct {
	cmd  *exec.Cmd
	at   *url.URL
	head string // of a request, up to its length

	mu   sync.Mutex
	idle []*webConn
}

type webConn struct {
	net.Conn
	in    *bufio.Reader
	asked int
}

// startWeb starts a command that serves MCP at an address, and introduces itself when it is served there.
func startWeb(command, address string) (*web, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(command)
	w := &web{cmd: exec.Command(fields[0], fields[1:]...), at: at}
	w.head = "POST " + at.RequestURI() + " HTTP/1.1\r\nHost: " + at.Host + "\r\nContent-Type: application/json\r\n" +
		"Accept: application/json, text/event-stream\r\nContent-Length: "
	var said bytes.Buffer
	w.cmd.Stderr = &said
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	const hello = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
	const patience = 10 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err = w.ask("initialize", hello); err == nil {
			return w, nil
		}
		if time.Now().After(end) {
			_ = w.end()
			return nil, fmt.Errorf("%s: %w: %s", command, err, said.String())
		}
	}
}

func (w *web) process() *os.Process { return w.cmd.Process }

func (w *web) end() error {
	_ = w.cmd.Process.Signal(os.Interrupt)
	defer time.AfterFunc(10*time.Second, func() { _ = w.cmd.Process.Kill() }).Stop()
	_ = w.cmd.Wait() // it was told to end
	return nil
}

// ask sends a request and waits for its answer.
func (w *web) ask(method, params string) error {
	c, err := w.take()
	if err != nil {
		return err
	}
	c.asked++
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, c.asked, method, params)
	if _, err = c.Write([]byte(w.head + strconv.Itoa(len(body)) + "\r\n\r\n" + body)); err == nil {
		err = c.answer()
	}
	if err != nil {
		return errors.Join(err, c.Close())
	}
	w.mu.Lock()
	w.idle = append(w.idle, c)
	w.mu.Unlock()
	return nil
}

func (w *web) take() (*webConn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return c, nil
	}
	conn, err := net.Dial("tcp", w.at.Host)
	if err != nil {
		return nil, err
	}
	return &webConn{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// answer reads the answer to a request, which must be a result.
func (c *webConn) answer() error {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	ok := bytes.HasPrefix(status, []byte("HTTP/1.1 200"))
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			length, err = strconv.Atoi(string(value))
			ok = ok && err == nil
		}
	}
	if !ok || length < 0 {
		return errors.New("it does not answer with a JSON text of a known length")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return err
	}
	if id, ok := answered(body); !ok || id != c.asked {
		return fmt.Errorf("it says %.300s", body)
	}
	return nil
}
