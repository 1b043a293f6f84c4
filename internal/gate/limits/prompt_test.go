package limits_test

import (
	"context"
	"errors"
	"testing"

	"callgate/internal/gate/limits"
	"callgate/tool"
)

// prompted is a handler that may be prompt.
type prompted struct {
	tool.HandlerFunc
	is bool
}

func (p prompted) Prompt() bool { return p.is }

// TestBegin runs only a prompt handler before Begin returns.
func TestBegin(t *testing.T) {
	for name, test := range map[string]struct {
		handler tool.Handler
		here    bool
	}{
		"prompt":    {prompted{is: true}, true},
		"sometimes": {prompted{}, false},
		"another":   {tool.HandlerFunc(nil), false},
	} {
		goOn, ended := make(chan struct{}), make(chan struct{})
		if test.here {
			close(goOn)
		}
		limits.Begin(test.handler, func() {
			<-goOn // of another goroutine: only when Begin has returned
			close(ended)
		})
		if !test.here {
			close(goOn)
		}
		select {
		case <-ended:
		default:
			if test.here {
				t.Errorf("%s: it has not run", name)
			}
			<-ended
		}
	}
}

// readied is a handler that is made ready.
type readied struct {
	tool.HandlerFunc
	err error
}

func (r readied) Ready(context.Context) error { return r.err }

func TestReady(t *testing.T) {
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		handler tool.Handler
		want    error
	}{
		"one that can":    {readied{}, nil},
		"one that cannot": {readied{err: failed}, failed},
		"another":         {tool.HandlerFunc(nil), nil},
	} {
		if err := limits.Ready(t.Context(), test.handler); err != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
