package match

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/weburl"
)

// urlTest is a pattern of addresses of the web: SCHEME://HOST[:PORT][/PATH]. Both sides
// are compared in the canonical form of package weburl. A text that is no such address is
// compared as any other text.
type urlTest struct {
	globs []urlGlob
	text  textTest
}

// textTest is a test of texts that are no addresses.
type textTest interface {
	test
	pathTest
}

// urlGlob is one alternative of a pattern, without braces.
type urlGlob struct {
	scheme  *pathglob.Pattern
	host    string            // the only host, or
	hosts   *pathglob.Pattern // a glob of hosts
	port    uint16            // 0: the usual one of the scheme
	anyPort bool
	paths   []*pathglob.Pattern // of the path, or of the path and the query
	root    bool                // no path is written: the path is "/"
}

// compileURL reads a pattern of addresses of the web. It returns false for a pattern of
// anything else.
func compileURL(text string, plain textTest) (urlTest, bool) {
	t := urlTest{text: plain}
	if !strings.Contains(text, "://") {
		return t, false
	}
	alternatives, err := pathglob.Expand(text)
	if err != nil {
		return t, false
	}
	for _, one := range alternatives {
		g, ok := compileURLGlob(strings.TrimSpace(one))
		if !ok {
			return t, false
		}
		t.globs = append(t.globs, g)
	}
	return t, true
}

func compileURLGlob(text string) (g urlGlob, ok bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return g, false
	}
	scheme = strings.ToLower(scheme)
	var err error
	if g.scheme, err = pathglob.Parse(scheme); err != nil || !slices.ContainsFunc(webSchemes, g.fitsScheme) {
		return g, false
	}
	authority, path, hasPath := strings.Cut(rest, "/")
	if authority == "**" { // any host, and any path
		authority, path, hasPath = "*", "**/"+path, true
		g.anyPort = true
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return g, false // no rule is about user information
	}
	if !g.setHost(authority) {
		return g, false
	}
	g.root = !hasPath || path == ""
	if g.root {
		return g, true
	}
	for _, form := range pathForms(path) {
		p, err := pathglob.Parse(form)
		if err != nil {
			return g, false
		}
		g.paths = append(g.paths, p)
	}
	return g, true
}

// webSchemes are the schemes of the addresses that are compared in canonical form.
var webSchemes = []string{"http", "https", "ws", "wss"}

func (g *urlGlob) fitsScheme(scheme string) bool { return g.scheme.Matches(scheme, true) }

