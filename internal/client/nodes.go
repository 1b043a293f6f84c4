package client

import (
	"maps"
	"net/http"
	"net/url"
	"strings"

	"callgate/internal/protocol/operations"
)

// withNode adds to what a request asks for the node that is asked, if one was chosen. What a client says to the kernel
// that it is connected to, as such, names none.
func withNode(node, path string, query url.Values) url.Values {
	switch path {
	case "/v1/ping", "/v1/status", "/v1/stop", "/v1/release":
		return query
	}
	if node == "" {
		return query
	}
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("node", node)
	return query
}

// tellMissing tells a person which nodes did not give their part of a list.
func tellMissing(say func(string), h http.Header) {
	missing := h.Get(operations.MissingHeader)
	if missing == "" || say == nil {
		return
	}
	for name := range strings.SplitSeq(missing, ", ") {
		if name, err := url.QueryUnescape(name); err == nil {
			say("the node " + name + " did not answer: what it has is not in this list")
		}
	}
}
