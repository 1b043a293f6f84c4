// Package console serves the pages on which a person sees what a kernel does and answers what
// waits for them.
//
// # Law
//
//   - The console reaches the kernel only through internal/client and internal/protocol, with
//     the authority of the person who is logged in and no more. It decides nothing: what a
//     person may not do, the kernel refuses, and the page says it in the kernel's words. What
//     a page leaves out for a role is a courtesy.
//   - Every text that a page shows is escaped, and what has no shape in it is written out
//     (internal/visible), whoever wrote it: a tool, a model, a server, a file. A test reads the
//     templates and finds each place where a text is shown otherwise. The documentation is of the
//     program itself, and package manual says what comes of it.
//   - Nothing runs in a page that is not a file of this package: no inline script or style, no
//     address outside. What is changed is changed by POST, with the person's CSRF token.
//   - Every page works with links and forms alone; the script makes it quicker and live.
//   - No page reads a journal whole: it reads from the newest record back, as far as it shows.
package console

import (
	"context"
	"html/template"
	"net/http"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/console/manual"
	"callgate/tool"
)

// Options is what a console is made of.
type Options struct {
	// Client is that of the person who is logged in: their token, and no more authority. One
	// client for one login lets its sessions be used again.
	Client    func(*http.Request) *client.Client
	Person    func(*http.Request) Person
	Workspace string // where calls from pages are made, unless a page names another
}

// Person is who is logged in.
type Person struct {
	Name string
	Role string // viewer, operator, approver or admin; "": not told
	CSRF string // the token that forms carry
}

// MayCall reports whether a page offers calls. The kernel decides.
func (p Person) MayCall() bool { return p.Role != "viewer" }

// MayAnswer reports whether a page offers answers. The kernel decides.
func (p Person) MayAnswer() bool { return p.Role != "viewer" && p.Role != "operator" }

// Console serves the pages. Close ends its sessions and streams.
type Console struct {
	Options
	mux      *http.ServeMux
	pages    map[string]*template.Template
	files    *files
	sessions *sessions
	turns    *turns
	ended    context.Context
	end      context.CancelFunc
}

// New makes the console. It serves / and what is below.
func New(o Options) *Console {
	c := &Console{Options: o, mux: http.NewServeMux(), files: readFiles(), sessions: newSessions(), turns: newTurns()}
	c.ended, c.end = context.WithCancel(context.Background())
	c.pages = readPages(c.files)
	for pattern, serve := range c.routes() {
		c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				c.fail(w, r, err)
			}
		})
	}
	c.mux.Handle("GET /static/", c.files)
	return c
}

// Close ends the streams and the sessions that the console has open.
func (c *Console) Close() {
	c.end()
	c.turns.wait()
	c.sessions.close()
}

// The headers of every page. Nothing is loaded but the files of the console, and framed but widgets.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP serves a page.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, 4<<20)
	c.mux.ServeHTTP(w, r)
}

type serve func(w http.ResponseWriter, r *http.Request) error

func (c *Console) routes() map[string]serve {
	all := map[string]serve{"GET /{$}": c.now, "GET /live/{part}": c.live, "/": c.missing,
		"GET /docs": c.manual, "GET /docs/{name}": c.manual, "GET /docs/pictures/{name}": manual.Picture}
	for _, routes := range []map[string]serve{
		(&approvalPages{c}).routes(), (&questionPages{c}).routes(), (&proposalPages{c}).routes(), (&toolPages{c}).routes(),
		(&journalPages{c}).routes(), (&serverPages{c}).routes(), (&workPages{c}).routes(), (&rulePages{c}).routes(),
		(&modelPages{c}).routes(), (&conversationPages{c}).routes(), (&nodePages{c}).routes(),
	} {
		for pattern, serve := range routes {
			all[pattern] = serve
		}
	}
	return all
}

// manual shows a page of the documentation.
func (c *Console) manual(w http.ResponseWriter, r *http.Request) error {
	found, err := manual.Find(r.PathValue("name"))
	if err != nil {
		return err
	}
	return c.show(w, r, "manual", page{Title: found.Title, Nav: "docs", Data: found})
}

func (c *Console) missing(_ http.ResponseWriter, r *http.Request) error {
	return tool.Errorf("console", tool.NotFound, "there is no page %s", tool.Truncate(r.URL.Path)).
		WithHint("the pages are listed beside this text")
}

// workspace is the folder that a page is about.
func (c *Console) workspace(r *http.Request) string {
	if named := strings.TrimSpace(r.FormValue("workspace")); named != "" {
		return named
	}
	return c.Workspace
}

// session is the person's session in the folder that a page is about.
func (c *Console) session(r *http.Request) (*client.Session, error) {
	return c.sessions.open(r.Context(), c.Client(r), c.workspace(r), "", time.Now())
}

// back answers a form: with the page to see next.
func back(w http.ResponseWriter, r *http.Request, page string) error {
	http.Redirect(w, r, page, http.StatusSeeOther)
	return nil
}
