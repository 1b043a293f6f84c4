// Package weburl parses the addresses of the web once, into one canonical form.
//
// # Law
//
// Rules about URLs are matched against the canonical form, and the request is made
// from the canonical form, so that no spelling of an address means one thing to a rule
// and another to the network. Two addresses that a browser would open as the same
// request have the same form:
//
//   - spaces around the address are dropped; control characters are an error
//   - the scheme (http, https, ws, wss) and the host are in lower case
//   - a host name is ASCII (IDNA), percent-decoded, without a dot at its end
//   - an IPv4 address is four decimal numbers, whatever its spelling (0x7f.1, 127.1,
//     2130706433); an IPv6 address is in its shortest form, and one that only embeds an
//     IPv4 address (::ffff:127.0.0.1) is that address
//   - the port is known: the one of the scheme unless another is written
//   - the path has no dot segments, "\" is "/", and a character is percent-encoded only
//     if it has to be
//   - user information and the fragment are kept apart from the form
//
// Servers read some paths in more than one way: %2F may be a slash, "//" may be "/".
// [URL.Readings] returns them all. A rule that permits must hold for each of them, and a
// rule that forbids holds if any fits.
package weburl

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxLength bounds an address. Nothing on the web answers to a longer one.
const maxLength = 64 << 10

// URL is an address in canonical form.
type URL struct {
	Scheme   string
	Host     string // a name in lower-case ASCII, or an address without brackets
	Port     uint16 // never 0
	Path     string // percent-encoded where it has to be; begins with "/"
	Query    string // without "?"
	HasQuery bool   // "?" is there, even if nothing follows
	// User is the user information, if there is any. No rule permits an address by it.
	User     *url.Userinfo
	Fragment string // percent-decoded; servers never see it
	// Odd says that the host is an IPv4 address that is not written as four decimal
	// numbers. Programs differ in how they read it, so that no tool requests it.
	Odd bool

	addr netip.Addr // of a host that is an address
}

