package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"callgate/internal/provider/anthropic"
	"callgate/internal/provider/apiclient"
	"callgate/internal/provider/openai"
	"callgate/llm"
)

// Pool shares connections, and limits how many requests run at once. The zero value is ready; it is safe for
// concurrent use.
//
// The law: requests to the same model at the same address with the same key share an HTTP client and its
// slots, and no other requests do. Two keys of one provider never share a client, and neither do two models:
// one cannot use up the slots of the other, nor send on its connection. Where two of a model say different
// numbers of requests at once, they are two. A request takes a slot before it is
// sent and releases it when its response has ended; it holds none while it waits to be retried. A request that
// waits for a slot gives up when its context ends.
type Pool struct {
	MaxConcurrent int // requests that run at once on each client; 0: 8

	mu      sync.Mutex
	clients map[clientKey]*sharedClient
}

const defaultMaxConcurrent = 8

// clientKey identifies a shared client. It holds a hash of the provider's key, not the key.
type clientKey struct {
	provider, model, baseURL string
	backend                  Backend
	keyHash                  [sha256.Size]byte
	idleTimeout              time.Duration
	slots                    int
}

// sharedClient is an HTTP client with a slot for each request that may run on it.
type sharedClient struct {
	http  *http.Client
	slots chan struct{}
}

// New makes a model with a pool of its own; see [Pool.Open].
func New(cfg Config) (llm.Model, Info, error) { return new(Pool).Open(cfg) }

// Open makes a model that retries its requests. It opens no connection. Its errors say what to do, and never
// hold a key.
func (p *Pool) Open(cfg Config) (llm.Model, Info, error) {
	r, err := resolve(cfg)
	if err != nil {
		return nil, Info{}, err
	}
	shared := p.client(r, cfg)
	m := &metered{inner: adapter(r, shared.http), shared: shared, info: r.Info, timeout: cfg.Timeout}
	return cfg.Retry.Wrap(m), r.Info, nil
}

// Close closes the idle connections. Running requests continue.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.http.CloseIdleConnections()
	}
}

func (p *Pool) client(r *resolved, cfg Config) *sharedClient {
	idle := cmp.Or(max(0, cfg.IdleTimeout), defaultIdleTimeout)
	slots := cmp.Or(max(0, cfg.MaxConcurrent), max(0, p.MaxConcurrent), defaultMaxConcurrent)
	k := clientKey{r.Provider, r.Model, r.BaseURL, r.Backend, sha256.Sum256([]byte(r.key)), idle, slots}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[k]; c != nil {
		return c
	}
	c := &sharedClient{http: newHTTPClient(slots, idle), slots: make(chan struct{}, slots)}
	if p.clients == nil {
		p.clients = map[clientKey]*sharedClient{}
	}
	p.clients[k] = c
	return c
}

func newHTTPClient(slots int, idleTimeout time.Duration) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = slots
	return &http.Client{Transport: idleTransport{apiclient.WithIdleTimeout(t, idleTimeout), t}}
}

// idleTransport is a transport with an idle timeout that http.Client.CloseIdleConnections can reach.
type idleTransport struct {
	http.RoundTripper
	*http.Transport
}

// RoundTrip sends a request with the idle timeout.
func (t idleTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.RoundTripper.RoundTrip(req)
}

// adapter returns the model behind its provider's API.
func adapter(r *resolved, client *http.Client) llm.Model {
	e := apiclient.Endpoint{Provider: r.Provider, BaseURL: r.BaseURL, Key: r.key, Headers: r.headers, HTTP: client}
	if r.Backend != Anthropic {
		return openai.New(openai.Config{Endpoint: e, Model: r.Model, Quirks: r.preset.quirks})
	}
	// Most responses need fewer tokens than a model can write, and providers reserve the limit while a
	// request runs.
	const maxTokens = 32_000
	return anthropic.New(anthropic.Config{Endpoint: e, Model: r.Model, MaxTokens: min(r.Entry.MaxOutput, maxTokens)})
}

// metered takes a slot for each request, bounds its time, and prices its usage.
type metered struct {
	inner   llm.Model
	shared  *sharedClient
	info    Info
	timeout time.Duration
}

// Generate asks the model once.
func (m *metered) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	select {
	case m.shared.slots <- struct{}{}:
		defer func() { <-m.shared.slots }()
	case <-ctx.Done():
		return nil, contextError(ctx, m.info.Provider, "while waiting for other requests to the model to end")
	}
	if m.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.timeout)
		defer cancel()
	}
	priced := watch
	if watch != nil {
		priced = func(d llm.Delta) {
			if d.Usage != nil {
				usage := m.price(*d.Usage)
				d.Usage = &usage
			}
			watch(d)
		}
	}
	if s := m.info.Entry.Structured; s != nil && !*s {
		req.Output = nil // the prompt still says what the answer must be
	}
	res, err := m.inner.Generate(ctx, req, priced)
	if res != nil {
		res.Usage = m.price(res.Usage)
	}
	var failure *llm.Error
	if errors.As(err, &failure) && failure.Partial != nil {
		failure.Partial.Usage = m.price(failure.Partial.Usage)
	}
	return res, err
}

// price puts the catalog's price on a usage, unless the provider named its own.
func (m *metered) price(u llm.Usage) llm.Usage {
	if !u.Priced && u != (llm.Usage{}) {
		u.Cost, u.Priced = m.info.Entry.Cost(u)
	}
	return u
}
