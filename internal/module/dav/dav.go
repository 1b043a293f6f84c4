// Package dav reaches a CalDAV or CardDAV server for a module: the settings of an account there,
// and the requests. The modules calendar and contacts use it.
//
// # Law
//
//   - The secret goes to the server of the app file and to no other; over plain http only
//     where the app file lists the server as private. A redirect or an address in an answer
//     that leads to another server is refused.
//   - An object that is there already is changed only as the version that the caller has
//     seen (its ETag), and a new one replaces nothing.
//   - What a server answers is bounded, and XML in it refers to nothing outside.
//   - A change whose answer was lost is in doubt.
package dav

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Settings are the settings of an account. A module embeds them in its own.
type Settings struct {
	URL          string         `config:"url" help:"the server, or the user's address at it: https://dav.example.com/"`
	Username     string         `config:"username" help:"for the login"`
	Auth         string         `config:"auth" oneof:"password oauth" help:"what the credential is: a password, or a token of OAuth"`
	Timeout      module.Seconds `config:"timeout_seconds" range:"0.1,600" help:"how long a call may take"`
	MaxBytes     int            `config:"max_bytes" range:"1024,67108864" help:"the most that is read of one answer"`
	ReadOnly     bool           `constraint:"read_only" help:"nothing is changed"`
	PrivateHosts []string       `constraint:"private_hosts" narrower:"fewer" help:"servers that are reached though they are not public, also over http"`

	server
}

// server is what Prepare reads from the settings.
type server struct {
	namespace string
	base      *url.URL
	client    *http.Client
}

// Defaults are the settings that an app file does not give.
func Defaults() Settings { return Settings{Auth: "password", Timeout: 30, MaxBytes: 16 << 20} }

// Prepare checks the settings of a module, so that a mistake is reported when the app is
// opened.
func (s *Settings) Prepare(namespace string) error {
	s.namespace = namespace
	guard, err := netguard.New(netguard.Rules{Private: s.PrivateHosts, Setting: s.key("constraints")})
	if err != nil {
		return err
	}
	s.client = guard.Client(0)
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return fmt.Errorf("config.url: %q is no address of a server: write https://host/ without a user",
			tool.Truncate(s.URL))
	}
	private, err := netguard.ParseHosts(s.PrivateHosts)
	if err != nil {
		return err
	}
	if u.Scheme == "http" && !private.Has(u) {
		return errors.New("config.url: the secret would travel in the open: " +
			"write https, or list the host under private_hosts")
	}
	u.Fragment, u.RawQuery, u.Path = "", "", cmp.Or(u.Path, "/")
	s.base = u
	return nil
}

func (s *Settings) key(name string) string { return "tools.modules." + s.namespace + "." + name }

// TimeLimit is how long a call may take.
func (s *Settings) TimeLimit() time.Duration {
	return time.Duration(float64(s.Timeout) * float64(time.Second))
}

// Client makes the requests of one call.
type Client struct {
	op       string
	secret   string
	settings *Settings
}

// Client returns a client for a call of the tool op.
func (s *Settings) Client(op, credential string) (*Client, error) {
	switch {
	case s.base == nil:
		return nil, tool.Errorf(op, tool.Unavailable, "the app file names no server").
			WithHint("it says where: %s", s.key("config.url"))
	case credential == "":
		return nil, tool.Errorf(op, tool.Unavailable, "the app file gives no secret for the server").
			WithHint("it names one: %s; callgate secrets set keeps its value", s.key("credential"))
	}
	return &Client{op, credential, s}, nil
}

// MayChange returns an error if the app only reads.
func (c *Client) MayChange() error {
	if c.settings.ReadOnly {
		return tool.Errorf(c.op, tool.Denied, "this app only reads, so nothing is changed").
			WithHint("the app file says %s", c.settings.key("constraints.read_only"))
	}
	return nil
}

// request is one request.
type request struct {
	method, path string
	header       map[string]string
	body         []byte
	changes      bool
}

