package page

import (
	"net/url"
	"strings"

	"callgate/internal/weburl"
	"callgate/tool"
)

// Address reads an address that a model gave: http or https, or a host without a
// scheme. It returns the canonical form.
func Address(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "about:blank" {
		return text, nil
	}
	scheme, _, ok := strings.Cut(text, ":")
	switch lower := strings.ToLower(scheme); {
	case ok && (lower == "http" || lower == "https"):
		return canonical(text)
	case ok && !strings.ContainsAny(scheme, "./@[ ") && !startsWithPort(text[len(scheme)+1:]):
		return "", tool.Errorf(op, tool.Denied, "addresses that begin with %s: are not opened", tool.Truncate(scheme)).
			WithHint("give an http or https address")
	case text == "" || strings.ContainsAny(text, " \t\r\n") || strings.HasPrefix(text, "/"):
		return "", tool.Errorf(op, tool.Invalid, "%q is not an address", tool.Truncate(text)).
			WithHint("write it whole, as https://example.com/page; to search the web use web.search")
	default:
		return canonical("https://" + text)
	}
}

// canonical writes an address in the form that rules are about. One with user information
// or with a number in an unusual spelling stays as it is, for the guard to refuse.
func canonical(text string) (string, error) {
	u, err := weburl.Parse(text)
	if err != nil {
		return "", tool.Errorf(op, tool.Invalid, "%q is not an address: %v", tool.Truncate(text), err).
			WithHint("write it whole, as https://example.com/page; to search the web use web.search")
	}
	if u.User != nil || u.Odd {
		return text, nil
	}
	if u.Fragment == "" {
		return u.String(), nil
	}
	return u.String() + "#" + (&url.URL{Fragment: u.Fragment}).EscapedFragment(), nil
}

// startsWithPort tells host:8080 from scheme:rest.
func startsWithPort(rest string) bool {
	port, _, _ := strings.Cut(rest, "/")
	return port != "" && strings.Trim(port, "0123456789") == ""
}

// Origin returns the scheme and host of an address, or "".
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// parseOrigin reads the scheme and the host of an address, and ignores the rest:
// browsers accept forms of it that Go does not.
func parseOrigin(address string) (*url.URL, error) {
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
			rest = rest[:i]
		}
		address = scheme + "://" + rest
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "%q is not an address", tool.Truncate(address)).
			WithHint("write it whole, as https://example.com/page")
	}
	return u, nil
}
