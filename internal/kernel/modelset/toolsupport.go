package modelset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/app"
	"callgate/internal/document"
	"callgate/internal/provider"
	"callgate/tool"
)

// # Which way a model gets its tools
//
// The app file's word goes first (native_tool_use). Else the server's counts: what it answered when it was
// asked, or that it refused a request with tools. Else what is known of the provider. A server is asked when a
// conversation is opened with a model of a provider of which it is not known, once a human accepted where it
// is. Its answer is kept for a week, then it is asked again; an answer that does not come changes nothing. So
// a description, which asks nobody, says what the next conversation does, unless nobody was asked yet: then
// it says that.

const (
	toolsAskedFor   = 3 * time.Second    // a server that answers later is not waited for
	toolsKeptFor    = 7 * 24 * time.Hour // then a server is asked again
	maxToolSupport  = 200                // models; the ones asked longest ago are forgotten
	toolsCollection = "models"
	toolsKey        = "tool_support"
)

// toolSupport is what a server said of a model. It names neither: Key is a hash, because an address may hold
// what nobody should read.
type toolSupport struct {
	Key     string    `json:"key"`
	Takes   bool      `json:"takes"`
	Refused bool      `json:"refused,omitempty"` // it was not asked, it refused a request
	At      time.Time `json:"at"`
}

// supports keeps what servers said.
type supports struct {
	mu     sync.Mutex
	kept   []toolSupport // where there are no documents
	asking map[string]chan struct{}
}

func supportKey(info provider.Info) string {
	parts := []string{info.Provider, string(info.Backend), info.BaseURL, info.Model}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func (o *Opener) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// support returns what a server said of a model last. fresh is false if it should be asked again.
func (o *Opener) support(info provider.Info) (said toolSupport, ok, fresh bool) {
	key := supportKey(info)
	list, _, err := o.readSupports(context.Background())
	if err != nil {
		return said, false, false // what cannot be read is not known
	}
	i := slices.IndexFunc(list, func(s toolSupport) bool { return s.Key == key })
	if i < 0 {
		return said, false, false
	}
	age := o.now().Sub(list[i].At)
	return list[i], true, age >= 0 && age < toolsKeptFor
}

func (o *Opener) readSupports(ctx context.Context) ([]toolSupport, int64, error) {
	if o.Documents == nil {
		o.supports.mu.Lock()
		defer o.supports.mu.Unlock()
		return o.supports.kept, 0, nil
	}
	d, err := o.Documents.Get(ctx, toolsCollection, toolsKey)
	if tool.KindOf(err) == tool.NotFound {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var list []toolSupport
	if json.Unmarshal(d.Data, &list) != nil {
		list = nil // it is asked again
	}
	return list, d.Version, nil
}

// remember keeps what a server said. What cannot be kept is asked again.
func (o *Opener) remember(ctx context.Context, said toolSupport) {
	said.At = o.now().UTC()
	add := func(list []toolSupport) []toolSupport {
		list = slices.DeleteFunc(slices.Clone(list), func(s toolSupport) bool { return s.Key == said.Key })
		list = append(list, said)
		return list[max(0, len(list)-maxToolSupport):]
	}
	if o.Documents == nil {
		o.supports.mu.Lock()
		defer o.supports.mu.Unlock()
		o.supports.kept = add(o.supports.kept)
		return
	}
	_, _ = document.Update(ctx, o.Documents, func() ([]document.Change, error) {
		list, version, err := o.readSupports(ctx)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(add(list))
		return []document.Change{{Collection: toolsCollection, Key: toolsKey, If: version, Data: data}}, err
	})
}

// decideTools says which way a model gets its tools, and why.
func (o *Opener) decideTools(m *app.Model, info provider.Info, to *Info) {
	to.NativeTools = info.NativeTools
	if m.NativeTools != nil {
		to.ToolsWhy = "the app file says so (native_tool_use)"
		return
	}
	said, ok, fresh := o.support(info)
	// A provider that is known is not asked: what it refused once it may take by now.
	if !ok || !fresh && !info.AskTools {
		to.ToolsWhy = info.Provider + " is known to take them"
		if info.AskTools {
			to.ToolsWhy = info.BaseURL + " was not asked yet; the first conversation asks"
		}
		return
	}
	to.NativeTools = said.Takes
	verb, how := "said it takes none", "asked"
	switch {
	case said.Refused:
		verb, how = "refused them", "on"
	case said.Takes:
		verb = "said it takes them"
	}
	again := ""
	if !fresh {
		again = "; the next conversation asks again"
	}
	to.ToolsWhy = fmt.Sprintf("%s %s (%s %s%s)", info.BaseURL, verb, how, said.At.Format(time.DateOnly), again)
}

// AskTools asks the servers of a model and its fallbacks whether they take tools, where that is not known: see
// [Info.ToolsWhy]. A human must have accepted where they are. It waits for each a few seconds at most; a server
// that does not answer is asked another time.
func (o *Opener) AskTools(ctx context.Context, u Use, m *app.Model) {
	for ; m != nil; m = m.Fallback {
		if m.Provider == app.Offline || m.NativeTools != nil {
			continue
		}
		if cfg, err := o.config(u, m); err == nil {
			o.askTools(ctx, cfg)
		}
	}
}

func (o *Opener) askTools(ctx context.Context, cfg provider.Config) {
	info, err := provider.Describe(cfg)
	if err != nil || !info.AskTools {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, toolsAskedFor)
	defer cancel()
	key := supportKey(info)
	defer o.supports.lock(ctx, key)()
	if _, _, fresh := o.support(info); fresh || ctx.Err() != nil {
		return
	}
	if takes, err := o.pool.AskTools(ctx, cfg); err == nil {
		o.remember(context.WithoutCancel(ctx), toolSupport{Key: key, Takes: takes})
	}
}

// lock has one at a time ask the same question. It returns what lets the next one go, also if ctx ended first.
func (s *supports) lock(ctx context.Context, key string) (unlock func()) {
	for {
		s.mu.Lock()
		asking := s.asking[key]
		if asking == nil {
			if s.asking == nil {
				s.asking = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			s.asking[key] = mine
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.asking, key)
				close(mine)
			}
		}
		s.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
			return func() {}
		}
	}
}

// refused returns what remembers that a model's server refused its tools; nil where the app file says that it
// takes them.
func (o *Opener) refused(m *app.Model, info provider.Info) func(context.Context) {
	if m.NativeTools != nil {
		return nil
	}
	return func(ctx context.Context) {
		o.remember(context.WithoutCancel(ctx), toolSupport{Key: supportKey(info), Refused: true})
	}
}
