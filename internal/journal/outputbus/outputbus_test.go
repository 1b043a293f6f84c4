package outputbus_test

import (
	"context"
	"fmt"
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
	if out := <-heard; out.Call != "c1" || string(out.Text) != "hello" {
		t.Errorf("heard %+v", out)
	}
	for i := range 10_000 { // nobody takes them: publishing must not wait
		l.Publish("c1", "stderr", fmt.Append(nil, i))
	}
	if out := <-heard; string(out.Text) != "0" {
		t.Errorf("heard %s first", out.Text)
	}
	cancel()
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
