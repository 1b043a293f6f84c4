package web

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"callgate/internal/daemon/apidoc"
	"callgate/internal/daemon/hosts"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// handler is all that the server serves: each request comes through the doors in this order.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	small := profiled()
	for pattern, role := range roles() {
		mux.Handle(pattern, s.withRole(role, slices.Contains(small, pattern), s.sessions.wrap(pattern)))
	}
	for pattern, d := range directRoutes() {
		isPart := pattern != protocol.RouteDirectServers && pattern != protocol.RouteDirectFind
		mux.Handle(pattern, s.withRole(d.role, isPart, s.serveDirect(d)))
	}
	for pattern, o := range otherNames() {
		mux.Handle(pattern, s.serveOther(o))
	}
	mux.Handle(protocol.RouteDocument, s.withRole(token.Viewer, true, http.HandlerFunc(s.serveDocument)))
	mux.HandleFunc(apidoc.RouteHealth, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc(apidoc.RouteReady, s.ready)
	mux.HandleFunc("GET "+loginPath, s.login)
	mux.HandleFunc("GET "+oidcPath, s.beginOIDC)
	mux.HandleFunc("GET "+backPath, s.endOIDC)
	mux.HandleFunc("POST "+logoutPath, s.logout)
	mux.Handle("/", s.withLogin(s.console))
	mux.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.authenticate(r, token.Viewer); err != nil {
			s.refuse(w, r, err)
			return
		}
		route.Fail(w, noRoute(r))
	})
	s.routes = mux
	return s.doors(mux)
}

func noRoute(r *http.Request) error {
	return tool.Errorf("web", tool.NotFound, "there is no %s %s", r.Method, tool.Truncate(r.URL.Path)).
		WithHint("GET /v1/openapi.json lists what there is")
}

// doors are what every request must come through, whoever sends it.
func (s *Server) doors(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "+
			"img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		if s.opt.TLS != nil {
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		switch {
		case !hosts.Allowed(r.Host, append([]string{s.name}, s.opt.Hosts...)):
			s.refuse(w, r, tool.Errorf("web", tool.Denied, "this server is not known by the name in the Host header").
				WithHint("if it is right, start the kernel with --host NAME"))
			return
		case origin.Check(r) != nil:
			s.refuse(w, r, tool.Errorf("web", tool.Denied, "pages of other origins may not have anything done here"))
			return
		}
		for _, name := range []string{
			protocol.KeyHeader, protocol.TokenHeader, protocol.CodeHeader, protocol.MCPClientHeader, protocol.MCPProfileHeader,
		} {
			r.Header.Del(name) // what these say is said by processes of this machine alone
		}
		// A copy: where the request itself has another body, the HTTP server reads what a stranger still sends before
		// it answers.
		r = r.WithContext(r.Context())
		r.Body = s.timed(w, r)
		next.ServeHTTP(&timedWriter{w, http.NewResponseController(w), s.opt.Limits.Write}, r)
	})
}

// withRole serves those whose token has a role; those of one profile only where there is no more than that.
func (s *Server) withRole(role token.Role, profiled bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := s.whoIs(r, role)
		if err == nil && who.Profile != "" && !profiled {
			err = aboutMore(who)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		s.serveAs(w, r, who, next)
	})
}

// serveAs serves a request of a token, until that ends.
func (s *Server) serveAs(w http.ResponseWriter, r *http.Request, who token.Token, next http.Handler) {
	ctx, done := s.requests.begin(r.Context(), who)
	defer done()
	next.ServeHTTP(w, route.WithLogin(r.WithContext(ctx), route.Login{Token: who, Workspace: s.opt.Workspace}))
}

// withLogin serves those who logged in, and asks the others to.
func (s *Server) withLogin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/static/") { // there is nothing of the kernel in them
			next.ServeHTTP(w, r)
			return
		}
		who, err := s.authenticate(r, token.Viewer)
		if err != nil {
			s.askToLogIn(w, r, err)
			return
		}
		s.serveAs(w, r, who, next)
	})
}
