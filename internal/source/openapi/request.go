package openapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/internal/netguard"
	"callgate/internal/weburl"
	"callgate/tool"
)

const maxRedirects = 5

// caller sends the requests of one API.
type caller struct {
	cfg     Config
	guard   *netguard.Guard
	private netguard.Hosts // that may be sent a credential over plain http
	client  *http.Client
	timeout time.Duration
}

// request is how an operation is called. It is a tool's handler, and does not change.
type request struct {
	*caller
	op     string // the tool, as errors name it
	method string
	path   string
	base   *url.URL
	params []parameter
	body   payload
	auth   *auth
}

var _ tool.Handler = (*request)(nil)

// Execute sends one request and reads the answer.
func (r *request) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	args, err := decodeArgs(r.op, call.Args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	req, err := r.build(traced, args)
	if err != nil {
		return nil, err
	}
	shown := fetch.ShownURL(req.URL) // before a key is in it
	if err := r.authorize(req, grant); err != nil {
		return nil, err
	}
	resp, err := r.following(grant).Do(req)
	if err != nil {
		return nil, r.failure(req, err, sent.Load())
	}
	defer resp.Body.Close()
	content, truncated, err := body.ReadAll(resp, maxAnswer)
	if err != nil {
		return nil, r.failure(req, err, true)
	}
	return r.result(resp, shown, content, truncated)
}

// following is the API's client for one call: a redirect is judged by the rules, and one
// to another destination as a request that the module http would make.
func (r *request) following(grant tool.Grant) *http.Client {
	client := *r.client
	calls := fetch.Call{Op: r.op, Grant: grant}
	if follow := grant.Follow; follow != nil {
		base := r.base.String()
		calls.Grant.Follow = func(ctx context.Context, hop tool.Hop) error {
			hop.From = base
			if err := follow(ctx, hop); err != nil || staysAt(base, hop.URL) {
				return err
			}
			hop.Tool, hop.From = "http.get", ""
			return follow(ctx, hop)
		}
	}
	client.CheckRedirect = calls.Follows(r.guard.Redirects(maxRedirects))
	return &client
}

// staysAt reports whether an address is at the destination of another.
func staysAt(base, address string) bool {
	from, err := weburl.Parse(base)
	if err != nil {
		return false
	}
	to, err := weburl.Parse(address)
	return err == nil && from.Covers(to)
}

func decodeArgs(op string, raw json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(raw) == 0 {
		return args, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the arguments are not an object: %w", err)
	}
	return args, nil
}

// authorize puts the credential on a request, if it may travel there.
func (r *request) authorize(req *http.Request, grant tool.Grant) error {
	if len(r.auth.parts) == 0 {
		return nil
	}
	if req.URL.Scheme != "https" && !r.private.Has(req.URL) {
		return tool.Errorf(r.op, tool.Denied, "the credential is not sent to %s over plain http", req.URL.Host).
			WithHint("use an https server, or list the host under %s%s.private_hosts", Setting, r.cfg.Name)
	}
	if err := r.auth.apply(req, grant.Secrets); err != nil {
		return tool.Errorf(r.op, tool.Invalid, "%v", err).
			WithHint("the user stores it again: callgate secrets set %s", r.auth.parts[0].secret)
	}
	return nil
}

// build makes the request of some arguments, without the credential.
func (r *request) build(ctx context.Context, args map[string]any) (*http.Request, error) {
	u, err := r.url(args)
	if err != nil {
		return nil, err
	}
	content, contentType, err := r.content(args)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if content != nil {
		reader = bytes.NewReader(content)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), reader)
	if err != nil {
		return nil, tool.Errorf(r.op, tool.Invalid, "the request cannot be made: %w", err)
	}
	req.Header.Set("User-Agent", "callgate")
	req.Header.Set("Accept", "application/json, */*;q=0.8")
	req.Header.Set("Accept-Encoding", body.Accepted)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	return req, r.setHeaders(req, args)
}

// setHeaders adds the parameters that are headers and cookies.
func (r *request) setHeaders(req *http.Request, args map[string]any) error {
	var cookies []pair
	for _, p := range r.params {
		v, ok := args[p.arg]
		if !ok || v == nil {
			continue
		}
		switch p.in {
		case "header":
			text := p.inHeader(v)
			if !httpguts.ValidHeaderFieldValue(text) {
				return tool.Errorf(r.op, tool.Invalid, "%s cannot be the value of a header", p.arg)
			}
			req.Header.Set(p.name, text)
		case "cookie":
			cookies = append(cookies, p.inQuery(v)...)
		}
	}
	words := make([]string, len(cookies))
	for i, c := range cookies {
		words[i] = c.name + "=" + c.value
	}
	if len(words) > 0 {
		req.Header.Set("Cookie", strings.Join(words, "; "))
	}
	return nil
}

