package artifact_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"callgate/internal/artifact"
	"callgate/tool"
)

func open(t testing.TB) (*artifact.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "artifacts")
	s, err := artifact.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func put(t testing.TB, s *artifact.Store, text string) string {
	t.Helper()
	ref, err := s.Put(t.Context(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// path is where the package comment says that an artifact lies.
func path(dir, ref string) string {
	digits := strings.TrimPrefix(ref, "sha256:")
	return filepath.Join(dir, digits[:2], digits)
}

func isKind(t testing.TB, err error, kind tool.Kind) {
	t.Helper()
	if tool.KindOf(err) != kind {
		t.Fatalf("got %v (kind %q), want kind %q", err, tool.KindOf(err), kind)
	}
}

func TestRoundTrip(t *testing.T) {
	s, dir := open(t)
	for _, data := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("large "), 100_000)} {
		ref, err := s.Put(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); ref != want {
			t.Fatalf("ref %s, want %s", ref, want)
		}
		again, err := s.PutFrom(t.Context(), iotest.OneByteReader(bytes.NewReader(data[:min(len(data), 1000)])))
		if err != nil || len(data) <= 1000 && again != ref {
			t.Fatalf("stored from a reader: %s, %v", again, err)
		}
		got, err := s.Get(t.Context(), ref)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes came back as %d: %v", len(data), len(got), err)
		}
		info, err := os.Stat(path(dir, ref))
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "partial")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestPutIsIdempotent(t *testing.T) {
	s, _ := open(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for n := range 10 {
				if _, err := s.Put(context.Background(), fmt.Appendf(nil, "text %d", n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	usage, err := s.Usage(t.Context())
	if err != nil || usage.Count != 10 || usage.Bytes != 60 {
		t.Fatalf("usage %+v, %v", usage, err)
	}
}

func TestBadRefs(t *testing.T) {
	s, dir := open(t)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := put(t, s, "x")
	digits := strings.TrimPrefix(good, "sha256:")
	for _, ref := range []string{
		"", "x", digits, "sha256:", "md5:" + digits, "sha256:" + digits[1:], good + "0", strings.ToUpper(good),
		"sha256:" + strings.ToUpper(digits), "sha256:../secret", "sha256:" + strings.Repeat("../", 20) + "abcd",
		"sha256:" + strings.Repeat(".", 64), "sha256:" + digits[:63] + "/", "sha256:" + digits[:63] + "\x00", " " + good, good + "\n",
	} {
		_, err := s.Open(t.Context(), ref)
		isKind(t, err, tool.Invalid)
		_, err = s.Get(t.Context(), ref)
		isKind(t, err, tool.Invalid)
	}
	_, err := s.Get(t.Context(), "sha256:"+strings.Repeat("0", 64))
	isKind(t, err, tool.NotFound)
}

func TestDamageShows(t *testing.T) {
	s, dir := open(t)
	ref := put(t, s, "the true text")
	if err := os.WriteFile(path(dir, ref), []byte("the false one"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(t.Context(), ref)
	isKind(t, err, tool.Internal)
	r, err := s.Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	isKind(t, err, tool.Internal)

	// A file of another length is replaced when it is stored again.
	if err := os.WriteFile(path(dir, ref), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, s, "the true text")
	if got, err := s.Get(t.Context(), ref); err != nil || string(got) != "the true text" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestFailingSource(t *testing.T) {
	s, dir := open(t)
	broken := errors.New("the pipe broke")
	_, err := s.PutFrom(t.Context(), io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.PutFrom(ctx, strings.NewReader("text"))
	isKind(t, err, tool.Cancelled)
	if usage, err := s.Usage(t.Context()); err != nil || usage.Count != 0 {
		t.Fatalf("usage %+v, %v", usage, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "partial")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// age makes a file look as if it had been stored that long ago.
func age(t testing.TB, path string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func TestCollect(t *testing.T) {
	s, dir := open(t)
	live, dead, young, renewed := put(t, s, "live"), put(t, s, "dead"), put(t, s, "young"), put(t, s, "renewed")
	for _, ref := range []string{live, dead, renewed} {
		age(t, path(dir, ref), 2*time.Hour)
	}
	put(t, s, "renewed") // stored again: whoever did has not named it yet
	foreign := filepath.Join(dir, "ab", "notes.txt")
	for _, name := range []string{foreign, filepath.Join(dir, "partial", "put-123"), filepath.Join(dir, "partial", "put-456")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("four"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age(t, foreign, 2*time.Hour)
	age(t, filepath.Join(dir, "partial", "put-123"), 2*time.Hour) // left by a crash
	removed, err := s.DeleteUnused(t.Context(), func(ref string) bool { return ref == live }, time.Now().Add(-time.Hour))
	if err != nil || removed != (artifact.Usage{Count: 1, Bytes: 4}) {
		t.Fatalf("removed %+v, %v", removed, err)
	}
	if s, err = artifact.Open(dir); err != nil { // what a crash left goes with the next start
		t.Fatal(err)
	}
	for _, ref := range []string{live, young, renewed} {
		if _, err := s.Get(t.Context(), ref); err != nil {
			t.Error(err)
		}
	}
	_, err = s.Get(t.Context(), dead)
	isKind(t, err, tool.NotFound)
	for name, want := range map[string]bool{"ab/notes.txt": true, "partial/put-123": false, "partial/put-456": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCollectSparesWhatIsBeingWritten: a slow source may outlast any grace.
func TestCollectSparesWhatIsBeingWritten(t *testing.T) {
	s, dir := open(t)
	ref := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("half and half")))
	r, w := io.Pipe()
	stored := make(chan error)
	go func() { stored <- artifact.NewFolder(dir).Put(context.Background(), ref, 13, r) }()
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	removed, err := s.DeleteUnused(t.Context(), func(string) bool { return false }, time.Now().Add(time.Hour))
	if err != nil || removed.Count != 0 {
		t.Fatalf("removed %+v, %v", removed, err)
	}
	if _, err := w.Write([]byte(" and half")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), ref); err != nil || string(got) != "half and half" {
		t.Fatalf("got %q, %v", got, err)
	}
}

// TestCollectAgainstPut stores and collects the same few texts at once: what
// was stored a moment ago is never gone.
func TestCollectAgainstPut(t *testing.T) {
	s, dir := open(t)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := s.DeleteUnused(context.Background(), func(string) bool { return false }, time.Now().Add(-time.Hour)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for n := range 200 {
		ref := put(t, s, fmt.Sprint(n%3))
		if _, err := s.Get(t.Context(), ref); err != nil {
			t.Error(err)
		}
		age(t, path(dir, ref), 2*time.Hour)
	}
	close(done)
	wg.Wait()
}

func FuzzCheck(f *testing.F) {
	s, _ := open(f)
	f.Add(put(f, s, "x"))
	f.Add("sha256:../../etc/passwd")
	f.Fuzz(func(t *testing.T, ref string) {
		if artifact.Check(ref) != nil {
			return
		}
		if len(ref) != 71 || strings.ContainsAny(ref, "./\\\x00") {
			t.Fatalf("%q passed", ref)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{16 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			s, _ := open(b)
			data := make([]byte, size)
			n := 0
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				n++
				copy(data, fmt.Sprint(n))
				if _, err := s.Put(b.Context(), data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
