package relay_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"callgate/internal/client/relay"
)

// What a client subscribes to while the next kernel is told of its earlier
// subscriptions reaches that kernel once.
func TestSubscribeDuringAnIntroduction(t *testing.T) {
	t.Parallel()
	for range 8 { // the order of a map differs
		synctest.Test(t, subscribeDuringAnIntroduction)
	}
}

func subscribeDuringAnIntroduction(t *testing.T) {
	w := newWorld(t, relay.Options{})
	k := <-w.kernels
	w.say(introduction)
	k.answer(t)
	w.hearsPart(`"id":0`)
	subscribe := func(n int) {
		w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"a:%d"}}`, n, n))
	}
	subscribe(1)
	k.answer(t)
	w.hearsPart(`"id":1`)
	goOn := make(chan struct{})
	w.mu.Lock()
	w.beforeWrite = func(p []byte) {
		if bytes.Contains(p, []byte("resources/subscribe")) {
			<-goOn
		}
	}
	w.mu.Unlock()
	k.end()
	k = <-w.kernels
	k.answer(t)
	for n := 2; n <= 7; n++ {
		subscribe(n)
	}
	w.say(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	synctest.Wait() // the bridge has read them, and still tells of the first
	close(goOn)
	told := map[string]int{}
	for line := k.hear(); !strings.Contains(line, "ping"); line = k.hear() {
		_, uri, _ := strings.Cut(line, `"uri":`)
		told[uri]++
	}
	for uri, n := range told {
		if n != 1 || len(told) != 7 {
			t.Errorf("the kernel is told %d times of %s, one of %d", n, uri, len(told))
		}
	}
}

// Lists that are asked for one after another, without waiting, share what is known of
// the client.
func TestListsTogether(t *testing.T) {
	t.Parallel()
	cache := &relay.Cache{Dir: t.TempDir(), Key: rand.Text} // nothing is stored under a key that changes
	w := newWorld(t, relay.Options{Cache: cache})
	k := <-w.kernels
	w.say(introduction)
	k.answer(t)
	w.hearsPart(`"id":0`)
	const lists = 100
	go func() {
		for range lists {
			k.answer(t)
		}
	}()
	for n := range lists {
		w.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, n))
	}
	for n := range lists {
		w.hears(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n))
	}
}
