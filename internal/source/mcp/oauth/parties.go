package oauth

import (
	"fmt"
	"net/url"
	"strings"

	"callgate/tool"
)

// # The parties of a login
//
// An MCP server names its authorization server, and the authorization server names its endpoints. A malicious server
// can therefore name the login page of a service that the person trusts and a token endpoint of its own: the person
// logs in at the service, and the server receives the service's token. A registered client's secret leaks the same way.
// So a login is bound to its parties: the issuer, the origin of the page where the person logs in, and the origin to
// which the code and the client's secret go.
//
//   - The first login pins the parties and shows them.
//   - A person is asked before a login whose parties have different origins, or differ from those of the last login.
//     The question names them. A login made by an earlier version has no recorded issuer and asks once.
//   - An app file may name the issuer. Then every other issuer is refused, and no answer overrides that. Different
//     origins need no question at the first login then, because the issuer itself names its endpoints.
//   - The secret of a registered client requires a named issuer.
//   - Requests to the token endpoint follow no redirect.

// Parties are those that take part in a login, beside the person and the MCP server.
type Parties struct {
	Issuer    string `json:"issuer"`
	Authorize string `json:"authorize"` // the origin of the page where the person logs in
	Token     string `json:"token"`     // the origin to which the code goes
}

// Key names the parties, for a person's yes to exactly these.
func (p Parties) Key() string { return strings.Join([]string{p.Issuer, p.Authorize, p.Token}, " ") }

// Question is the error of a login that needs a person's yes to its parties.
type Question struct {
	Parties Parties
	Text    string
}

// Error returns the question.
func (q *Question) Error() string { return q.Text }

// check refuses a login whose parties are not those that the app file, the last login or a person names.
func (r Request) check(p Parties) error {
	last := Parties{}
	if r.Last != nil {
		last = r.Last.Parties
	}
	if r.Issuer != "" && !sameIssuer(r.Issuer, p.Issuer) {
		return tool.Errorf(op, tool.Denied, "the MCP server %s wants a login of the issuer %s, and its app file names the "+
			"issuer %s", r.Server, tool.Truncate(p.Issuer), r.Issuer).
			WithHint("if the server has moved, and you trust the new issuer, write it to oauth.issuer in the app file")
	}
	if r.Accepted == p.Key() {
		return nil
	}
	why := ""
	switch {
	case r.Last != nil && last == Parties{}:
		why = "The login to " + r.Server + " was made by an earlier version, which did not keep where it goes."
	case r.Last != nil && last != p:
		why = fmt.Sprintf("The login to %s goes elsewhere than the last one: then you logged in at %s, the code went to %s, "+
			"and the issuer was %s.", r.Server, host(last.Authorize), host(last.Token), tool.Truncate(last.Issuer))
	case r.Last == nil && r.Issuer == "" && (p.Authorize != p.Token || p.Authorize != origin(p.Issuer)):
		why = "The login to " + r.Server + " goes to several hosts."
	default:
		return nil
	}
	goes := fmt.Sprintf("You log in at %s, the code goes to %s", host(p.Authorize), host(p.Token))
	if p.Authorize == p.Token {
		goes = "You log in at " + host(p.Authorize) + ", and the code goes there too"
	}
	text := fmt.Sprintf("%s %s. The issuer is %s. Whoever gets the code can act as you at the service where you log in.",
		why, goes, tool.Truncate(p.Issuer))
	return (&tool.Error{Op: op, Kind: tool.Denied, Message: text, Err: &Question{p, text}}).
		WithHint("run callgate mcp login %s at a terminal and answer there, or name the issuer that you trust in the "+
			"server's oauth block: issuer: %s", r.Server, tool.Truncate(p.Issuer))
}

// sameIssuer ignores a slash at the end, as the check of the issuer's own description does.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// origin is the scheme, host and port of an address, in one spelling; empty if it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	at := strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname())
	port := u.Port()
	if port == "" || port == "443" && strings.EqualFold(u.Scheme, "https") || port == "80" && strings.EqualFold(u.Scheme, "http") {
		return at
	}
	return at + ":" + port
}

// host is an origin as a person is shown it.
func host(origin string) string { return strings.TrimPrefix(tool.Truncate(origin), "https://") }
