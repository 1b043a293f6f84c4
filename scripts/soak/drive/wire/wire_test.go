//go:build linux

package wire

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/statedir"
)

// The wire carries what clients and the kernel say, breaks their connections while
// both live, and leaves the place of the socket empty.
func TestWire(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "wire") // a path that is short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := statedir.Dir(dir).Socket()
	kernel, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	go func() {
		for {
			conn, err := kernel.Accept()
			if err != nil {
				return
			}
			go func() {
				line, _ := bufio.NewReader(conn).ReadString('\n')
				fmt.Fprint(conn, "heard "+line)
			}()
		}
	}()
	w := &Wire{}
	if err := w.Lay(dir); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, "hello")
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || line != "heard hello\n" {
		t.Fatalf("%q, %v", line, err)
	}
	w.BreakAll()
	if line, err := in.ReadString('\n'); err == nil {
		t.Errorf("a broken connection still says %q", line)
	}
	w.Cut()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("the wire leaves %v", left)
	}
}