// setHost reads the host and the port of a pattern.
func (g *urlGlob) setHost(authority string) bool {
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.Contains(authority[i:], "]") {
		host, port = authority[:i], authority[i+1:]
	}
	switch port = strings.TrimLeft(port, "0"); port {
	case "":
	case "*", "**":
		g.anyPort = true
	default:
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return false
		}
		g.port = uint16(n)
	}
	if host == "" {
		return false
	}
	if inner := strings.Trim(host, "[]"); strings.Contains(inner, ":") || !strings.ContainsAny(host, `*?[\`) {
		if addr, err := netip.ParseAddr(inner); err == nil && addr.Is6() {
			host = "[" + inner + "]"
		}
		canonical, err := weburl.CanonicalHost(host)
		g.host = canonical
		return err == nil
	}
	if strings.HasSuffix(host, "*") && port == "" {
		g.anyPort = true // a star at the end stands for the port, too
	}
	var err error
	g.hosts, err = pathglob.Parse(canonicalLabels(host))
	return err == nil
}

// canonicalLabels writes the labels of a host pattern that have no wildcards in
// canonical form.
func canonicalLabels(host string) string {
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	for i, label := range labels {
		if label == "" || strings.ContainsAny(label, `*?[]\`) {
			continue
		}
		if canonical, err := weburl.CanonicalHost(label + ".x"); err == nil {
			labels[i] = strings.TrimSuffix(canonical, ".x")
		}
	}
	return strings.Join(labels, ".")
}

// pathForms writes the path of a pattern in canonical form: as a path, and, as "?" is a
// wildcard as well, as a path with a query.
func pathForms(path string) []string {
	literal := func(c byte) string {
		if strings.IndexByte(`*?[]{}\`, c) >= 0 {
			return `\` + string(c)
		}
		return string(c)
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if plain := weburl.PlainPath(strings.ToUpper(path[i : i+3])); plain != "" && plain[0] != '%' {
				for j := range len(plain) {
					b.WriteString(literal(plain[j]))
				}
				i += 2
				continue
			}
			b.WriteString(strings.ToUpper(path[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(path[i])
	}
	plain := resolvedPattern(b.String())
	if before, query, ok := strings.Cut(plain, "?"); ok && strings.Contains(query, "/") {
		return []string{plain, before + "?" + strings.ReplaceAll(query, "/", "%2F")}
	}
	return []string{plain}
}

// resolvedPattern removes the names "." and ".." of a pattern, as of an address. After a
// wildcard ".." means nothing, and the pattern cannot be read.
func resolvedPattern(path string) string {
	var out []string
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == ".":
		case name == ".." && len(out) > 0 && !strings.ContainsAny(out[len(out)-1], "*?["):
			out = out[:len(out)-1]
		case name == ".." && len(out) == 0:
		default:
			out = append(out, name)
		}
	}
	return strings.Join(out, "/")
}

// fitsReading reports whether one way to read an address fits. Without exact the query
// need not fit: who forbids a page forbids it with any query.
func (g *urlGlob) fitsReading(u *weburl.URL, r weburl.Reading, exact bool) bool {
	usual := u.Port == 443 && (u.Scheme == "https" || u.Scheme == "wss") ||
		u.Port == 80 && (u.Scheme == "http" || u.Scheme == "ws")
	switch {
	case !g.fitsScheme(u.Scheme),
		!g.anyPort && g.port != 0 && g.port != u.Port,
		!g.anyPort && g.port == 0 && !usual,
		g.hosts == nil && g.host != u.Host,
		g.hosts != nil && !g.hosts.Matches(u.Host, true):
		return false
	}
	if g.root {
		return r.Path == "" && (r.Query == "" || !exact)
	}
	whole := r.Path
	if r.Query != "" {
		whole += "?" + r.Query
	}
	trimmed := strings.TrimSuffix(whole, "/") // a slash at the end of a pattern says nothing
	for _, p := range g.paths {
		if p.Matches(whole, true) || p.Matches(trimmed, true) || !exact && p.Matches(r.Path, true) {
			return true
		}
	}
	return false
}

// fitsEvery reports whether every way to read an address fits.
func (t urlTest) fitsEvery(u *weburl.URL) bool {
	if u.User != nil {
		return false
	}
	for _, r := range u.Readings() {
		if !slices.ContainsFunc(t.globs, func(g urlGlob) bool { return g.fitsReading(u, r, true) }) {
			return false
		}
	}
	return true
}

// fitsSome reports whether some way to read an address fits.
func (t urlTest) fitsSome(u *weburl.URL) bool {
	for _, r := range u.Readings() {
		if slices.ContainsFunc(t.globs, func(g urlGlob) bool { return g.fitsReading(u, r, false) }) {
			return true
		}
	}
	return false
}

func (t urlTest) fits(c *Call, param string, v any) bool {
	list, bound := texts(c, param, v)
	if bound {
		return t.text.fits(c, param, v)
	}
	for _, s := range list {
		if u, err := weburl.Parse(s); err == nil {
			if !t.fitsEvery(u) {
				return false
			}
		} else if looksLikeURL(s) || !t.text.fits(c, param, s) {
			return false
		}
	}
	return len(list) > 0
}

func (t urlTest) touches(c *Call, param string, v any) Answer {
	list, bound := texts(c, param, v)
	if bound {
		return t.text.touches(c, param, v)
	}
	best := No
	for _, s := range list {
		u, err := weburl.Parse(s)
		switch {
		case err == nil && t.fitsSome(u):
			return Yes
		case err == nil:
		case looksLikeURL(s): // the tool may read it as an address all the same
			best = Unsure
		default:
			best = max(best, t.text.touches(c, param, s), t.withoutScheme(s))
		}
	}
	return best
}

// withoutScheme compares a text such as example.com/path, which some tools complete to an
// address.
func (t urlTest) withoutScheme(s string) Answer {
	for _, scheme := range webSchemes[:2] {
		u, err := weburl.Parse(scheme + "://" + strings.TrimSpace(s))
		if err == nil && t.fitsSome(u) {
			return Yes
		}
	}
	return No
}

// looksLikeURL reports whether a text that cannot be parsed was meant as an address of
// the web.
func looksLikeURL(s string) bool {
	scheme, _, ok := strings.Cut(strings.TrimSpace(s), ":")
	return ok && slices.Contains(webSchemes, strings.ToLower(strings.TrimSpace(scheme)))
}
