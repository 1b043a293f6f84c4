package relay_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/client/relay"
)

// heap is what is in use, without garbage.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one finalised
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A bridge keeps nothing of a large message that it has carried, refused, or that its
// client gave up. It is not parallel: it looks at the whole heap.
func TestNothingIsKeptOfALargeMessage(t *testing.T) {
	const size, most = 3 << 20, 1 << 20
	call := func() string {
		return `{"jsonrpc":"2.0","id":"large","method":"tools/call","params":{"arguments":{"t":"` +
			strings.Repeat("x", size) + `"}}}`
	}
	const small = `{"jsonrpc":"2.0","id":"small","method":"ping"}`
	for name, carry := range map[string]func(w *world, k *kernel) *kernel{
		"a request": func(w *world, k *kernel) *kernel {
			w.say(call())
			k.answer(w.t)
			w.hearsPart(`"large"`)
			return k
		},
		"a request that waited for a kernel": func(w *world, k *kernel) *kernel {
			k.end()
			w.say(call())
			k = <-w.kernels
			k.answer(w.t)
			w.hearsPart(`"large"`)
			return k
		},
		"a request that a second kernel answered": func(w *world, k *kernel) *kernel {
			w.say(call())
			k.hear()
			k.end()
			k = <-w.kernels
			k.answer(w.t)
			w.hearsPart(`"large"`)
			return k
		},
		"a request that was cancelled and has no answer": func(w *world, k *kernel) *kernel {
			w.say(call())
			k.hear()
			w.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"large"}}`)
			k.hear()
			return k
		},
		"an answer": func(w *world, k *kernel) *kernel {
			w.say(small)
			k.hear()
			k.say(`{"jsonrpc":"2.0","id":1,"result":{"t":"` + strings.Repeat("x", size) + `"}}`)
			w.hearsPart(`"small"`)
			return k
		},
		"no message": func(w *world, k *kernel) *kernel {
			w.say(`[{"t":"` + strings.Repeat("x", size) + `"}`)
			w.hearsPart("-32700")
			return k
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, relay.Options{})
			k := <-w.kernels
			before := heap()
			k = carry(w, k)
			w.say(small) // when it is answered, the bridge has done with what came before
			k.answer(t)
			w.hearsPart(`"small"`)
			if kept := heap() - before; kept > most {
				t.Errorf("%d bytes are kept of a message of %d", kept, size)
			}
			runtime.KeepAlive(w)
		})
	}
}

// Memory is returned in the first pause, and in later ones after enough was carried.
func TestMemoryIsReturnedInPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var trims atomic.Int32
		w := newWorld(t, relay.Options{Trim: func() { trims.Add(1) }})
		k := <-w.kernels
		ping := func() {
			w.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			k.answer(t)
			w.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		}
		pause := func(want int32) {
			t.Helper()
			<-time.After(3 * time.Second)
			synctest.Wait()
			if got := trims.Load(); got != want {
				t.Errorf("memory was returned %d times, want %d", got, want)
			}
		}
		for range 100 { // without a pause
			ping()
		}
		if trims.Load() != 0 {
			t.Error("memory is returned while messages come")
		}
		pause(1)
		ping()
		pause(1) // too little for another time
		for range 25 {
			ping()
		}
		pause(2)
		w.say(`{"jsonrpc":"2.0","method":"x","params":{"t":"` + strings.Repeat("x", 2<<20) + `"}}`)
		k.hear()
		pause(3)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"t":"` + strings.Repeat("x", 2<<20) + `"}}`)
		pause(3) // it is kept, to be sent again if need be
		k.answer(t)
		w.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		pause(4)
		w.cancel()
		<-w.ended
	})
}
