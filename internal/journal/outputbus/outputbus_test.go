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
