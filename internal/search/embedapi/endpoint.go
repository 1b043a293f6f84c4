// Package embedapi embeds texts with a model behind an OpenAI-compatible
// server: POST {base}/v1/embeddings, as Ollama, text-embeddings-inference,
// vLLM, llama.cpp and LM Studio all answer it.
//
// # Laws
//
// What a server answers is not trusted. A vector leaves here only when there
// is exactly one for each text, in the order of the texts, all of one length,
// every number finite, and scaled to length one; anything else is an error
// that says what was wrong with the answer. Answers are read up to a limit, a
// redirect to another host is not followed, and the key is in no error, not
// even when the server repeats it.
//
// A search must not wait for a server that is gone. After a failure the
// endpoint counts as down for a second, then two, then four, up to a minute;
// one success ends that. [Endpoint.Ready] tells without asking anybody, so a
// caller can go on without vectors at once. EmbedAll itself tries in any case:
// whoever calls it wants to know.
//
// An Endpoint is safe for concurrent use. The health is all that its calls
// share; failures of calls that ran side by side count as one.
package embedapi

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"callgate/tool"
)

// The defaults and limits.
const (
	defaultBatch   = 64
	defaultTimeout = time.Minute
	maxRedirects   = 3
	suffix         = "/embeddings"
)

// Options says where the model is. Only URL is needed.
type Options struct {
	URL        string        // the server's base; with /v1 or /v1/embeddings at its end it means the same
	Model      string        // the model's name there; empty where a server has only one
	Key        string        // sent as a bearer token; optional
	Batch      int           // texts in one request at most; 0: 64
	Timeout    time.Duration // for one request; 0: a minute, since a model may first have to load
	Client     *http.Client  // nil: one of its own; of a given one all is kept but its rule for redirects
	Dimensions int           // the length of vectors to ask for; 0: the model's own
}

// Endpoint is one model behind one server.
type Endpoint struct {
	url        string
	model      string
	key        string
	batch      int
	timeout    time.Duration
	dimensions int
	client     *http.Client
	hide       *strings.Replacer // takes the key out of words of others
	health     health
}

// New checks the options; it does not reach out. A server that is not there
// yet is met at the first use.
func New(o Options) (*Endpoint, error) {
	const op = "endpoint.New"
	address, err := normalise(o.URL)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(o.Key)
	switch {
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, tool.Errorf(op, tool.Invalid, "the key for %s has a space, a line break or a control character in it", address).WithHint("copy the key again, without what surrounds it")
	case o.Batch < 0 || o.Dimensions < 0 || o.Timeout < 0:
		return nil, tool.Errorf(op, tool.Invalid, "batch %d, dimensions %d and timeout %s: none of them can be below zero", o.Batch, o.Dimensions, o.Timeout).WithHint("leave it out to get the default")
	}
	e := &Endpoint{
		url: address, model: o.Model, key: key, dimensions: o.Dimensions,
		batch: o.Batch, timeout: o.Timeout, client: newClient(o.Client), hide: hiding(key),
	}
	if e.batch == 0 {
		e.batch = defaultBatch
	}
	if e.timeout == 0 {
		e.timeout = defaultTimeout
	}
	return e, nil
}

// ID is what vectors made here may be cached under: another server, model or
// length gives another ID. The key is no part of it.
func (e *Endpoint) ID() string { return fmt.Sprintf("%s %s %d", e.url, e.model, e.dimensions) }

// Ready reports whether asking is worth the wait: false for a while after a
// failure. It costs one atomic load.
func (e *Endpoint) Ready(now time.Time) bool { return e.health.ready(now) }

// normalise gives the full address for a base in any of its spellings.
func normalise(text string) (string, error) {
	text = strings.TrimSpace(text)
	// The URL itself is not quoted: it may hold a password.
	bad := func(what, hint string) error {
		return tool.Errorf("endpoint.New", tool.Invalid, "the embeddings endpoint %s", what).WithHint("%s", hint)
	}
	const example = "write it like http://localhost:11434"
	if text == "" {
		return "", bad("has no URL", example)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", bad("has a URL that cannot be read", example)
	case u.User != nil:
		return "", bad("has a name or a password in its URL", "put the secret into the key")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", bad("has a URL that does not begin with http:// or https://", example)
	case u.Hostname() == "":
		return "", bad("has a URL that names no host", example)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", bad("has a ? or a # in its URL", "end it with the path; a secret goes into the key")
	}
	u.Host = strings.ToLower(u.Host)
	path := strings.TrimRight(u.EscapedPath(), "/")
	switch {
	case strings.HasSuffix(path, suffix):
	case strings.HasSuffix(path, "/v1"):
		path += suffix
	default:
		path += "/v1" + suffix
	}
	return u.Scheme + "://" + u.Host + path, nil
}

// newClient is a client that stays with the host it was sent to.
func newClient(given *http.Client) *http.Client {
	var c http.Client
	if given != nil {
		c = *given
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		c.Transport = t.Clone() // its connections are its own
	}
	c.CheckRedirect = checkRedirect
	return &c
}

// redirected is a redirect that was not followed.
type redirected struct{ why, to string }

func (r *redirected) Error() string { return r.why }

// checkRedirect follows a server that has moved its path, or to https, and
// still wants the same request. The texts and the key go nowhere else.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	why := ""
	switch {
	case !strings.EqualFold(to.URL.Host, from.Host):
		why = "it redirects to another host"
	case from.Scheme == "https" && to.URL.Scheme != "https":
		why = "it redirects from https to " + to.URL.Scheme
	case to.Method != http.MethodPost:
		why = "its redirect would drop the texts"
	case len(via) > maxRedirects:
		why = "it redirects again and again"
	default:
		return nil
	}
	return &redirected{why, to.URL.Scheme + "://" + to.URL.Host} // a path may hold anything
}

// hiding takes a key out of a text, also as pages and addresses write it.
func hiding(key string) *strings.Replacer {
	if key == "" {
		return strings.NewReplacer()
	}
	const mark = "[key]"
	return strings.NewReplacer(key, mark, url.QueryEscape(key), mark, url.PathEscape(key), mark, html.EscapeString(key), mark)
}
