package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/internal/module/web/politeness"
	"callgate/tool"
)

// maxRedirects bounds the redirects that are followed.
const maxRedirects = 10

// errBusy is the error of a call whose time ends while it waits for its turn
// at a host.
var errBusy = errors.New("the host is busy with other requests")

// limited bounds the time of a call.
func (c webCall) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.settings.TimeLimit(0))
}

// do sends a request as send does. An error says what to do next.
func (c webCall) do(r *http.Request, robots bool) (*http.Response, error) {
	resp, err := c.send(r, robots)
	if err != nil {
		return nil, c.failure(r, err)
	}
	return resp, nil
}

// send sends a request and follows its redirects. Each request is checked by
// the guard, may ask robots.txt, and waits for its turn at its host; this is
// why redirects are followed here and not by the client. The turn ends when
// the body is closed.
func (c webCall) send(r *http.Request, robots bool) (*http.Response, error) {
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", c.settings.UserAgent)
	}
	mayFollow := c.Follows(c.settings.Guard().Redirects(maxRedirects))
	var via []*http.Request
	for {
		resp, err := c.sendOne(r, robots)
		if err != nil {
			return nil, err
		}
		next, err := redirected(r, resp)
		if next == nil && err == nil {
			return resp, nil
		}
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		via = append(via, r)
		if err := mayFollow(next, via); err != nil {
			return nil, err
		}
		r = next
	}
}

// redirected returns the request that a response redirects to; nil if it does
// not redirect.
func redirected(r *http.Request, resp *http.Response) (*http.Request, error) {
	repeats := false
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		repeats = true
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	to, err := r.URL.Parse(location)
	if err != nil {
		return nil, tool.Errorf("", tool.Failed, "%s redirects to %q, which is not an address",
			r.URL.Host, tool.Truncate(location))
	}
	to.Fragment, to.RawFragment = "", ""
	next := r.Clone(r.Context())
	next.URL, next.Host, next.Response = to, "", resp
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !repeats {
		next.Method, next.Body, next.GetBody, next.ContentLength = http.MethodGet, nil, nil, 0
		next.Header.Del("Content-Type")
	}
	if next.Body != nil && r.GetBody != nil {
		if next.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// sendOne sends one request when it is its turn.
func (c webCall) sendOne(r *http.Request, robots bool) (*http.Response, error) {
	ctx, delay := r.Context(), c.settings.delay()
	if robots && c.settings.Robots {
		wanted, err := c.client.robots.Allowed(ctx, r.URL, c.settings.agent(), c.robots)
		if err != nil {
			return nil, err
		}
		delay = max(delay, wanted)
	}
	release, err := c.kernel.limiter.Acquire(ctx, strings.ToLower(r.URL.Hostname()), delay)
	if err != nil {
		return nil, errors.Join(errBusy, err)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = &limitedBody{resp.Body, release}
	return resp, nil
}

// limitedBody ends a request's turn at its host when it is closed.
type limitedBody struct {
	io.ReadCloser
	release func()
}

// Close closes the body and ends the turn.
func (b *limitedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// errElsewhere is the error of a robots.txt that is where the rules do not let it be
// read: then the host has none.
var errElsewhere = errors.New("robots.txt is elsewhere")

func elsewhere(follow func(context.Context, tool.Hop) error) func(context.Context, tool.Hop) error {
	if follow == nil {
		return nil
	}
	return func(ctx context.Context, hop tool.Hop) error {
		if follow(ctx, hop) != nil {
			return errElsewhere
		}
		return nil
	}
}

// robots fetches a robots.txt.
func (c webCall) robots(ctx context.Context, at *url.URL) (status int, content []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Accept-Encoding", body.Accepted)
	c.Grant.Follow = elsewhere(c.Grant.Follow)
	resp, err := c.do(r, false)
	switch {
	case errors.Is(err, errElsewhere):
		return http.StatusNotFound, nil, nil
	case err != nil:
		return 0, nil, err
	}
	defer resp.Body.Close()
	if content, _, err = body.ReadAll(resp, politeness.MaxRobots); err != nil {
		return 0, nil, c.failure(r, err)
	}
	return resp.StatusCode, content, nil
}

// pageRequest makes a request for a page.
func (c webCall) pageRequest(ctx context.Context, u *url.URL) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, tool.Errorf(c.Op, tool.Invalid, "the request cannot be made: %w", err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.9,*/*;q=0.8")
	r.Header.Set("Accept-Language", "en,*;q=0.5")
	r.Header.Set("Accept-Encoding", body.Accepted)
	return r, nil
}

// failure adds to [fetch.Call.Failure] what to do next in this module.
func (c webCall) failure(r *http.Request, err error) *tool.Error {
	if errors.Is(err, errBusy) && errors.Is(err, context.DeadlineExceeded) {
		return tool.Errorf(c.Op, tool.Busy, "%s was busy with other requests of yours for too long", r.URL.Host).
			WithHint("ask for fewer pages of one host at a time")
	}
	out := c.Failure(r.Context(), r.URL.Host, err, c.settings.TimeLimit(0))
	if out.Kind == tool.Timeout {
		out.Hint = "try again, or look for the same elsewhere"
	}
	return out
}

// statusError makes an error of a status that is not a success.
func (c webCall) statusError(resp *http.Response) *tool.Error {
	out := tool.Errorf(c.Op, tool.Failed, "%s answered %d %s",
		tool.Truncate(resp.Request.URL.Host), resp.StatusCode, fetch.StatusText(resp))
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		out.Hint = "the page is not public, or its server turns programs away; look for the same elsewhere"
	case status == http.StatusNotFound, status == http.StatusGone:
		out.Kind, out.Hint = tool.NotFound, "nothing is there: check the address, or search for the page"
	case status == http.StatusTooManyRequests:
		out.Kind, out.Hint = tool.Limited, "too many requests: "+fetch.RetryAfter(resp.Header)
	case status >= 500:
		out.Hint = "the server failed: " + fetch.RetryAfter(resp.Header)
	default:
		out.Hint = "check the address"
	}
	return out
}
