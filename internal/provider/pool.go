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
	"callgate/internal/provider/queue"
	"callgate/llm"
)

// Pool shares connections, and has requests wait for their turn. The zero value is ready; it is safe for
// concurrent use.
//
// The law: requests to the same model at the same address with the same key share an HTTP client and its
// slots, and no other requests do. Two keys of one provider never share a client, and neither do two models:
// one cannot use up the slots of the other, nor send on its connection. Where two of a model say different
// numbers of requests at once, they are two. Requests with the same key to the same address share a queue,
// whatever their model: package queue has its law. So the limits of a key, the pauses that its provider asks
// for and its cool-down are those of all its models, and of no other key; where two say different limits of a
// key, each counts its own. A request takes its turn before it is
// sent and ends it when its response has ended; it has none while it waits to be retried. A request that
// waits for its turn gives up when its context ends.
type Pool struct {
	MaxConcurrent int               // requests that run at once on each client; 0: 8
	Transport     http.RoundTripper // sends the requests of all clients; nil: each has connections of its own

	mu      sync.Mutex
	clients map[clientKey]*sharedClient
	queues  map[queueKey]*queue.Queue
	meters  map[meterKey]*queue.Meter
}

const defaultMaxConcurrent = 8

// queueKey identifies the requests that wait together. It holds a hash of the provider's key, not the key.
type queueKey struct {
	provider, baseURL string
	keyHash           [sha256.Size]byte
}

// meterKey identifies the requests that are counted together: those of a key, or of one of its models.
type meterKey struct {
	queueKey
	model  string // "": all
	limits queue.Limits
}

// clientKey identifies a shared client.
type clientKey struct {
	queueKey
	model       string
	backend     Backend
	idleTimeout time.Duration
	connect     time.Duration
	slots       int
}

// sharedClient is an HTTP client, with what counts the requests that run on it.
type sharedClient struct {
	http  *http.Client
	meter *queue.Meter
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
	m := &metered{inner: adapter(r, shared.http), turn: p.turn(r, cfg, shared), info: r.Info, timeout: cfg.Timeout}
	retry := cfg.Retry
	retry.priority = cfg.Turns.Priority
	return retry.Wrap(m), r.Info, nil
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
	k := clientKey{r.queueKey(), r.Model, r.Backend, idle, max(0, cfg.ConnectTimeout), slots}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[k]; c != nil {
		return c
	}
	c := &sharedClient{http: newHTTPClient(p.Transport, k)}
	c.meter = queue.NewMeter(queue.Limits{MaxConcurrent: slots})
	if p.clients == nil {
		p.clients = map[clientKey]*sharedClient{}
	}
	p.clients[k] = c
	return c
}

func newHTTPClient(given http.RoundTripper, k clientKey) *http.Client {
	if given != nil {
		return &http.Client{Transport: apiclient.WithIdleTimeout(given, k.idleTimeout)}
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = k.slots
	var connected http.RoundTripper = t
	if k.connect > 0 {
		connected = apiclient.WithConnectTimeout(t, k.connect)
	}
	return &http.Client{Transport: idleTransport{apiclient.WithIdleTimeout(connected, k.idleTimeout), t}}
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
	return anthropic.New(anthropic.Config{Endpoint: e, Model: r.Model, MaxTokens: r.answerLimit()})
}

// answerLimit is what an answer may have where the API wants a limit and a request has none. Most responses
// need fewer tokens than a model can write, and providers reserve the limit while a request runs.
func (i Info) answerLimit() int {
	const maxTokens = 32_000
	return cmp.Or(min(i.Entry.MaxOutput, maxTokens), anthropic.DefaultMaxTokens)
}

// metered has each request wait for its turn, bounds its time, and prices its usage.
type metered struct {
	inner   llm.Model
	turn    turn
	info    Info
	timeout time.Duration
}

// Generate asks the model once.
func (m *metered) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	ticket, err := m.turn.wait(ctx, req)
	if err != nil {
		return nil, notSent(ctx, m.info.Provider, err)
	}
	end, caller := queue.End{Tokens: -1}, ctx
	defer func() { ticket.Done(end) }() // also when the watcher panics
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
	} else if failure != nil && failure.Status == 0 && neverLeft(failure.Err) {
		failure.Err = &queue.NotSent{Err: failure.Err}
	}
	end = endOf(caller, res, err)
	return res, err
}

// price puts the catalog's price on a usage, unless the provider named its own.
func (m *metered) price(u llm.Usage) llm.Usage {
	if !u.Priced && u != (llm.Usage{}) {
		u.Cost, u.Priced = m.info.Entry.Cost(u)
	}
	return u
}
