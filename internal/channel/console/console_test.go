package console_test

import (
	"bytes"
	"errors"
	"testing"

	"callgate/internal/channel"
	"callgate/internal/channel/console"
	"callgate/tool"
)

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestSend(t *testing.T) {
	var b bytes.Buffer
	s := console.New(&b)
	for _, m := range []channel.Message{
		{App: "shop", Agent: "main", Text: "hello\n\x1b[2Jgone\n\n"},
		{App: "shop", Title: "news\nof today", Text: "two\nlines"},
	} {
		if err := s.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if want := "[shop/main] hello\n⟨U+001B⟩[2Jgone\n[shop] news of today\ntwo\nlines\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
	for name, s := range map[string]*console.Sender{"no output": console.New(nil), "closed": console.New(broken{})} {
		if err := s.Send(t.Context(), channel.Message{}); tool.KindOf(err) != tool.Failed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
