package page

import (
	"strings"

	"callgate/tool"
)

// isProxyError reports whether a code is an error of the proxy, not of the server.
func isProxyError(code string) bool {
	return strings.Contains(code, "TUNNEL_CONNECTION_FAILED") || strings.Contains(code, "PROXY") ||
		strings.Contains(code, "EMPTY_RESPONSE")
}

// describeCode explains Chromium's code of a network error, without its net::ERR_.
func describeCode(code string) (kind tool.Kind, what, hint string) {
	const again = "try again, or another address"
	switch {
	case code == "ABORTED":
		return tool.Failed, "the server sent no page, or the page stopped loading", "read what is there with web.browse.read"
	case strings.HasPrefix(code, "CERT_"), strings.HasPrefix(code, "SSL_"), strings.HasPrefix(code, "BAD_SSL"):
		words := strings.ToLower(strings.ReplaceAll(code, "_", " "))
		return tool.Failed, "its certificate cannot be trusted, or its encryption is broken: " + words,
			"check the host name; nothing here opens a site whose certificate is wrong"
	case code == "NAME_NOT_RESOLVED":
		return tool.NotFound, "there is no such host", "check the spelling of the address"
	case code == "CONNECTION_REFUSED":
		return tool.Failed, "nothing listens there", "check the port, and that the server runs"
	case strings.HasPrefix(code, "CONNECTION_"), code == "SOCKET_NOT_CONNECTED", code == "EMPTY_RESPONSE",
		code == "NETWORK_CHANGED":
		return tool.Failed, "the connection broke", again
	case strings.Contains(code, "TIMED_OUT"):
		return tool.Timeout, "the server did not answer in time", again
	case code == "TOO_MANY_REDIRECTS":
		return tool.Failed, "it redirects in a circle", "the site may want a login or cookies; begin at its front page"
	case code == "BLOCKED_BY_CLIENT", code == "BLOCKED_BY_ADMINISTRATOR", code == "UNSAFE_PORT":
		return tool.Denied, "it may not be opened", "use another address"
	case code == "INVALID_URL", code == "UNKNOWN_URL_SCHEME", code == "DISALLOWED_URL_SCHEME":
		return tool.Invalid, "it is not an address that can be opened", "give an http or https address"
	case strings.HasPrefix(code, "BLOCKED_BY"):
		return tool.Denied, "the site does not allow it to be shown this way", "open the address by itself"
	default:
		return tool.Failed, "it did not load", again
	}
}
