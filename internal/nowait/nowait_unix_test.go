//go:build unix

package nowait_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"callgate/internal/nowait"
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

// TestReader reads what a pipe and a connection bring: at once, after a wait, in pieces, to their end.
func TestReader(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string]func(*testing.T) (io.ReadCloser, io.WriteCloser){"pipe": pipe, "socket": socket} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := pair(t)
			r, w := nowait.Reader(in), nowait.Writer(out)
			if r == io.Reader(in) || w == io.Writer(out) {
				t.Fatal("the system is not asked directly")
			}
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // more than is taken at once
			failed := make(chan error, 1)
			go func() {
				_, err := w.Write(sent)
				_ = out.Close()
				failed <- err
			}()
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("read %d of %d bytes, %v", len(got), len(sent), err)
			}
			if err := <-failed; err != nil {
				t.Error(err)
			}
			if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("after the end: %d, %v", n, err)
			}
		})
	}
}

// TestReaderIsClosed closes a pipe that somebody waits for.
func TestReaderIsClosed(t *testing.T) {
	t.Parallel()
	in, _ := pipe(t)
	r := nowait.Reader(in)
	begun, ended := make(chan struct{}), make(chan error)
	go func() {
		close(begun)
		_, err := r.Read(make([]byte, 1))
		ended <- err
	}()
	<-begun
	_ = in.Close()
	if err := <-ended; err == nil || err == io.EOF {
		t.Errorf("the read of a closed pipe: %v", err)
	}
}

// TestWriterKeepsTogether writes at once from many sides, more than is taken: no text is torn.
func TestWriterKeepsTogether(t *testing.T) {
	t.Parallel()
	in, out := pipe(t)
	w := nowait.Writer(out)
	const writers = 8
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			if _, err := w.Write(append(bytes.Repeat([]byte{'a' + byte(i)}, 100_000), '\n')); err != nil {
				t.Error(err)
			}
		})
	}
	go func() { all.Wait(); _ = out.Close() }()
	got, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(got) {
		if want := bytes.Repeat(line[:1], 100_000); !bytes.Equal(line[:len(line)-1], want) {
			t.Fatalf("a text was torn: %d bytes", len(line))
		}
	}
	if len(got) != writers*100_001 {
		t.Errorf("%d bytes came", len(got))
	}
}

// TestReopen opens a pipe again that is not polled: it is, and the first is as it was.
func TestReopen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("pipes are opened again on Linux alone")
	}
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	defer r.Close()
	defer w.Close()
	if nowait.To(w) != nil {
		t.Fatal("a pipe that is not polled is written to without waiting")
	}
	in, out := nowait.Reopen(r), nowait.Reopen(w)
	if in == nil || out == nil {
		t.Fatal("it is not opened again")
	}
	defer in.Close()
	defer out.Close()
	write := nowait.To(out)
	if write == nil {
		t.Fatal("the pipe that was opened again is not polled")
	}
	if nowait.To(w) != nil || nowait.Reader(r) != io.Reader(r) {
		t.Error("the pipe itself was changed")
	}
	if n, err := write([]byte("hello")); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(nowait.Reader(in), got); err != nil || string(got) != "hello" {
		t.Errorf("read %q, %v", got, err)
	}
	if nowait.Reopen(out) != nil {
		t.Error("a pipe that is polled is opened again")
	}
}

func pipe(t *testing.T) (io.ReadCloser, io.WriteCloser) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func socket(t *testing.T) (io.ReadCloser, io.WriteCloser) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}
