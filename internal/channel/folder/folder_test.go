package folder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/channel"
	"callgate/internal/channel/channeltest"
	"callgate/internal/channel/folder"
)

// watched is a folder that a receiver watches, in a bubble of time.
type watched struct {
	dir    string
	events []string // names and contents
	sizes  []int
	ids    map[string]bool
	errs   []error
	full   atomic.Bool // nothing can be kept
	kept   func()      // after each event; nil: nothing
}

func (w *watched) start(t *testing.T, o folder.Options) (stop func()) {
	root, err := os.OpenRoot(filepath.Dir(w.dir))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Root, o.Dir, o.Interval, o.MaxBody = root, filepath.Base(w.dir), time.Second, 100
	o.Report = func(err error) { w.errs = append(w.errs, err) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = folder.New(o).Receive(ctx, func(e channel.Event) error {
			if w.full.Load() {
				return errors.New("full")
			}
			if w.ids[e.ID] {
				t.Errorf("%s comes twice", e.Facts[0].Value)
			}
			w.ids[e.ID] = true
			w.events = append(w.events, filepath.Base(e.Facts[0].Value)+"="+string(e.Body))
			w.sizes = append(w.sizes, e.Size)
			if w.kept != nil {
				w.kept()
			}
			return nil
		})
	}()
	return func() {
		cancel()
		<-done
		_ = root.Close()
	}
}

func (w *watched) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func newWatched(t *testing.T) *watched {
	dir := filepath.Join(t.TempDir(), "in")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &watched{dir: dir, ids: map[string]bool{}}
}

func TestFilesAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, state := newWatched(t), &channeltest.State{}
		w.write(t, "old.txt", "old")
		stop := w.start(t, folder.Options{Pattern: "*.txt", State: state})
		pass(1500 * time.Millisecond)
		w.write(t, "a.txt", "one")
		w.write(t, "b.log", "no")
		w.write(t, "big.txt", strings.Repeat("x", 150))
		_ = os.Mkdir(filepath.Join(w.dir, "sub.txt"), 0o755)
		_ = os.Symlink("/etc/passwd", filepath.Join(w.dir, "link.txt"))
		pass(time.Second)
		if len(w.events) > 0 {
			t.Errorf("files that may still be written: %v", w.events)
		}
		w.write(t, "a.txt", "one, whole") // it is being written
		pass(time.Second)
		pass(2 * time.Second)
		stop()
		w.write(t, "later.txt", "x") // nobody looks
		stop = w.start(t, folder.Options{Pattern: "*.txt", State: state})
		pass(3 * time.Second)
		stop()
		got := strings.Join(w.events, " ")
		if got != "big.txt="+strings.Repeat("x", 100)+" a.txt=one, whole later.txt=x" || w.sizes[0] != 150 || w.sizes[1] != 0 {
			t.Errorf("%s %v %v", got, w.sizes, w.errs)
		}
	})
}

func TestNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		w.full.Store(true)
		w.write(t, "a.txt", "one")
		stop := w.start(t, folder.Options{First: true, State: &channeltest.State{}})
		pass(3 * time.Second)
		w.full.Store(false)
		pass(time.Minute)
		stop()
		if strings.Join(w.events, " ") != "a.txt=one" {
			t.Errorf("%v %v", w.events, w.errs)
		}
	})
}

func TestNoFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		_ = os.Remove(w.dir)
		stop := w.start(t, folder.Options{State: &channeltest.State{}})
		pass(time.Millisecond)
		_ = os.Mkdir(w.dir, 0o755)
		pass(time.Minute)
		w.write(t, "a", "one")
		pass(time.Minute)
		stop()
		if len(w.errs) < 2 || w.errs[0] == nil || w.errs[len(w.errs)-1] != nil || len(w.events) != 1 {
			t.Errorf("%v %v", w.events, w.errs)
		}
	})
}

// A link that comes in the place of a file after it was found, or of the folder, is not
// read through.
func TestReadsThroughNoLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		beside := filepath.Join(filepath.Dir(w.dir), "kernel")
		_ = os.Mkdir(beside, 0o755)
		if err := os.WriteFile(filepath.Join(beside, "key"), []byte("key"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.write(t, "a", "one")
		w.write(t, "b", "two")
		w.kept = func() { // b was found
			clear(w.ids) // after an error, what was passed on comes again
			_ = os.Remove(filepath.Join(w.dir, "b"))
			_ = os.Symlink("../kernel/key", filepath.Join(w.dir, "b"))
		}
		stop := w.start(t, folder.Options{First: true, State: &channeltest.State{}})
		pass(time.Minute)
		_ = os.RemoveAll(w.dir)
		if err := os.Symlink("kernel", w.dir); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		stop()
		if got := strings.Join(w.events, " "); !strings.HasPrefix(got, "a=one") || strings.Contains(got, "key") ||
			w.errs[len(w.errs)-1] == nil {
			t.Errorf("%v %v", w.events, w.errs)
		}
	})
}
