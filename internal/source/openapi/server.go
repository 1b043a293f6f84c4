package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"callgate/tool"
)

// server is the address that an operation is sent to: the app file's, or else the first
// that the operation, its path or the document names.
func (b *builder) server(op *operation) (*url.URL, error) {
	if b.cfg.Server != "" {
		return parseServer(b.cfg.Server, nil)
	}
	lists := []openapi3.Servers{op.item.Servers, b.doc.Servers}
	if op.Servers != nil {
		lists = append([]openapi3.Servers{*op.Servers}, lists...)
	}
	for _, list := range lists {
		if len(list) > 0 && list[0] != nil {
			return b.resolveServer(list[0])
		}
	}
	return b.resolveServer(&openapi3.Server{URL: "/"})
}

// mainServer is the address that the credential may be sent to; nil: the app file must say
// it first.
func (b *builder) mainServer() (*url.URL, error) {
	if b.cfg.Server != "" {
		return parseServer(b.cfg.Server, nil)
	}
	main := &openapi3.Server{URL: "/"}
	if len(b.doc.Servers) > 0 && b.doc.Servers[0] != nil {
		main = b.doc.Servers[0]
	}
	u, err := b.resolveServer(main)
	if err != nil {
		return nil, err
	}
	if at := documentURL(b.cfg.Document); at != nil && sameHost(at, u) {
		return u, nil
	}
	if b.cfg.Credential != "" || len(b.cfg.Credentials) > 0 {
		b.problem("its server %s is said by nobody but the document, so the credential is not sent there; "+
			"write server: %s under %s%s if that is right", u, u, Setting, b.cfg.Name)
	}
	return nil, nil
}

// documentURL is where a document is, if it is no file.
func documentURL(place string) *url.URL {
	if !IsURL(place) {
		return nil
	}
	u, err := url.Parse(place)
	if err != nil {
		return nil
	}
	return u
}

// IsURL reports whether a document is reached over the network.
func IsURL(document string) bool {
	return strings.HasPrefix(document, "https://") || strings.HasPrefix(document, "http://")
}

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) }

// resolveServer reads a server of the document, with the defaults of its variables.
func (b *builder) resolveServer(s *openapi3.Server) (*url.URL, error) {
	text := s.URL
	for name, v := range s.Variables {
		if v != nil {
			text = strings.ReplaceAll(text, "{"+name+"}", v.Default)
		}
	}
	return parseServer(text, documentURL(b.cfg.Document))
}

// errNoServer is for a document that does not say where its API is.
var errNoServer = errors.New("it does not say where its API is")

// parseServer reads the address of a server; a relative one stands beside the document.
func parseServer(text string, beside *url.URL) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("its server %q is not a URL", tool.Truncate(text))
	}
	if beside != nil {
		u = beside.ResolveReference(u)
	}
	switch {
	case u.Host == "":
		return nil, errNoServer
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("its server %q is reached neither over https nor over http", tool.Truncate(text))
	case u.User != nil:
		return nil, fmt.Errorf("its server %s holds a user; name a credential in place of it", u.Redacted())
	case strings.ContainsAny(u.Host, "{}"):
		return nil, fmt.Errorf("its server %q has a variable without a default", tool.Truncate(text))
	}
	u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}