type answer struct {
	url    *url.URL
	header http.Header
	body   []byte
}

// maxRedirects bounds the redirects of one request.
const maxRedirects = 5

// do sends a request and reads the answer.
func (c *Client) do(ctx context.Context, r request) (*answer, error) {
	at, err := c.resolve(c.settings.base, r.path)
	if err != nil {
		return nil, err
	}
	for range maxRedirects {
		resp, err := c.send(ctx, r, at)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 == 3 && resp.Header.Get("Location") != "" {
			_ = resp.Body.Close()
			if at, err = c.resolve(at, resp.Header.Get("Location")); err != nil {
				return nil, err
			}
			continue
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.settings.MaxBytes)+1))
		switch {
		case resp.StatusCode/100 != 2:
			return nil, c.refused(r, resp, body)
		case err != nil && !r.changes:
			return nil, c.failure(ctx, r, err)
		case len(body) > c.settings.MaxBytes:
			return nil, tool.Errorf(c.op, tool.Failed, "%s answered with more than %s",
				at.Host, amount.Bytes(c.settings.MaxBytes)).
				WithHint("ask for less; the app file may allow more: %s", c.settings.key("config.max_bytes"))
		}
		return &answer{at, resp.Header, body}, nil
	}
	return nil, tool.Errorf(c.op, tool.Failed, "%s redirects in a circle", at.Host)
}

func (c *Client) send(ctx context.Context, r request, at *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, tool.Errorf(c.op, tool.Invalid, "%q is no address", tool.Truncate(r.path))
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", "callgate")
	if c.settings.Auth == "oauth" {
		req.Header.Set("Authorization", "Bearer "+c.secret)
	} else {
		req.SetBasicAuth(c.settings.Username, c.secret)
	}
	resp, err := c.settings.client.Do(req)
	if err != nil {
		return nil, c.failure(ctx, r, err)
	}
	return resp, nil
}

// resolve reads an address of the server.
func (c *Client) resolve(from *url.URL, text string) (*url.URL, error) {
	u, err := from.Parse(text)
	if err != nil {
		return nil, tool.Errorf(c.op, tool.Invalid, "%q is no address", tool.Truncate(text))
	}
	if u.Host != c.settings.base.Host || u.Scheme != c.settings.base.Scheme {
		return nil, tool.Errorf(c.op, tool.Denied, "%q leads to another server than the app file names", tool.Truncate(text)).
			WithHint("if the account moved there, the app file says so: %s", c.settings.key("config.url"))
	}
	u.Fragment, u.RawQuery, u.User = "", "", nil
	return u, nil
}

// failure is the error of a request without an answer.
func (c *Client) failure(ctx context.Context, r request, err error) error {
	e := fetch.Call{Op: c.op}.Failure(ctx, c.settings.base.Host, err, c.settings.TimeLimit())
	if r.changes && (e.Kind == tool.Timeout || e.Kind == tool.Failed || e.Kind == tool.Cancelled) && !notSent(err) {
		e.Kind, e.Hint = tool.InDoubt, "the server may have carried it out: look before you repeat it"
	}
	return e
}

// notSent reports errors of connections that never were.
func notSent(err error) bool { return strings.Contains(err.Error(), "dial ") }

