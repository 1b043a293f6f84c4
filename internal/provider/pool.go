package provider

import (
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

// Pool shares connections and bounds how many requests are under way at once.
// The zero value is ready; it is safe for concurrent use.
//
// The law: a line is shared by whoever asks the same model at the same address
// with the same key, and by nobody else. Two keys of one provider never share a
// line, nor do two models, so that neither can use up the other's slots or ride
// on its connection. A request takes a place before it is sent and gives it back
// when its answer has ended; it holds none while it waits to be tried again. Who
// waits for a place leaves when its context ends.
type Pool struct {
	MaxConcurrent int // requests under way at once on each line; 0: 8

	mu      sync.Mutex
	clients map[clientKey]*sharedClient
}

const defaultMaxConcurrent = 8

// clientKey tells lines apart. The key itself is not kept.
type clientKey struct {
	provider, model, baseURL string
	backend                  Backend
	key                      [sha256.Size]byte
	idleTimeout              time.Duration
}

// line is what the askers of one model with one key share.
type sharedClient struct {
	client *http.Client
	slots  chan struct{}
}

// New makes a model that shares nothing with others; see [Pool.Open].
func New(cfg Config) (llm.Model, Info, error) { return new(Pool).Open(cfg) }

// Open makes a model, asked again where that helps. It opens no connection. Its
// errors tell what to do, and never hold a key.
func (p *Pool) Open(cfg Config) (llm.Model, Info, error) {
	r, err := resolve(cfg)
	if err != nil {
		return nil, Info{}, err
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = defaultIdleTimeout
	}
	l := p.client(r, cfg.IdleTimeout)
	m := &metered{inner: adapter(r, l.client), shared: l, info: r.Info, timeout: cfg.Timeout}
	return cfg.Retry.Wrap(m), r.Info, nil
}

// Close lets go of connections that nobody uses. Requests under way go on.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.clients {
		l.client.CloseIdleConnections()
	}
}

func (p *Pool) client(r *resolved, idleTimeout time.Duration) *sharedClient {
	k := clientKey{r.Provider, r.Model, r.BaseURL, r.Backend, sha256.Sum256([]byte(r.key)), idleTimeout}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.clients[k]; l != nil {
		return l
	}
	slots := p.MaxConcurrent
	if slots <= 0 {
		slots = defaultMaxConcurrent
	}
	l := &sharedClient{client: newHTTPClient(slots, idleTimeout), slots: make(chan struct{}, slots)}
	if p.clients == nil {
		p.clients = map[clientKey]*sharedClient{}
	}
	p.clients[k] = l
	return l
}

// newHTTPClient makes a client that follows no redirect: a key is not carried to
// where a server points.
func newHTTPClient(slots int, idleTimeout time.Duration) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = slots
	return &http.Client{
		Transport:     idleTransport{apiclient.WithIdleTimeout(t, idleTimeout), t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// idleTransport keeps CloseIdleConnections in reach.
type idleTransport struct {
	http.RoundTripper
	*http.Transport
}

// RoundTrip goes through the patient one.
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

// metered takes a place for each request, bounds its time, and puts a price on
// its usage.
type metered struct {
	inner   llm.Model
	shared  *sharedClient
	info    Info
	timeout time.Duration
}

// Generate asks once.
func (m *metered) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	select {
	case m.shared.slots <- struct{}{}:
		defer func() { <-m.shared.slots }()
	case <-ctx.Done():
		return nil, ended(ctx, m.info.Provider, "while waiting for a place")
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
	res, err := m.inner.Generate(ctx, req, priced)
	if res != nil {
		res.Usage = m.price(res.Usage)
	}
	var fault *llm.Error
	if errors.As(err, &fault) && fault.Partial != nil {
		fault.Partial.Usage = m.price(fault.Partial.Usage)
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
