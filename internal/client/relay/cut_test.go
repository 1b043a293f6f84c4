package relay_test

import (
	"testing"

	"callgate/internal/client/relay"
)

// A kernel that is killed in the middle of an answer leaves a part of a line. The client
// does not get it, and the next kernel is asked.
func TestPartOfALine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relay.Options{})
	k := <-w.kernels
	w.say(`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`)
	k.hear()
	_, _ = k.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"x`))
	k.end()
	(<-w.kernels).answer(t)
	w.hears(`{"jsonrpc":"2.0","id":"a","result":{}}`)
}
