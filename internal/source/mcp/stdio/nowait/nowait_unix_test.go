//go:build unix

package nowait_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"testing"

	"callgate/internal/source/mcp/stdio/nowait"
)

// TestPipe fills a pipe: what is taken arrives, and then nothing is taken until somebody reads.
func TestPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	write := nowait.To(w)
	if write == nil {
		t.Fatal("a pipe is not written to without waiting")
	}
	piece, total := bytes.Repeat([]byte("x"), 10_000), 0
	for {
		n, err := write(piece)
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n < len(piece) {
			break
		}
	}
	for range 2 {
		if n, err := write(piece); n == len(piece) || err != nil {
			t.Fatalf("a full pipe took %d bytes, %v", n, err)
		} else {
			total += n
		}
	}
	if _, err := io.CopyN(io.Discard, r, int64(total)); err != nil {
		t.Fatal(err)
	}
	if n, err := write([]byte("y")); n != 1 || err != nil {
		t.Errorf("an empty pipe took %d bytes, %v", n, err)
	}
	_ = r.Close()
	if n, err := write([]byte("z")); n != 0 || err == nil {
		t.Errorf("a pipe that nobody reads took %d bytes", n)
	}
	_ = w.Close()
	if n, err := write([]byte("z")); n != 0 || err == nil {
		t.Errorf("a closed pipe took %d bytes", n)
	}
}

// TestOthers names what may wait.
func TestOthers(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, w := range []io.Writer{io.Discard, a, file} {
		if nowait.To(w) != nil {
			t.Errorf("%T is written to without waiting", w)
		}
	}
}
