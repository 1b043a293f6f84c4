//go:build linux || darwin

package undo_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/undo"
)

// TestFileChangesWhileItIsKept tests that a content is kept only as it was hashed. A large file is read twice, first to
// hash it. Between the two, the test writes to it through a memory mapping: neither the size of the file nor, as its page
// is dirty already, its times change.
func TestFileChangesWhileItIsKept(t *testing.T) {
	t.Parallel()
	const size = 1<<20 + 1000
	const begin, end = "begin ", " end"
	before := begin + strings.Repeat("x", size-len(begin)-len(end)) + end
	for _, test := range []struct {
		name   string
		change func(mapped []byte)
		want   string // why the content is not kept
	}{
		{"not at all", func([]byte) {}, ""},
		{"the first byte", func(mapped []byte) { mapped[0] = 'B' }, "it was written while it was read"},
		{"the last byte", func(mapped []byte) { mapped[size-1] = 'D' }, "it was written while it was read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mapped []byte
			p := newPlaceWith(t, undo.Options{Secret: func(text []byte) bool {
				if bytes.HasSuffix(text, []byte(end)) { // the whole file was hashed
					test.change(mapped)
				}
				return false
			}})
			p.write(t, "a", before)()
			f, err := os.OpenFile(filepath.Join(p.workspace, "a"), os.O_RDWR, 0)
			ok(t, err)
			defer f.Close()
			mapped, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
			ok(t, err)
			defer func() { ok(t, syscall.Munmap(mapped)) }()
			mapped[0], mapped[size-1] = before[0], before[size-1] // makes both pages dirty

			p.call(t.Context(), t, "s", p.write(t, "a", "new"), "a")
			was := p.entries(t)[0].Files[0].Before
			if was.Why != test.want || was.Kept != (test.want == "") {
				t.Errorf("the content is kept: %v (%q), want %q", was.Kept, was.Why, test.want)
			}
			if kept := p.contents(t); kept != 0 && test.want != "" {
				t.Errorf("%d contents are kept", kept)
			}
			if !was.Kept {
				return
			}
			r, err := p.store.Content(was.Ref)
			ok(t, err)
			defer r.Close()
			if data, err := io.ReadAll(r); err != nil || string(data) != before {
				t.Errorf("%d bytes are kept that are not those of the file: %v", len(data), err)
			}
		})
	}
}
