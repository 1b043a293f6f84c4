package outputbus_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"callgate/internal/journal/outputbus"
)

func TestLiveOutput(t *testing.T) {
	var l outputbus.Bus
	l.Publish("c0", "stdout", []byte("nobody listens"))
	ctx, cancel := context.WithCancel(t.Context())
	heard := l.Subscribe(ctx)
	buf := []byte("hello")
	l.Publish("c1", "stdout", buf)
	copy(buf, "XXXXX") // the publisher uses its buffer again
	<-heard.Ready()
	if got := heard.Take(); len(got) != 1 || got[0].Call != "c1" || string(got[0].Text) != "hello" {
		t.Errorf("heard %+v", got)
	}
	l.Publish("c1", "stderr", []byte("a"))
	l.Publish("c2", "stderr", []byte("b"))
	cancel()
	var rest []string
	for out := range heard.All() {
		rest = append(rest, out.Call+" "+string(out.Text))
	}
	if want := []string{"c1 a", "c2 b"}; !slices.Equal(rest, want) {
		t.Errorf("after the end of the subscription heard %q, want %q", rest, want)
	}
}

// A listener that does not read loses output only above a limit. It is told how much
// each stream lost, and hears the output that follows.
func TestLossIsReported(t *testing.T) {
	var l outputbus.Bus
	heard := l.Subscribe(t.Context())
	const pieces, size = 200, 64 << 10
	line := bytes.Repeat([]byte("x"), size)
	for range pieces {
		l.Publish("c1", "stdout", line)
		l.Publish("c2", "stderr", line)
	}
	l.Publish("c3", "stdout", []byte("later"))
	text, lost := map[string]int{}, map[string]int{}
	for _, out := range heard.Take() {
		of := out.Call + " " + out.Stream
		if len(out.Text) > 0 && (lost[of] > 0 || out.Lost > 0) {
			t.Fatalf("%s has text behind its loss, or in the report of it", of)
		}
		text[of] += len(out.Text)
		lost[of] += out.Lost
	}
	for _, of := range []string{"c1 stdout", "c2 stderr"} {
		if text[of] == 0 || lost[of] == 0 || text[of]+lost[of] != pieces*size {
			t.Errorf("%s: %d bytes heard and %d lost, of %d", of, text[of], lost[of], pieces*size)
		}
	}
	if lost["c3 stdout"] != len("later") {
		t.Errorf("c3 lost %d bytes, want %d", lost["c3 stdout"], len("later"))
	}
	l.Publish("c1", "stdout", []byte("end"))
	if got := heard.Take(); len(got) != 1 || string(got[0].Text) != "end" || got[0].Lost != 0 {
		t.Errorf("after the loss heard %+v", got)
	}
}

// A listener that falls behind by many small pieces loses none of them.
func TestSmallPiecesAreKept(t *testing.T) {
	var l outputbus.Bus
	heard := l.Subscribe(t.Context())
	var want []byte
	for i := range 10_000 {
		piece := fmt.Appendf(nil, "%d,", i)
		want = append(want, piece...)
		l.Publish("c1", "stdout", piece)
	}
	var got []byte
	for _, out := range heard.Take() {
		got = append(got, out.Text...)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("heard %d bytes, want %d", len(got), len(want))
	}
}

// A watcher of one call misses nothing of it, and sees nothing of others.
func TestWatch(t *testing.T) {
	var l outputbus.Bus
	var seen []byte
	stop := l.Watch("c1", func(text []byte) { seen = append(seen, text...) })
	for range 1000 {
		l.Publish("c1", "stdout", []byte("x"))
		l.Publish("c2", "stdout", []byte("y"))
	}
	stop()
	l.Publish("c1", "stdout", []byte("z"))
	if len(seen) != 1000 || seen[0] != 'x' || seen[999] != 'x' {
		t.Errorf("seen %d: %s", len(seen), seen)
	}
}
