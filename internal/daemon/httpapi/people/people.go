// Package people serves who the users of a kernel are, what they have used, and ends what they came in with.
//
// The law: who has a human's authority is told of everybody, and never what they wrote. Who comes with a token of a
// user is told of that user.
package people

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/kernel/users"
	"callgate/internal/protocol/operations"
	"callgate/internal/token"
	"callgate/internal/user"
	"callgate/tool"
)

type peopleRoutes struct{ kernel *kernel.Kernel }

// Routes are the routes of users.
func Routes(k *kernel.Kernel) map[string]route.Func {
	a := &peopleRoutes{k}
	all := map[string]route.Func{operations.RouteUsers: a.list, operations.RouteUser: a.show, operations.RouteMe: a.me,
		operations.RouteRevokeUser: a.revoke}
	maps.Copy(all, (&secretRoutes{k}).routes())
	return all
}

func (a *peopleRoutes) list(w http.ResponseWriter, r *http.Request) error {
	tokens, err := a.kernel.Tokens.List(r.Context(), route.Credential(r, ""))
	if err != nil {
		return err
	}
	known, err := a.kernel.Tokens.Users.List(r.Context())
	if err != nil {
		return err
	}
	for _, t := range tokens { // somebody has a token, and did not come yet
		if t.User != "" && !slices.ContainsFunc(known, func(u users.User) bool { return u.User == t.User }) {
			known = append(known, users.User{Person: t.Person})
		}
	}
	has, err := a.counts(r)
	if err != nil {
		return err
	}
	list := make([]operations.User, len(known))
	for i, u := range known {
		if list[i], err = a.body(r, u, tokens, has); err != nil {
			return err
		}
	}
	return route.Answer(w, list)
}

func (a *peopleRoutes) show(w http.ResponseWriter, r *http.Request) error {
	tokens, err := a.kernel.Tokens.List(r.Context(), route.Credential(r, ""))
	if err != nil {
		return err
	}
	return a.answer(w, r, r.PathValue("name"), tokens)
}

// me needs no authority: who asks has a token of that user.
func (a *peopleRoutes) me(w http.ResponseWriter, r *http.Request) error {
	login, ok := route.LoginOf(r)
	if !ok || login.User == "" {
		return tool.Errorf("httpapi", tool.Invalid,
			"this tells who comes with a token of a user, and you are the kernel's own").
			WithHint("callgate users lists the others; what you spend is in callgate stats")
	}
	return a.answer(w, r, login.User, []token.Token{login.Token})
}

// revoke ends everything with which a user comes in: tokens, logins, and what a provider gave them until now.
func (a *peopleRoutes) revoke(w http.ResponseWriter, r *http.Request) error {
	who, name := route.Credential(r, ""), r.PathValue("name")
	tokens, err := a.kernel.Tokens.List(r.Context(), who)
	if err != nil {
		return err
	}
	if _, err := a.find(r, name, tokens); err != nil {
		return err
	}
	// First, so that nothing of a provider comes in meanwhile.
	if err := a.kernel.Tokens.Users.Revoke(r.Context(), name); err != nil {
		return err
	}
	var failed []error
	for _, one := range tokens {
		if one.User != name || !one.Revoked.IsZero() {
			continue
		}
		if _, err := a.kernel.Tokens.Revoke(r.Context(), who, one.ID); tool.KindOf(err) != tool.NotFound {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if tokens, err = a.kernel.Tokens.List(r.Context(), who); err != nil {
		return err
	}
	return a.answer(w, r, name, tokens)
}

// find returns what is known of a user, who was seen or has a token.
func (a *peopleRoutes) find(r *http.Request, name string, tokens []token.Token) (found users.User, err error) {
	known, err := a.kernel.Tokens.Users.List(r.Context())
	if err != nil {
		return found, err
	}
	at := slices.IndexFunc(known, func(u users.User) bool { return u.User == name })
	held := slices.IndexFunc(tokens, func(t token.Token) bool { return t.User == name })
	switch {
	case name != "" && at >= 0:
		return known[at], nil
	case name != "" && held >= 0:
		return users.User{Person: tokens[held].Person}, nil
	}
	return found, tool.Errorf("httpapi", tool.NotFound, "there is no user %q", tool.Truncate(name)).
		WithHint("callgate users lists them")
}

func (a *peopleRoutes) answer(w http.ResponseWriter, r *http.Request, name string, tokens []token.Token) error {
	found, err := a.find(r, name, tokens)
	if err != nil {
		return err
	}
	has, err := a.counts(r)
	if err != nil {
		return err
	}
	body, err := a.body(r, found, tokens, has)
	if err != nil {
		return err
	}
	return route.Answer(w, body)
}

// counted is how much somebody has here.
type counted struct{ sessions, conversations int }

func (a *peopleRoutes) counts(r *http.Request) (map[string]counted, error) {
	has := map[string]counted{}
	for _, id := range a.kernel.Sessions.IDs() {
		if s, err := a.kernel.Sessions.Get(id); err == nil {
			name := user.Name(s.Principal().User)
			c := has[name]
			c.sessions++
			has[name] = c
		}
	}
	list, err := a.kernel.Conversations.List(r.Context(), 0)
	for _, one := range list {
		name := user.Name(one.User)
		c := has[name]
		c.conversations++
		has[name] = c
	}
	return has, err
}

func (a *peopleRoutes) body(
	r *http.Request, u users.User, tokens []token.Token, has map[string]counted,
) (operations.User, error) {
	b := operations.User{
		Name: u.User, FullName: u.FullName, Teams: u.Teams, First: u.First, Last: u.Last, Revoked: u.Revoked,
		Sessions: has[u.User].sessions, Conversations: has[u.User].conversations,
	}
	now := time.Now()
	for _, t := range tokens {
		switch {
		case t.User != u.User || t.Expired(now):
			continue
		case t.Login:
			b.Logins++
		default:
			b.Tokens++
		}
		if !slices.Contains(b.Roles, string(t.Role)) {
			b.Roles = append(b.Roles, string(t.Role))
		}
	}
	usage, err := a.kernel.Tokens.Users.Limits.Usage(r.Context(), u.User)
	for _, one := range usage {
		used, most := float64(one.Used), float64(one.Most)
		if one.Kind.IsMoney() {
			used, most = used/1e6, most/1e6
		}
		b.Usage = append(b.Usage, operations.Usage{
			Of: one.Of, Name: one.Name, Limit: string(one.Kind), Used: used, Most: most, Until: one.Until,
		})
	}
	return b, err
}