// refused is the error of an answer that is none.
func (c *Client) refused(r request, resp *http.Response, body []byte) error {
	host := c.settings.base.Host
	words := strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 2000)]), ""))
	text := tool.TruncateTo(strings.Join(words, " "), 200)
	say := func(kind tool.Kind, format string, args ...any) *tool.Error {
		return tool.Errorf(c.op, kind, format, args...)
	}
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized:
		return say(tool.Denied, "%s refused the login", host).
			WithHint("check username, auth and credential of the module %s in the app file", c.settings.namespace)
	case status == http.StatusForbidden:
		return say(tool.Denied, "%s refuses that: %s", host, text).WithHint("the account may not have the right to it")
	case status == http.StatusNotFound, status == http.StatusGone:
		return say(tool.NotFound, "there is nothing at %s", tool.Truncate(r.path)).WithHint("list what is there first")
	case status == http.StatusPreconditionFailed:
		return say(tool.Conflict, "it was changed, or made, by somebody else meanwhile; it was left as it is").
			WithHint("read it again, and repeat the change with its new etag")
	case status == http.StatusConflict:
		return say(tool.Conflict, "%s refuses that: %s", host, text)
	case status == http.StatusRequestEntityTooLarge, status == http.StatusInsufficientStorage:
		return say(tool.Failed, "%s has no room for that: %s", host, text)
	case status == http.StatusTooManyRequests || status >= 500:
		return say(tool.Unavailable, "%s answered %d: %s", host, status, text).WithHint("%s", fetch.RetryAfter(resp.Header))
	default:
		return say(tool.Failed, "%s answered %d: %s", host, status, text)
	}
}

// Object is a file of a collection: an event, a contact.
type Object struct {
	Path, ETag string
	Data       []byte
}

// Get reads an object.
func (c *Client) Get(ctx context.Context, at string) (*Object, error) {
	a, err := c.do(ctx, request{method: http.MethodGet, path: at})
	if err != nil {
		return nil, err
	}
	return &Object{at, a.header.Get("ETag"), a.body}, nil
}

// Create makes an object. It is in doubt if it may be there.
func (c *Client) Create(ctx context.Context, at, kind string, data []byte) (etag string, err error) {
	return c.put(ctx, at, kind, data, map[string]string{"If-None-Match": "*"})
}

// Replace changes the version of an object that has the ETag.
func (c *Client) Replace(ctx context.Context, o Object, kind string, data []byte) (etag string, err error) {
	if err := c.checkTag(o.ETag); err != nil {
		return "", err
	}
	return c.put(ctx, o.Path, kind, data, map[string]string{"If-Match": o.ETag})
}

// checkTag refuses what is not one ETag, weak or not: a list of them, or "*", would match versions
// that nobody has seen. A server that gives none has empty ones.
func (c *Client) checkTag(etag string) error {
	inner, quoted := strings.CutPrefix(strings.TrimPrefix(etag, "W/"), `"`)
	inner, ends := strings.CutSuffix(inner, `"`)
	outside := func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }
	if etag == "" || quoted && ends && !strings.ContainsFunc(inner, outside) {
		return nil
	}
	return tool.Errorf(c.op, tool.Invalid, "%q is not the etag of one version", tool.Truncate(etag)).
		WithHint("give the etag as a list shows it, with its quotation marks")
}

func (c *Client) put(ctx context.Context, at, kind string, data []byte, header map[string]string) (string, error) {
	if err := c.MayChange(); err != nil {
		return "", err
	}
	header["Content-Type"] = kind
	a, err := c.do(ctx, request{http.MethodPut, at, header, data, true})
	if err != nil {
		return "", err
	}
	return a.header.Get("ETag"), nil
}

// Delete removes the version of an object that has the ETag.
func (c *Client) Delete(ctx context.Context, o Object) error {
	if err := c.checkTag(o.ETag); err != nil {
		return err
	}
	if err := c.MayChange(); err != nil {
		return err
	}
	_, err := c.do(ctx, request{http.MethodDelete, o.Path, map[string]string{"If-Match": o.ETag}, nil, true})
	return err
}

// Inside returns the collection that an object named by a call belongs to. A call reaches
// nothing else of the server.
func (c *Client) Inside(all []Collection, at string) (Collection, error) {
	u, err := c.resolve(c.settings.base, at)
	if err != nil {
		return Collection{}, err
	}
	for _, one := range all {
		if folder, _ := path.Split(path.Clean(u.Path)); folder == one.Path && !strings.HasSuffix(u.Path, "/") {
			return one, nil
		}
	}
	return Collection{}, tool.Errorf(c.op, tool.NotFound, "%q is in none of the account's collections", tool.Truncate(at)).
		WithHint("give the id as a list shows it")
}
