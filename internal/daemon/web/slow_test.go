package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/daemon/web"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/token"
)

// watched tells when an answer could not be written.
type watched struct {
	http.ResponseWriter
	failed func()
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err != nil {
		w.failed()
	}
	return n, err
}

func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// trickle writes a text a byte at a time, until the other side has enough of it.
func trickle(conn net.Conn, text string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := range len(text) {
		<-tick.C
		if _, err := conn.Write([]byte{text[i]}); err != nil {
			return
		}
	}
}

// A client that is slow, with the head of a request, with its body, or with reading the answer, holds its connection
// for as long as the limits say, and no longer; who comes meanwhile waits for a place and then has it.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	gaveUp := make(chan struct{})
	once := sync.OnceFunc(func() { close(gaveUp) })
	const most = 4
	f := serve(t, func(o *web.Options) {
		o.Limits = web.Limits{
			Connections: most, Header: 400 * time.Millisecond, Body: 150 * time.Millisecond, Write: 150 * time.Millisecond,
		}
		o.Counted = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(&watched{w, once}, r) })
		}
	})
	operator := f.token(token.Operator)
	head := " HTTP/1.1\r\nHost: " + strings.TrimPrefix(f.server.URL(), "http://") + "\r\nAuthorization: Bearer " + operator + "\r\n"
	endless := strings.Repeat("a", 1<<20)

	t.Run("the head", func(t *testing.T) {
		conn := f.dial()
		go trickle(conn, "GET /v1/status"+head+"X-A: "+endless)
		if answer, _ := io.ReadAll(conn); strings.HasPrefix(string(answer), "HTTP/1.1 200") { // it would never end
			t.Errorf("answered %s", answer)
		}
	})
	t.Run("the body", func(t *testing.T) {
		conn := f.dial()
		go trickle(conn, "{"+endless)
		_, err := io.WriteString(conn, "POST /v1/tools/filesystem.read/call"+head+"Content-Length: 1000000\r\n\r\n")
		kerneltest.OK(t, err)
		if answer, _ := io.ReadAll(conn); strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("answered %s", answer)
		}
	})
	t.Run("reading nothing", func(t *testing.T) {
		conn := f.dial()
		request := "GET /v1/openapi.json" + head + "\r\n"
		go func() { // more answers than the buffers of the machine hold
			for range 1000 {
				if _, err := io.WriteString(conn, request); err != nil {
					return
				}
			}
		}()
		<-gaveUp
		in := bufio.NewReader(conn)
		answers := 0
		for {
			answer, err := http.ReadResponse(in, nil)
			if err == nil {
				_, err = io.Copy(io.Discard, answer.Body)
			}
			if err != nil {
				break // the connection was closed
			}
			answers++
		}
		if answers >= 1000 {
			t.Error("every answer was written for who reads nothing")
		}
	})
	t.Run("all places at once", func(t *testing.T) {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		for range 3 * most {
			conn := f.dial()
			_, err := io.WriteString(conn, "GET /v1/status"+head)
			kerneltest.OK(t, err)
		}
		if status, body := f.ask(operator, "GET", "/v1/status", ""); status != http.StatusOK {
			t.Errorf("who came last: %d %s", status, body)
		}
	})
}
