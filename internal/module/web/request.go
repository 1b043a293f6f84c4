package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"callgate/tool"
)

// maxRedirects is how many redirects are followed.
const maxRedirects = 10

// errBusy is why a call ends that waits at a host's gate.
var errBusy = errors.New("the host is busy with other requests")

// address reads a URL, and has the guard judge it.
func (e httpCall) address(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // the URL is said here
		}
		return nil, tool.Errorf(e.op, tool.Invalid, "%q is not a URL: %v", tool.Truncate(text), err).WithHint("write it as https://host/path")
	}
	switch {
	case u.Scheme == "" && text != "":
		return nil, tool.Errorf(e.op, tool.Invalid, "%q has no scheme", tool.Truncate(text)).WithHint("did you mean https://%s?", tool.Truncate(strings.TrimLeft(text, "/")))
	case u.Scheme == "ws", u.Scheme == "wss":
		return nil, tool.Errorf(e.op, tool.Invalid, "web sockets are not spoken here").WithHint("use an http or https URL")
	}
	u.Fragment, u.RawFragment = "", ""
	if err := e.settings.guard.Check(u); err != nil {
		return nil, e.named(err)
	}
	return u, nil
}

// named gives a refusal the name of the tool.
func (e httpCall) named(err error) error {
	var refused *tool.Error
	if errors.As(err, &refused) {
		refused.Op = e.op
		return refused
	}
	return err
}

// limited bounds the time of a call.
func (e httpCall) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(float64(e.settings.Timeout)*float64(time.Second)))
}

// do is one request, and those that redirects make of it. Each of them is
// judged by the guard, asks robots.txt if robot is set, and goes through the
// gate of its host; this is why the redirects are followed here and not by the
// client. The gate is passed when the body is closed.
func (e httpCall) do(r *http.Request, robot bool) (*http.Response, error) {
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", e.settings.UserAgent)
	}
	follow := e.settings.guard.Redirects(maxRedirects)
	var via []*http.Request
	for {
		resp, err := e.step(r, robot)
		if err != nil {
			return nil, e.fail(r, err)
		}
		next, err := redirect(r, resp)
		if err != nil || next == nil {
			if err != nil {
				_ = resp.Body.Close()
				return nil, e.fail(r, err)
			}
			return resp, nil
		}
		_ = resp.Body.Close()
		via = append(via, r)
		if err := follow(next, via); err != nil {
			return nil, e.named(err)
		}
		r = next
	}
}

// redirect is the request that a response redirects to; nil if it does not.
func redirect(r *http.Request, resp *http.Response) (*http.Request, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	text := resp.Header.Get("Location")
	if text == "" {
		return nil, nil
	}
	to, err := r.URL.Parse(text)
	if err != nil {
		return nil, tool.Errorf("", tool.Failed, "%s redirects to %q, which is no address", r.URL.Host, tool.Truncate(text))
	}
	to.Fragment, to.RawFragment = "", ""
	next := r.Clone(r.Context())
	next.URL, next.Host, next.Response = to, "", resp
	repeats := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
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

// step sends one request, when it is its turn.
func (e httpCall) step(r *http.Request, robot bool) (*http.Response, error) {
	ctx := r.Context()
	delay := time.Duration(float64(e.settings.Delay) * float64(time.Second))
	if robot && e.settings.Robots {
		wanted, err := e.line.robots.Allowed(ctx, r.URL, e.settings.agent(), e.robots)
		if err != nil {
			return nil, err
		}
		delay = max(delay, wanted)
	}
	host := strings.ToLower(r.URL.Hostname())
	leave, err := e.desk.gates.Acquire(ctx, host, delay)
	if err != nil {
		return nil, errors.Join(errBusy, err)
	}
	resp, err := e.line.client.Do(r)
	if err != nil {
		leave()
		return nil, err
	}
	resp.Body = &gated{resp.Body, leave}
	return resp, nil
}

// gated leaves a gate when a body is done with.
type gated struct {
	io.ReadCloser
	leave func()
}

// Close closes the body and leaves.
func (g *gated) Close() error {
	defer g.leave()
	return g.ReadCloser.Close()
}

// robots fetches a robots.txt.
func (e httpCall) robots(ctx context.Context, at *url.URL) (status int, content []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Accept-Encoding", acceptedEncodings)
	resp, err := e.do(r, false)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	got, err := readBody(resp, robotsBytes)
	if err != nil {
		return 0, nil, e.fail(r, err)
	}
	return resp.StatusCode, got.raw, nil
}

// get makes a request for a page.
func (e httpCall) get(ctx context.Context, u *url.URL) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, tool.Errorf(e.op, tool.Invalid, "the request cannot be made: %w", err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,text/plain;q=0.9,*/*;q=0.8")
	r.Header.Set("Accept-Language", "en,*;q=0.5")
	r.Header.Set("Accept-Encoding", acceptedEncodings)
	return r, nil
}

// statusError is a status of 400 or more as an error, with what to do about it.
func (e httpCall) statusError(resp *http.Response) *tool.Error {
	_, words, _ := strings.Cut(resp.Status, " ")
	out := tool.Errorf(e.op, tool.Failed, "%s answered %d %s", tool.Truncate(resp.Request.URL.Host), resp.StatusCode, tool.Truncate(words))
	later := "try again later"
	if after := resp.Header.Get("Retry-After"); after != "" {
		later = "try again after " + retryAfter(after)
	}
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		out.Hint = "the page is not for everybody, or its server turns programs away; look for the same elsewhere"
	case status == http.StatusNotFound, status == http.StatusGone:
		out.Kind, out.Hint = tool.NotFound, "nothing is there: check the address, or search for the page"
	case status == http.StatusTooManyRequests:
		out.Kind, out.Hint = tool.Limited, "too many requests: "+later
	case status >= 500:
		out.Hint = "the server failed: " + later
	default:
		out.Hint = "check the address"
	}
	return out
}

// retryAfter writes the header for people: it holds seconds, or a date.
func retryAfter(value string) string {
	if strings.Trim(value, "0123456789") == "" {
		return tool.Truncate(value) + " seconds"
	}
	return tool.Truncate(value)
}

// size writes a number of bytes as people do.
func size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
