package web

import (
	"html/template"
	"net/http"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/web/oidclogin"
	"callgate/tool"
)

const (
	oidcPath = "/login/oidc"
	backPath = "/login/oidc/back"
)

// oidcCookie keeps a login, sealed, in the browser that began it. Unlike the login itself it is sent when another
// site leads the browser back here.
func (s *Server) oidcCookie(sealed string, age time.Duration) *http.Cookie {
	c := s.cookie(sealed, age)
	c.Name, c.SameSite = c.Name+"_oidc", http.SameSiteLaxMode
	return c
}

// beginOIDC sends a browser to the provider.
func (s *Server) beginOIDC(w http.ResponseWriter, r *http.Request) {
	if err := s.checkOIDC(r); err != nil {
		s.askToLogIn(w, r, err)
		return
	}
	scheme := "http://"
	if s.opt.TLS != nil {
		scheme = "https://"
	}
	at, sealed, err := s.opt.OIDC.Begin(r.Context(), scheme+r.Host+backPath)
	if err != nil {
		route.Fail(w, err)
		return
	}
	http.SetCookie(w, s.oidcCookie(sealed, oidclogin.LoginTime))
	http.Redirect(w, r, at, http.StatusSeeOther)
}

func (s *Server) checkOIDC(r *http.Request) error {
	switch {
	case s.opt.OIDC == nil:
		return noRoute(r)
	case !s.isOwnName(r.Host):
		return tool.Errorf("web", tool.Denied, "a browser logs in under the server's own name").
			WithHint("callgate console prints it")
	}
	return nil
}

// endOIDC lets in whoever comes back from the provider and may.
func (s *Server) endOIDC(w http.ResponseWriter, r *http.Request) {
	err := s.checkOIDC(r)
	cookie, missing := r.Cookie(s.oidcCookie("", 0).Name)
	if err == nil && missing != nil {
		err = tool.Errorf("web", tool.Denied, "this login was not begun in this browser").WithHint("begin it again")
	}
	if err != nil {
		s.refusals.add(r, err)
		s.askToLogIn(w, r, err)
		return
	}
	http.SetCookie(w, s.oidcCookie("", -time.Second))
	who, err := s.opt.OIDC.End(r.Context(), r.URL.Query(), cookie.Value)
	if err != nil {
		s.refusals.add(r, err)
		s.askToLogIn(w, r, err)
		return
	}
	made, value, err := s.opt.Tokens.LoginBy(r.Context(), who.Name, who.Role, who.Person)
	if err != nil {
		route.Fail(w, err)
		return
	}
	http.SetCookie(w, s.cookie(value, time.Until(made.Expires)))
	// Another site led the browser here, so it would not send the cookie with a redirect: a page of ours leads on.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = welcome.Execute(w, who.Name)
}

var welcome = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Logged in · Callgate</title>
<meta http-equiv="refresh" content="0; url=/"><link rel="stylesheet" href="/static/console.css"></head>
<body class="plain"><main><h1>Callgate</h1><p>{{.}} is logged in. <a href="/">Go on</a></p></main></body></html>
`))
