// Package embedapi embeds texts with a model behind an OpenAI-compatible
// server: POST {base}/v1/embeddings, as Ollama, text-embeddings-inference,
// vLLM, llama.cpp and LM Studio all answer it.
//
// # Laws
//
// The answer of a server is not trusted. Vectors are returned only if there is
// exactly one for each text, in the order of the texts, of the same dimension,
// with finite numbers; they are scaled to length one. Anything else is an error
// that says what was wrong with the answer. Answers are read up to a limit, a
// redirect to another host is not followed, and no error contains the key, even
// if the server repeats it.
//
// A search must not wait for a server that is down. After a failure the endpoint
// counts as down for a second, then two, then four, up to a minute; a success
// ends that. [Endpoint.Ready] reports it without a request, so that a caller can
// go on without vectors at once. EmbedAll always asks the server.
//
// An Endpoint is safe for concurrent use. Its calls share only the health;
// failures of concurrent calls count as one.
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

// Options configure an endpoint. Only URL is required.
type Options struct {
	URL        string        // the base of the server, with or without /v1 or /v1/embeddings
	Model      string        // the name of the model; empty if the server has only one
	Key        string        // sent as a bearer token; optional
	Batch      int           // the limit of texts in one request; 0: 64
	Timeout    time.Duration // for one request; 0: a minute, since a model may first have to load
	Client     *http.Client  // nil: a new one; its CheckRedirect is replaced
	Dimensions int           // the dimension to ask for; 0: that of the model
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
	hide       *strings.Replacer // removes the key from text of others
	health     health
}

// New checks the options. It does not connect to the server.
func New(o Options) (*Endpoint, error) {
	const op = "endpoint.New"
	address, err := normalise(o.URL)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(o.Key)
	switch {
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, tool.Errorf(op, tool.Invalid,
			"the key for %s has a space, a line break or a control character in it", address).
			WithHint("copy the key again, without the text around it")
	case o.Batch < 0 || o.Dimensions < 0 || o.Timeout < 0:
		return nil, tool.Errorf(op, tool.Invalid,
			"batch %d, dimensions %d and timeout %s must not be below zero", o.Batch, o.Dimensions, o.Timeout).
			WithHint("leave it out to get the default")
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

// ID identifies the model, for caches of vectors: another server, model or
// dimension has another ID. The key is not part of it.
func (e *Endpoint) ID() string { return fmt.Sprintf("%s %s %d", e.url, e.model, e.dimensions) }

// Ready reports whether the endpoint should be asked: not for a while after a
// failure. It costs one atomic load.
func (e *Endpoint) Ready(now time.Time) bool { return e.health.ready(now) }

// normalise returns the full address for a base in any of its forms.
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

// newClient makes a client that does not follow redirects to other hosts.
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

// redirected is the error for a redirect that was not followed.
type redirected struct{ why, to string }

func (r *redirected) Error() string { return r.why }

// checkRedirect allows redirects to another path, or to https, that repeat the
// request. The texts and the key are not sent anywhere else.
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

// hiding makes a replacer that removes a key from text, also in the forms of HTML
// and URLs.
func hiding(key string) *strings.Replacer {
	if key == "" {
		return strings.NewReplacer()
	}
	const mark = "[key]"
	return strings.NewReplacer(
		key, mark, url.QueryEscape(key), mark, url.PathEscape(key), mark, html.EscapeString(key), mark)
}
