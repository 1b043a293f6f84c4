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
func (c *Client) withNode(path string, query url.Values) url.Values {
	switch path {
	case "/v1/ping", "/v1/status", "/v1/stop", "/v1/release":
		return query
	}
	if c.node == "" {
		return query
	}
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("node", c.node)
	return query
}

// tellMissing tells a person which nodes did not give their part of a list.
func (c *Client) tellMissing(h http.Header) {
	missing := h.Get(operations.MissingHeader)
	if missing == "" || c.say == nil {
		return
	}
	for name := range strings.SplitSeq(missing, ", ") {
		if name, err := url.QueryUnescape(name); err == nil {
			c.say("the node " + name + " did not answer: what it has is not in this list")
		}
	}
}
