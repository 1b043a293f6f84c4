package web

import (
	"embed"
	"errors"
	"html/template"
	"net"
	"net/http"
	"strings"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/tool"
)

const (
	loginPath  = "/login"
	logoutPath = "/logout"
)

//go:embed login.html
var pages embed.FS

// cookieName has the port in it: cookies are of a host, and several kernels may share it.
func (s *Server) cookieName() string {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	name := "callgate_" + port
	if s.opt.TLS != nil {
		return "__Host-" + name
	}
	return name
}

func (s *Server) cookie(value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", HttpOnly: true, Secure: s.opt.TLS != nil,
		SameSite: http.SameSiteStrictMode, MaxAge: int(age.Seconds()),
	}
}

// login lets in whoever has a link that was not used.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead || r.Header.Get("Sec-Purpose") != "" { // a program looks at what a link leads to
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !s.isOwnName(r.Host) { // which the answer does not tell: whoever asks is a stranger
		s.askToLogIn(w, r, tool.Errorf("web", tool.Denied, "the link was opened under another name").
			WithHint("open it as it was printed, from callgate- on"))
		return
	}
	made, value, err := s.opt.Tokens.Login(r.Context(), r.URL.Query().Get("code"))
	if err != nil {
		s.refusals.add(r, err)
		s.askToLogIn(w, r, err)
		return
	}
	http.SetCookie(w, s.cookie(value, time.Until(made.Expires)))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// logout ends a login.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	who, err := s.authenticate(r, "viewer")
	if err == nil {
		err = s.opt.Tokens.Logout(r.Context(), who)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	http.SetCookie(w, s.cookie("", -time.Second))
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}

// askToLogIn answers a browser with the page that says how to log in, and a program with the error.
func (s *Server) askToLogIn(w http.ResponseWriter, r *http.Request, why error) {
	if !isSafe(r.Method) || r.Header.Get("Authorization") != "" || r.Header.Get(CSRFHeader) != "" {
		s.refuse(w, r, why)
		return
	}
	page, err := template.ParseFS(pages, "login.html")
	if err != nil {
		route.Fail(w, &tool.Error{Op: "web", Kind: tool.Internal, Message: "the page cannot be made", Err: err})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	var shown struct{ Said, Provider string }
	var e *tool.Error
	isLogin := strings.HasPrefix(r.URL.Path, loginPath)
	if (isLogin || hasCookie(r, s.cookieName())) && errors.As(why, &e) {
		shown.Said = e.Message
	}
	if s.opt.OIDC != nil {
		shown.Provider = s.opt.OIDC.Host()
	}
	_ = page.Execute(w, shown)
}

func hasCookie(r *http.Request, name string) bool {
	c, err := r.Cookie(name)
	return err == nil && hasToken(c.Value)
}
