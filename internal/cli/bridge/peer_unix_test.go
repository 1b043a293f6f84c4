//go:build unix

package bridge

import (
	"bytes"
	"os"
	"testing"
)

func TestPeerClosed(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if peerClosed(w) {
		t.Error("the reader is there, and counts as gone")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !peerClosed(w) {
		t.Error("the reader is gone, and counts as there")
	}
	if peerClosed(&bytes.Buffer{}) {
		t.Error("a buffer has no other end")
	}
	closed, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if peerClosed(closed) {
		t.Error("a file has no other end")
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if peerClosed(closed) {
		t.Error("a file that is closed here has no other end")
	}
}
