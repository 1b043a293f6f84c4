package relay_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"callgate/internal/client/relay"
)

const introduction = `{"jsonrpc":"2.0","id":0,"method":"initialize",` +
	`"params":{"protocolVersion":"v","clientInfo":{"name":"n"}}}`

// A kernel that does not answer is answered for from what it said before, once, and the
// client is told when that is no longer true. Other clients, and other app files, are
// shown nothing.
func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key := "one"
		cache := &relay.Cache{Dir: filepath.Join(t.TempDir(), "clients"), Key: func() string { return key }}
		w := newWorld(t, relay.Options{Cache: cache})
		k := <-w.kernels
		w.say(introduction)
		k.hear()
		k.say(`{"jsonrpc":"2.0","id":1,"result":{"i":1}}`)
		w.hears(`{"jsonrpc":"2.0","id":0,"result":{"i":1}}`)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		k.hear()
		k.say(`{"jsonrpc":"2.0","id":2,"result":{"tools":["a"]}}`)
		w.hears(`{"jsonrpc":"2.0","id":1,"result":{"tools":["a"]}}`)
		synctest.Wait()
		kept, _ := filepath.Glob(filepath.Join(cache.Dir, "*"))
		if len(kept) != 1 {
			t.Fatalf("kept: %v", kept)
		}
		if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file is %v %v", info.Mode(), err)
		}

		w = newWorld(t, relay.Options{Cache: cache})
		k = <-w.kernels
		w.say(introduction)
		w.hears(`{"id":0,"jsonrpc":"2.0","result":{"i":1}}`)
		w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		w.hears(`{"id":1,"jsonrpc":"2.0","result":{"tools":["a"]}}`)
		k.hear()
		k.say(`{"jsonrpc":"2.0","id":1,"result":{"i":1}}`) // it is awake
		k.hear()
		k.say(`{"jsonrpc":"2.0","id":2,"result":{"tools":["a","b"]}}`)
		w.hears(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		k.hear()
		k.say(`{"jsonrpc":"2.0","id":3,"result":{"tools":["a","b"]}}`)
		w.hears(`{"jsonrpc":"2.0","id":2,"result":{"tools":["a","b"]}}`)

		key = "two" // an app file was changed
		w = newWorld(t, relay.Options{Cache: cache})
		k = <-w.kernels
		w.say(introduction)
		k.hear()
		k.say(`{"jsonrpc":"2.0","id":1,"result":{"i":2}}`)
		w.hears(`{"jsonrpc":"2.0","id":0,"result":{"i":2}}`)
	})
}
