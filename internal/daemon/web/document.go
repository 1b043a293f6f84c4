package web

import (
	"maps"
	"net/http"

	"callgate/internal/daemon/apidoc"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/protocol"
	"callgate/internal/token"
)

// Document is the OpenAPI document of what is served over the network.
func Document() ([]byte, error) {
	all := maps.Clone(roles())
	for pattern, d := range directRoutes() {
		all[pattern] = d.role
	}
	all[protocol.RouteDocument] = token.Viewer
	return apidoc.Document(all)
}

// serveDocument gives the document, which is made once.
func (s *Server) serveDocument(w http.ResponseWriter, _ *http.Request) {
	data, err := s.document()
	if err != nil {
		route.Fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client may have left
}

// ready answers whether new clients should come here: the kernel has its tools, and is not being drained. Strangers are
// told no more than that.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	answer := route.NewKept()
	s.opt.API.ServeHTTP(answer, request(r, http.MethodGet, "/v1/status", nil))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if answer.Status != http.StatusOK || s.opt.Draining != nil && s.opt.Draining() != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("not ready\n"))
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}