// url is the address of a call: that of the server, the path with its parameters, the query.
func (r *request) url(args map[string]any) (*url.URL, error) {
	path := r.path
	var query []pair
	for _, p := range r.params {
		v, ok := args[p.arg]
		if !ok || v == nil {
			if p.in == "path" {
				return nil, tool.Errorf(r.op, tool.Invalid, "%s is missing, and is a part of the path", p.arg)
			}
			continue
		}
		switch p.in {
		case "path":
			text, err := p.inPath(v)
			if err != nil {
				return nil, tool.Errorf(r.op, tool.Invalid, "%w", err)
			}
			path = strings.ReplaceAll(path, "{"+p.name+"}", text)
		case "query":
			query = append(query, p.inQuery(v)...)
		}
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if step := stepElsewhere(path); step != "" {
		return nil, tool.Errorf(r.op, tool.Invalid, "a part of the path would be %q, which leads elsewhere",
			tool.Truncate(step)).WithHint("give the value without . and .. between slashes")
	}
	u, err := url.Parse(r.base.String() + path)
	if err != nil || u.Host != r.base.Host {
		return nil, tool.Errorf(r.op, tool.Invalid, "no address can be made of the path %s", tool.Truncate(path))
	}
	if len(query) > 0 {
		if u.RawQuery != "" { // of the path itself
			u.RawQuery += "&"
		}
		u.RawQuery += encodePairs(query)
	}
	return u, nil
}

// stepElsewhere finds a part of an encoded path that leads out of its place, or that cannot be read; "":
// there is none. Servers differ in how often they decode a path, in whether they take \ for a slash, and in
// whether they cut off what follows a semicolon, so every reading counts.
func stepElsewhere(path string) string {
	const readings = 3
	for i := range readings {
		plain, err := url.PathUnescape(path)
		if err != nil && i == 0 {
			return path
		}
		if err != nil {
			break
		}
		path = plain
		for _, step := range strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }) {
			if name, _, _ := strings.Cut(step, ";"); name == "." || name == ".." {
				return step
			}
		}
	}
	return ""
}

// content is the body of a call and its type; nil is no body.
func (r *request) content(args map[string]any) (content []byte, contentType string, err error) {
	b := &r.body
	var v any
	switch {
	case b.kind == noBody:
		return nil, "", nil
	case b.arg != "":
		var ok bool
		if v, ok = args[b.arg]; !ok {
			return nil, "", nil
		}
	default:
		fields := map[string]any{}
		for _, name := range b.fields {
			if value, ok := args[name]; ok {
				fields[name] = value
			}
		}
		v = fields
	}
	switch b.kind {
	case jsonBody:
		data, err := json.Marshal(v)
		return data, b.mediaType, err
	case textBody:
		return []byte(scalar(v)), b.mediaType, nil
	case base64Body:
		data, err := base64.StdEncoding.DecodeString(scalar(v))
		if err != nil {
			return nil, "", tool.Errorf(r.op, tool.Invalid, "%s is not base64", b.arg)
		}
		return data, b.mediaType, nil
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, "", tool.Errorf(r.op, tool.Invalid, "%s must be an object: the fields of a form", b.arg)
	}
	if b.kind == multipartBody {
		return multipartForm(fields)
	}
	all := formPairs(fields)
	for i := range all {
		all[i] = pair{url.QueryEscape(all[i].name), url.QueryEscape(all[i].value)}
	}
	return []byte(encodePairs(all)), b.mediaType, nil
}

// multipartForm writes fields as a form with parts.
func multipartForm(fields map[string]any) ([]byte, string, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range formPairs(fields) {
		if err := w.WriteField(p.name, p.value); err != nil {
			return nil, "", err
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), w.FormDataContentType(), nil
}

// failure is the error of a request that has no answer. A request that may change something
// and may have been sent is in doubt.
func (r *request) failure(req *http.Request, err error, sent bool) *tool.Error {
	out := fetch.Call{Op: r.op}.Failure(req.Context(), r.base.Host, err, r.timeout)
	if out.Kind == tool.Timeout {
		out.Hint = "ask for less, or try again later; the app file may give it more time: " +
			Setting + r.cfg.Name + ".timeout"
	}
	if !sent || slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, r.method) {
		return out
	}
	out.Hint = strings.TrimPrefix(out.Hint+"; the server may have carried it out: look before you repeat it", "; ")
	if out.Kind == tool.Timeout || out.Kind == tool.Failed {
		out.Kind = tool.InDoubt
	}
	return out
}

// headerNames are those of an answer, sorted.
func headerNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }
