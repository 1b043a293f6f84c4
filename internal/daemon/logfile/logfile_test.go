package logfile_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/daemon/logfile"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A log stays within its bounds, however much is written, and by however many: the
// newest lines are there, each whole and once, and nothing else lies beside it.
func TestLogStaysBounded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "kernel.log")
	log, err := logfile.Open(path, logfile.Options{MaxSize: 10_000})
	ok(t, err)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := range 1000 {
				fmt.Fprintf(log, "writer %d line %d\n", w, n)
			}
		})
	}
	writers.Wait()
	fmt.Fprintln(log, "the last line")
	ok(t, log.Close())
	entries, err := os.ReadDir(folder)
	ok(t, err)
	seen := map[string]bool{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		ok(t, err)
		if len(data) > 10_000 || !bytes.HasSuffix(data, []byte("\n")) {
			t.Errorf("%s has %d bytes, and ends with %q", e.Name(), len(data), data[max(0, len(data)-20):])
		}
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			if seen[line] {
				t.Errorf("twice: %q", line)
			}
			seen[line] = true
		}
	}
	if len(entries) != 3 || !seen["the last line"] {
		t.Errorf("%d files: %v", len(entries), entries)
	}
	last, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(last, []byte("the last line\n")) {
		t.Errorf("the newest file ends with %q, %v", last[max(0, len(last)-30):], err)
	}
}

// Short-lived kernels share one log, which is bounded too.
func TestLogOfManyProcessesStaysBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kernel.log")
	ok(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 50_000), 0o600)) // as an older version left it
	for range 50 {
		log, err := logfile.Open(path, logfile.Options{MaxSize: 1000})
		ok(t, err)
		fmt.Fprintln(log, strings.Repeat("y", 99))
		ok(t, log.Close())
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 1000 {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

// A reader that has the file open reads it to its end, whatever happens to its name.
func TestReaderKeepsItsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kernel.log")
	log, err := logfile.Open(path, logfile.Options{MaxSize: 100})
	ok(t, err)
	defer log.Close()
	fmt.Fprintln(log, "first")
	reader, err := os.Open(path)
	ok(t, err)
	defer reader.Close()
	fmt.Fprintln(log, "second")
	fmt.Fprintln(log, strings.Repeat("z", 95))
	data, err := io.ReadAll(reader)
	if err != nil || string(data) != "first\nsecond\n" {
		t.Errorf("it read %q, %v", data, err)
	}
}

// A stream that leads to the log follows it.
func TestStreamFollows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kernel.log")
	stream, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ok(t, err)
	defer stream.Close()
	log, err := logfile.Open(path, logfile.Options{MaxSize: 100}, stream)
	ok(t, err)
	defer log.Close()
	fmt.Fprintln(log, strings.Repeat("a", 90))
	fmt.Fprintln(log, strings.Repeat("b", 90))
	fmt.Fprintln(stream, "a crash")
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "a crash") {
		t.Errorf("the new file holds %q, %v", data, err)
	}
}

// A log begins anew when it is too old or too large, by the time that its own first line tells.
func TestRotation(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	line := func(at time.Time, text string) string {
		return "time=" + at.Format(time.RFC3339) + " msg=" + text + "\n"
	}
	asJSON := func(at time.Time, text string) string {
		return `{"time":"` + at.Format(time.RFC3339Nano) + `","msg":"` + text + `"}` + "\n"
	}
	for _, c := range []struct {
		name   string
		before map[string]string // files that lie there
		write  []string
		after  time.Duration // between two lines
		files  map[string]string
	}{
		{"a new log", nil, []string{"a\n", "b\n"}, time.Hour, map[string]string{"kernel.log": "a\nb\n"}},
		{"it grows old while it is open", nil, []string{"a\n", "b\n", "c\n"}, 36 * time.Hour,
			map[string]string{"kernel.log": "c\n", "kernel.log.1": "a\nb\n"}},
		{"an old one, by its first line", map[string]string{"kernel.log": line(day.Add(-72*time.Hour), "x")},
			[]string{"a\n"}, 0, map[string]string{"kernel.log": "a\n", "kernel.log.1": line(day.Add(-72*time.Hour), "x")}},
		{"an old one, as JSON", map[string]string{"kernel.log": asJSON(day.Add(-72*time.Hour), "x")},
			[]string{"a\n"}, 0, map[string]string{"kernel.log": "a\n", "kernel.log.1": asJSON(day.Add(-72*time.Hour), "x")}},
		{"a young one goes on", map[string]string{"kernel.log": line(day.Add(-time.Hour), "x")}, []string{"a\n"}, 0,
			map[string]string{"kernel.log": line(day.Add(-time.Hour), "x") + "a\n"}},
		{"too large", nil, []string{strings.Repeat("a", 60), strings.Repeat("b", 60), strings.Repeat("c", 60), "d"}, 0,
			map[string]string{"kernel.log": strings.Repeat("c", 60) + "d", "kernel.log.1": strings.Repeat("b", 60),
				"kernel.log.2": strings.Repeat("a", 60)}},
		{"the oldest goes", map[string]string{"kernel.log": strings.Repeat("z", 100), "kernel.log.1": "y", "kernel.log.2": "x"},
			[]string{"a\n"}, 0, map[string]string{"kernel.log": "a\n", "kernel.log.1": strings.Repeat("z", 100), "kernel.log.2": "y"}},
		{"killed after the rename, before the new file", map[string]string{"kernel.log.1": "y", "kernel.log.2": "x"},
			[]string{"a\n"}, 0, map[string]string{"kernel.log": "a\n", "kernel.log.1": "y", "kernel.log.2": "x"}},
		{"killed between two renames", map[string]string{"kernel.log": strings.Repeat("z", 100), "kernel.log.2": "x"},
			[]string{"a\n"}, 0, map[string]string{"kernel.log": "a\n", "kernel.log.1": strings.Repeat("z", 100), "kernel.log.2": "x"}},
	} {
		folder, now := t.TempDir(), day
		for name, text := range c.before {
			ok(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
			ok(t, os.Chtimes(filepath.Join(folder, name), day, day))
		}
		log, err := logfile.Open(filepath.Join(folder, "kernel.log"), logfile.Options{
			MaxSize: 100, MaxAge: 48 * time.Hour, Now: func() time.Time { return now },
		})
		ok(t, err)
		for _, text := range c.write {
			_, _ = log.Write([]byte(text))
			now = now.Add(c.after)
		}
		ok(t, log.Close())
		entries, err := os.ReadDir(folder)
		ok(t, err)
		for _, e := range entries {
			got, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if want, kept := c.files[e.Name()]; err != nil || !kept || string(got) != want {
				t.Errorf("%s: %s is %q, want %q, %v", c.name, e.Name(), got, want, err)
			}
		}
		if len(entries) != len(c.files) {
			t.Errorf("%s: %d files, want %d", c.name, len(entries), len(c.files))
		}
	}
}
