package database_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"callgate/tool"
)

// commitProxy passes a database's connections on, and does what it is told once when a
// client commits.
type commitProxy struct {
	port int
	next atomic.Pointer[string] // what to do at the next COMMIT
	held chan struct{}          // a COMMIT's answer is held back
}

// What a proxy does at a COMMIT.
const (
	cutBefore = "cut before it arrives"
	cutAfter  = "cut after it was carried out"
	hold      = "hold its answer back"
)

func newCommitProxy(t *testing.T, to int) *commitProxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &commitProxy{port: l.Addr().(*net.TCPAddr).Port, held: make(chan struct{}, 1)}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(to))
			if err != nil {
				client.Close()
				return
			}
			go p.carry(client, server)
		}
	}()
	return p
}

// carry carries one connection. A statement that commits by itself says so.
func (p *commitProxy) carry(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	var drop atomic.Bool
	answered := make(chan struct{}, 1)
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if drop.Load() && n > 0 {
				answered <- struct{}{}
				return
			}
			if err != nil {
				client.Close()
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		what := ""
		if bytes.Contains(buffer[:n], []byte("COMMIT")) || bytes.Contains(buffer[:n], []byte("one of its own")) {
			if told := p.next.Swap(nil); told != nil {
				what = *told
			}
		}
		if what == cutBefore {
			return
		}
		drop.Store(what != "")
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		switch what {
		case cutAfter:
			<-answered
			return
		case hold:
			<-answered
			p.held <- struct{}{}
			_, _ = io.Copy(io.Discard, client) // until the client gives up
			return
		}
	}
}

// TestCommitInDoubt cuts the connection at COMMIT: before it arrived nothing was done,
// and after it was carried out everything was. Nobody but the database knows which, so
// the call is in doubt both times, and when its caller gave up meanwhile.
func TestCommitInDoubt(t *testing.T) {
	for _, driver := range []string{"postgres", "mariadb"} {
		t.Run(driver, func(t *testing.T) {
			server := servers.Postgres
			if driver == "mariadb" {
				server = servers.MariaDB
			}
			target := toServer(t, driver, server(t))
			proxy := newCommitProxy(t, target["port"].(int))
			f := open(t)
			f.setup(target.with(args{"port": proxy.port}))
			f.run("CREATE TABLE t (a INTEGER)")
			insert := args{"statements": []any{
				args{"query": "INSERT INTO t VALUES (1)"}, args{"query": "INSERT INTO t VALUES (2)"},
			}}
			want := 0
			for what, rows := range map[string]int{cutBefore: 0, cutAfter: 2, hold: 2} {
				proxy.next.Store(&what)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				if what == hold {
					go func() {
						<-proxy.held
						cancel()
					}()
				}
				r, err := f.call(ctx, "transaction", insert)
				cancel()
				if tool.KindOf(err) != tool.InDoubt {
					t.Errorf("%s: %+v, %v", what, r, err)
				}
				want += rows
				if got := f.one("SELECT count(*) FROM t"); got != num(strconv.Itoa(want)) {
					t.Errorf("%s: %v rows, want %d", what, got, want)
				}
			}
			what := cutAfter
			proxy.next.Store(&what)
			f.fails("execute_query", args{"query": "INSERT INTO t VALUES (3) /* one of its own */"}, tool.InDoubt, "may or may not")
			f.ok("transaction", insert) // it goes on
		})
	}
}
