package mailbox_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/channel/channeltest"
	"callgate/tool"
)

// flood is a mail server that answers one command with more than anybody asked for, until
// the connection is closed or most bytes were sent.
func flood(t *testing.T, at string, most int64) (port int, sent *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sent = &atomic.Int64{}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "* OK [CAPABILITY IMAP4rev1] ready\r\n")
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			tag, rest, _ := strings.Cut(lines.Text(), " ")
			answer := map[string]string{
				"UID SEARCH": "* SEARCH 1\r\n", "SELECT": "* 1 EXISTS\r\n* OK [UIDVALIDITY 1] x\r\n",
				"UID FETCH": "* 1 FETCH (UID 1 BODY[]<0> {1099511627776}\r\n",
			}
			for command, text := range answer {
				if !strings.HasPrefix(strings.ToUpper(rest), command) {
					continue
				}
				if command == at && at == "UID SEARCH" {
					text = "* SEARCH"
				}
				fmt.Fprint(conn, text)
				if command == at {
					n, _ := io.Copy(conn, io.LimitReader(ones{}, most))
					sent.Add(n)
					return
				}
			}
			fmt.Fprintf(conn, "%s OK done\r\n", tag)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, sent
}

// ones is " 1" again and again: bytes of a mail, or numbers of a search.
type ones struct{}

func (ones) Read(p []byte) (int, error) {
	p = p[:len(p)/2*2]
	for i := range p {
		p[i] = " 1"[i%2]
	}
	return len(p), nil
}

// A server that sends more than was asked for is cut off, and nothing of it is kept.
func TestServerThatSendsWithoutEnd(t *testing.T) {
	t.Parallel()
	const most = 256 << 20
	for _, at := range []string{"UID FETCH", "UID SEARCH"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			port, sent := flood(t, at, most)
			o := options(t, &channeltest.IMAP{Port: port})
			o.MaxBody = 1 << 20
			events, err := look(t, o, nil)
			if tool.KindOf(err) != tool.Limited || len(events) > 0 || !strings.Contains(err.Error(), "more than it was asked for") {
				t.Errorf("%v, %d events", err, len(events))
			}
			if n := sent.Load(); n >= most {
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
}
