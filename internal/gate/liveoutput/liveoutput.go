// Package liveoutput carries what a running call prints to its watchers.
package liveoutput

import (
	"maps"
	"slices"
	"sync"

	"callgate/internal/gate/mask"
	"callgate/internal/journal/outputbus"
	"callgate/internal/secret"
)

// Open returns the function by which a handler prints. What it prints is scrubbed of
// secrets as it comes, so that a secret cut in two is still found, and then masked as
// the app wants its results (nil: not at all). Each stream holds back what may be the
// beginning of a secret, until end. Without a bus nobody watches, and emit is nil.
func Open(
	to *outputbus.Bus, secrets *secret.Vault, app func(string) string, call string,
) (emit func(stream string, chunk []byte), end func()) {
	if to == nil {
		return nil, func() {}
	}
	var mu sync.Mutex // a handler may print from several goroutines
	streams := map[string]*stream{}
	emit = func(name string, chunk []byte) {
		mu.Lock()
		s := streams[name]
		if s == nil {
			s = open(secrets, app, func(text []byte) { to.Publish(call, name, text) })
			streams[name] = s
		}
		mu.Unlock()
		_, _ = s.secrets.Write(chunk)
	}
	return emit, func() {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(streams)) {
			streams[name].close()
		}
	}
}

// stream is one stream of a running call's output.
type stream struct {
	secrets *secret.Stream
	mask    *mask.Stream // nil: the app masks nothing
}

func open(secrets *secret.Vault, app func(string) string, publish func([]byte)) *stream {
	s := &stream{}
	if app != nil {
		s.mask = mask.NewStream(app, publish)
		publish = func(text []byte) { _, _ = s.mask.Write(text) }
	}
	s.secrets = secrets.Stream(publish)
	return s
}

func (s *stream) close() {
	_ = s.secrets.Close()
	if s.mask != nil {
		_ = s.mask.Close()
	}
}
