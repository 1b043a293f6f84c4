// Package access says what of others somebody sees who comes over the network.
//
// # Law
//
// Everything that somebody asked for is owned by them: sessions, conversations, approvals, questions, tasks, proposals,
// messages, records, results. Who has a token that stands for a user sees and touches what is that user's; what is
// another's does not exist for them. Tokens that stand for nobody are the kernel's own user's.
//
// An administrator sees of others who, when, which tool, how it stands and what it cost, and may stop it; never
// arguments, results or words, unless the kernel's own user says so (users: {admin_reads: contents}). Such a reading is
// on record.
//
// Every route is judged here, before its handler, by one table (routes.go). A route that is not in the table is closed.
// What comes by this machine's own socket is the kernel's own user's, who owns the state directory, and is not judged.
package access

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"callgate/internal/app/users"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/token"
	"callgate/internal/user"
	"callgate/tool"
)

// Guard judges requests. Make it with New.
type Guard struct {
	kernel *kernel.Kernel
	rules  map[string]judge
}

// judge answers a request, by the route's own handler or in its place.
type judge func(q *request, next route.Func) error

// New makes the guard of a kernel.
func New(k *kernel.Kernel) *Guard { return &Guard{k, judges()} }

// Routes lists the routes that the table has.
func Routes() []string {
	var all []string
	for pattern := range judges() {
		all = append(all, pattern)
	}
	return all
}

// Wrap has the requests of a route judged.
func (g *Guard) Wrap(pattern string, next route.Func) route.Func {
	judge := g.rules[pattern]
	if judge == nil {
		judge = closed
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		reader, overNetwork := g.Reader(r)
		if !overNetwork {
			return next(w, r)
		}
		return judge(&request{w, r, reader}, next)
	}
}

// Reader is who sends a request, and what they see.
type Reader struct {
	guard   *Guard
	login   route.Login
	user    string // as principals have it; empty: the kernel's own
	isAdmin bool
}

// Reader returns who sends a request; false: it did not come over the network, and its sender sees everything.
func (g *Guard) Reader(r *http.Request) (Reader, bool) {
	login, ok := route.LoginOf(r)
	return Reader{g, login, login.InPrincipal(), login.Role == token.Admin}, ok
}

// view is what somebody sees of something.
type view int

const (
	hidden   view = iota // it does not exist
	metadata             // that it is there, and how it stands
	whole
)

// sees says what a reader sees of what belongs to somebody, by the user's name in its principal.
func (b Reader) sees(owner string) view {
	switch {
	case owner == system && (b.user == "" || b.isAdmin):
		return whole
	case owner == system:
		return hidden
	case user.Of(owner) == b.user:
		return whole
	case !b.isAdmin:
		return hidden
	case b.readsContents():
		return whole
	}
	return metadata
}

// isOthers reports whether something belongs to another than the reader.
func (b Reader) isOthers(owner string) bool { return owner != system && user.Of(owner) != b.user }

// system owns the records of the kernel itself, which are about no call: for its own user, and for administrators.
const system = "the kernel"

// readsContents reports whether administrators read what others wrote. Rules that cannot be read say no.
func (b Reader) readsContents() bool {
	rules, err := users.Load(b.guard.kernel.Apps.UserFile())
	return err == nil && rules.AdminReads == users.Contents
}

// everybody stands for all users where a note names the owners.
const everybody = "@all users"

// note puts on record that an administrator reads what another wrote.
func (b Reader) note(r *http.Request, owners ...string) error {
	var names []string
	for _, o := range owners {
		names = append(names, cmp.Or(user.Name(o), itself))
	}
	note := fmt.Sprintf("%s with the token %s read contents of others (%s): %s %s", cmp.Or(b.login.User, itself),
		b.login.Name, strings.Join(names, ", "), r.Method, r.URL.EscapedPath())
	return b.guard.kernel.Journal.Append(journal.Record{Kind: journal.Noted, Note: tool.TruncateTo(note, 1000)})
}

// itself is the kernel's own user, for people.
const itself = "the kernel's own user"

// request is one that is judged.
type request struct {
	w  http.ResponseWriter
	r  *http.Request
	by Reader
}

func (q *request) ctx() context.Context { return q.r.Context() }

// absent is the answer for what is another's, and for what is not there: nobody can tell which.
func absent(what, id string) error {
	return tool.Errorf("httpapi", tool.NotFound, "there is no %s %q", what, tool.Truncate(id))
}

// contentsDenied is the answer to an administrator who would read what another wrote.
func contentsDenied(owner string) error {
	return tool.Errorf("httpapi", tool.Denied, "it is what %s wrote or was answered, and administrators see who, when "+
		"and how it stands alone", cmp.Or(user.Name(owner), itself)).
		WithHint("the kernel's own user allows it with users: {admin_reads: contents} in their own app file")
}

// speechDenied is the answer to an administrator who would act in another's place.
func speechDenied(owner string) error {
	return tool.Errorf("httpapi", tool.Denied, "only %s speaks and decides here", cmp.Or(user.Name(owner), itself)).
		WithHint("the kernel's own user does it with the command line")
}

// seesEverything reports whether nothing is hidden from a reader: there are no users beside the kernel's own.
func (b Reader) seesEverything(ctx context.Context) (bool, error) {
	if b.user != "" {
		return false, nil
	}
	others, err := b.guard.kernel.Tokens.Users.Any(ctx)
	return !others, err
}

// closed is for routes about everybody: the kernel's own user's tokens, and administrators.
func closed(q *request, next route.Func) error {
	if q.by.user == "" || q.by.isAdmin {
		return next(q.w, q.r)
	}
	for _, name := range []string{"id", "name", "call", "ref"} {
		if id := q.r.PathValue(name); id != "" {
			return absent("such thing", id)
		}
	}
	return tool.Errorf("httpapi", tool.Denied, "this is about everybody, and the token %s stands for %s alone",
		q.by.login.Name, q.by.login.User).WithHint("an administrator may see it")
}

// shared is for routes that show nothing of anybody.
func shared(q *request, next route.Func) error { return next(q.w, q.r) }

// everybodys is for routes that show what everybody wrote.
func everybodys(q *request, next route.Func) error {
	if q.by.user != "" && !q.by.isAdmin {
		return closed(q, next)
	}
	everything, err := q.by.seesEverything(q.ctx())
	switch {
	case err != nil:
		return err
	case everything:
		return next(q.w, q.r)
	case !q.by.isAdmin || !q.by.readsContents():
		return tool.Errorf("httpapi", tool.Denied, "it shows what all users wrote").
			WithHint("the kernel's own user has it with the command line, or allows it to administrators with " +
				"users: {admin_reads: contents} in their own app file")
	}
	if err := q.by.note(q.r, everybody); err != nil {
		return err
	}
	return next(q.w, q.r)
}
