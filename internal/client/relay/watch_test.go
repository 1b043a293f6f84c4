package relay_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/client/relay"
	"callgate/tool"
)

// said reports whether the user was told a text.
func (w *world) said(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(strings.Join(w.status, "\n"), text)
}

// introduced introduces the client to its first kernel.
func (w *world) introduced(t *testing.T) *kernel {
	t.Helper()
	k := <-w.kernels
	w.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`)
	k.answer(t)
	w.hears(`{"jsonrpc":"2.0","id":"i","result":{}}`)
	w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	k.hear()
	return k
}

// A kernel that is stopped while requests wait is named to the user and to the client.
// What only reads is answered; the call goes on, and its answer still comes.
func TestKernelStoppedInMidCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = "the kernel (process 7) does not answer: it is stopped; kill -CONT 7 lets it go on"
		var stopped atomic.Bool
		w := newWorld(t, relay.Options{Probe: func(context.Context) *relay.Silence {
			if !stopped.Load() {
				return nil
			}
			return &relay.Silence{Stopped: true, Err: tool.Errorf("probe", tool.Unavailable,
				"the kernel (process 7) does not answer: it is stopped").WithHint("kill -CONT 7 lets it go on")}
		}})
		k := w.introduced(t)
		stopped.Store(true)
		began := time.Now()
		w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
		w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		w.hearsPart(`"notifications/message"`, `"warning"`, text)
		w.hearsPart(`"id":2`, `"error"`, text, `"unavailable"`)
		if took := time.Since(began); took > 10*time.Second || !w.said(text) {
			t.Errorf("after %v the user was told %q", took, w.status)
		}
		k.hear()
		k.hear()
		stopped.Store(false)
		w.hearsPart(`"notifications/message"`, "answers again")
		k.say(`{"jsonrpc":"2.0","id":3,"result":{}}`) // nobody waits for it any more
		k.say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		w.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		w.cancel()
		synctest.Wait()
	})
}

// A client that introduces itself twice is refused by its kernel. The next kernel is
// told the first introduction all the same.
func TestIntroducedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relay.Options{})
	k := w.introduced(t)
	w.say(`{"jsonrpc":"2.0","id":"again","method":"initialize","params":{}}`)
	k.hear()
	k.say(`{"jsonrpc":"2.0","id":2,"error":{"code":0,"message":"duplicate"}}`)
	w.hears(`{"jsonrpc":"2.0","id":"again","error":{"code":0,"message":"duplicate"}}`)
	k.end()
	w.say(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	k = <-w.kernels
	if got := k.answer(t); !strings.Contains(got, `"initialize"`) {
		t.Errorf("the next kernel is first told %s", got)
	}
	k.hears(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	k.answer(t)
	w.hears(`{"jsonrpc":"2.0","id":5,"result":{}}`)
}