// Parse reads an absolute address of the web.
func Parse(text string) (*URL, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("it is longer than %d bytes", maxLength)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("it is not valid UTF-8")
	}
	text = strings.TrimSpace(text)
	for _, r := range text {
		if r < ' ' || r >= 0x7f && r <= 0x9f {
			return nil, fmt.Errorf("it holds the control character %q", r)
		}
	}
	scheme, rest, ok := strings.Cut(text, ":")
	u := &URL{Scheme: strings.ToLower(scheme)}
	if !ok || defaultPort(u.Scheme) == 0 {
		return nil, fmt.Errorf("it does not begin with https:// or http://")
	}
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	if hasFragment {
		u.Fragment = decoded(fragment, func(byte) bool { return true })
	}
	rest, u.Query, u.HasQuery = strings.Cut(rest, "?")
	rest = strings.TrimLeft(strings.ReplaceAll(rest, `\`, "/"), "/") // as browsers read it
	authority, path, _ := strings.Cut(rest, "/")
	if err := u.setAuthority(authority); err != nil {
		return nil, err
	}
	path, err := encoded(path, inPath)
	if err != nil {
		return nil, err
	}
	u.Path = resolveDots("/" + path)
	if u.Query, err = encoded(u.Query, inQuery); err != nil {
		return nil, err
	}
	return u, nil
}

func defaultPort(scheme string) uint16 {
	switch scheme {
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	}
	return 0
}

// setAuthority reads what stands between the slashes: user, host and port.
func (u *URL) setAuthority(authority string) error {
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		name, password, has := strings.Cut(authority[:i], ":")
		all := func(byte) bool { return true }
		if u.User = url.User(decoded(name, all)); has {
			u.User = url.UserPassword(decoded(name, all), decoded(password, all))
		}
		authority = authority[i+1:]
	}
	host, port, err := cutPort(authority)
	if err != nil {
		return err
	}
	if u.Host, u.addr, err = canonicalHost(host); err != nil {
		return err
	}
	u.Odd = u.addr.Is4() && host != u.Host && !strings.HasPrefix(host, "[")
	u.Port = defaultPort(u.Scheme)
	if port = strings.TrimLeft(port, "0"); port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("%q is not a port", shortened(port))
	}
	u.Port = uint16(n)
	return nil
}

// cutPort splits a host from its port. A port that is written and is 0 is an error.
func cutPort(authority string) (host, port string, err error) {
	host = authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.Contains(authority[i:], "]") {
		host, port = authority[:i], authority[i+1:]
	}
	if strings.Trim(port, "0123456789") != "" || port != "" && strings.Trim(port, "0") == "" {
		return "", "", fmt.Errorf("%q is not a port", shortened(port))
	}
	return host, port, nil
}

// String returns the canonical form, without user information and fragment. The port
// is left out where it is the scheme's.
func (u *URL) String() string {
	out := u.Scheme + "://" + u.hostPort() + u.Path
	if u.HasQuery {
		out += "?" + u.Query
	}
	return out
}

func (u *URL) hostPort() string {
	host := u.Host
	if u.addr.Is6() {
		host = "[" + host + "]"
	}
	if u.Port != defaultPort(u.Scheme) {
		host += ":" + strconv.Itoa(int(u.Port))
	}
	return host
}

// Request returns the URL to make a request with: the canonical form and nothing else.
func (u *URL) Request() *url.URL {
	out := &url.URL{Scheme: u.Scheme, Host: u.hostPort(), RawQuery: u.Query, ForceQuery: u.HasQuery && u.Query == ""}
	out.Path = decoded(u.Path, func(byte) bool { return true })
	out.RawPath = u.Path // is used where it is another spelling of Path
	return out
}

// Destination returns where a request goes: scheme, host and port, such as
// https://example.com:8443. The port is left out where it is the scheme's.
func (u *URL) Destination() string { return u.Scheme + "://" + u.hostPort() }

// Covers reports whether a redirect from u to another address stays where a person has
// let a request go: at the same destination, or at the same host with TLS added, both
// at the usual ports.
func (u *URL) Covers(to *URL) bool {
	if u.Host != to.Host {
		return false
	}
	return u.Scheme == to.Scheme && u.Port == to.Port || u.Scheme == "http" && to.Scheme == "https" && u.Port == 80 && to.Port == 443
}

// IsLoopback reports whether the host always is this machine itself.
func (u *URL) IsLoopback() bool { return isLoopback(u.Host, u.addr) }

// IsLoopbackHost reports the same of a host, with or without a port.
func IsLoopbackHost(text string) bool {
	host, _, err := cutPort(strings.TrimSpace(text))
	if err != nil {
		return false
	}
	name, addr, err := canonicalHost(host)
	return err == nil && isLoopback(name, addr)
}

func isLoopback(host string, addr netip.Addr) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || addr.IsValid() && addr.IsLoopback()
}

// CanonicalHost returns the one spelling of a host without a port. An IPv6 address may
// stand in brackets.
func CanonicalHost(host string) (string, error) {
	name, _, err := canonicalHost(host)
	return name, err
}

// canonicalHost returns the one spelling of a host, and the address if it is one.
func canonicalHost(host string) (string, netip.Addr, error) {
	none := netip.Addr{}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if err != nil || !closed || !addr.Is6() || addr.Zone() != "" {
			return "", none, fmt.Errorf("%q is not an address", shortened(host))
		}
		addr = addr.Unmap()
		return addr.String(), addr, nil
	}
	const most = 1024 // bytes of a name that is not ASCII yet; converting takes the square of it
	if len(host) > most {
		return "", none, fmt.Errorf("%q is too long for a host name", shortened(host))
	}
	name := host
	if strings.Contains(name, "%") {
		if name = decoded(name, func(byte) bool { return true }); strings.Contains(name, "%") || !utf8.ValidString(name) {
			return "", none, fmt.Errorf("%q is not a host", shortened(host))
		}
	}
	if !isASCII(name) {
		var err error
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return "", none, fmt.Errorf("%q is not a host name", shortened(host))
		}
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if i := strings.LastIndexByte(name, '.'); IsNumber(name[i+1:]) {
		addr, ok := parseIPv4(name)
		if !ok {
			return "", none, fmt.Errorf("%q is not an address", shortened(host))
		}
		return addr.String(), addr, nil
	}
	if len(name) > 253 {
		return "", none, fmt.Errorf("%q is too long for a host name", shortened(host))
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", none, fmt.Errorf("%q is not a host name", shortened(host))
		}
	}
	return name, none, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// IsNumber reports whether the last label of a host makes it an address to browsers and
// to the C library.
func IsNumber(label string) bool {
	if label == "" {
		return false
	}
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// parseIPv4 reads an IPv4 address as browsers do: one to four numbers, each decimal,
// octal (017) or hexadecimal (0xf), the last of which fills what is left.
func parseIPv4(text string) (netip.Addr, bool) {
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		last := i == len(parts)-1
		switch {
		case !ok, !last && n > 255, last && n >= 1<<(8*(5-len(parts))):
			return netip.Addr{}, false
		case last:
			value |= n
		default:
			value |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func parseNumber(text string) (uint64, bool) {
	base := 10
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		if hex == "" {
			return 0, true
		}
		text, base = hex, 16
	} else if len(text) > 1 && text[0] == '0' {
		text, base = text[1:], 8
	}
	n, err := strconv.ParseUint(text, base, 32)
	return n, err == nil
}

const hexDigits = "0123456789ABCDEF"

// unreserved are the characters that mean the same with and without percent-encoding.
func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

func inPath(c byte) bool { return unreserved(c) || strings.IndexByte("!$&'()*+,;=:@/", c) >= 0 }

func inQuery(c byte) bool { return inPath(c) || c == '?' }

// encoded percent-encodes a text where it has to be, and decodes what need not be
// encoded. A percent sign that encodes nothing is an error.
func encoded(text string, plain func(byte) bool) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c, wasEncoded := text[i], false
		if c == '%' {
			n, ok := unhex(text, i)
			if !ok {
				return "", fmt.Errorf("it holds a percent sign that encodes nothing: %q", shortened(text[i:]))
			}
			c, wasEncoded = n, true
			i += 2
		}
		if wasEncoded && unreserved(c) || !wasEncoded && plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String(), nil
}

// decoded percent-decodes what may be; anything else stays as it is.
func decoded(text string, may func(byte) bool) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if c, ok := unhex(text, i); ok && may(c) {
			b.WriteByte(c)
			i += 2
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// unhex returns the byte that is percent-encoded at a place.
func unhex(text string, i int) (byte, bool) {
	if text[i] != '%' || i+2 >= len(text) {
		return 0, false
	}
	n, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
	return byte(n), err == nil && text[i+1] != '+' && text[i+1] != '-'
}

// resolveDots removes the segments "." and ".." of a path, as a browser does.
func resolveDots(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	segments := strings.Split(path[1:], "/")
	var out []string
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		case ".":
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	return "/" + strings.Join(out, "/")
}

func shortened(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// JoinHostPort returns the host and port to dial.
func (u *URL) JoinHostPort() string { return net.JoinHostPort(u.Host, strconv.Itoa(int(u.Port))) }
