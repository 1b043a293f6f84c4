//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// web speaks MCP to a process over streamable HTTP, as cheaply as can be: each caller has a connection that it keeps,
// and reads a response whose length is told.
type web struct {
	cmd  *exec.Cmd
	at   *url.URL
	head string // of a request, up to its length

	mu    sync.Mutex
	idle  []*webConn
	asked int
}

type webConn struct {
	net.Conn
	in    *bufio.Reader
	asked int
}

// startWeb starts a command that serves MCP at an address, and introduces itself when it is served there.
func startWeb(environ []string, address, token, name string, args ...string) (*web, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	w := &web{cmd: exec.Command(name, args...), at: at}
	var said bytes.Buffer
	w.cmd.Stderr, w.cmd.Env = &said, environ
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	const patience = 10 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err = w.introduce(token); err == nil {
			return w, nil
		}
		if time.Now().After(end) {
			_ = w.end()
			return nil, fmt.Errorf("%s: %w: %s", name, err, said.String())
		}
	}
}

// introduce begins a connection of MCP.
func (w *web) introduce(token string) error {
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Authorization": {"Bearer " + token},
	}
	say := func(body string) error {
		r, err := http.NewRequest(http.MethodPost, w.at.String(), strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header = header
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			header.Set("Mcp-Session-Id", id)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return err
		}
		if res.StatusCode/100 != 2 {
			return fmt.Errorf("it answers %s", res.Status)
		}
		return nil
	}
	err := say(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
	if err == nil {
		err = say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	w.head = "POST " + w.at.RequestURI() + " HTTP/1.1\r\nHost: " + w.at.Host + "\r\n"
	for name := range header {
		w.head += name + ": " + header.Get(name) + "\r\n"
	}
	w.head += "Content-Length: "
	return err
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
	w.mu.Lock()
	w.asked++
	c.asked = w.asked // the callers share one connection of MCP
	w.mu.Unlock()
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

// answer reads the answer to a request, which must be a result. Its length is told, or it is an event of a stream.
func (c *webConn) answer() error {
	var head bytes.Buffer
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		head.Write(line)
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(": ")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if !bytes.HasPrefix(head.Bytes(), []byte("HTTP/1.1 200")) {
		return fmt.Errorf("it says %.300s", head.String())
	}
	var body []byte
	var err error
	if length >= 0 {
		body = make([]byte, length)
		_, err = io.ReadFull(c.in, body)
	} else {
		body, err = c.event(&head)
	}
	if err != nil {
		return err
	}
	if id, ok := answered(body); !ok || id != c.asked {
		return fmt.Errorf("it says %.300s", body)
	}
	return nil
}

// event reads the response that follows a head, and returns the last event in it.
func (c *webConn) event(head io.Reader) ([]byte, error) {
	res, err := http.ReadResponse(bufio.NewReader(io.MultiReader(head, c.in)), nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	_, data, _ := bytes.Cut(all[max(0, bytes.LastIndex(all, []byte("data: "))):], []byte("data: "))
	return bytes.TrimSpace(data), err
}
