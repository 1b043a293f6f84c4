package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/user"
	"sync"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/web"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// loginHeader says who asks, from node to node. Nobody else is believed who sends it.
const loginHeader = "Callgate-Forwarded-Login"

// private are the headers that never leave a node, beside those of one connection: what proves something there, what
// a process says of itself, and what only this package says.
func private() []string {
	return []string{
		protocol.KeyHeader, protocol.TokenHeader, protocol.CodeHeader, protocol.MCPClientHeader, protocol.MCPProfileHeader,
		loginHeader, proofHeader, "Authorization", "Cookie", "Connection", "Keep-Alive", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "X-Forwarded-For", "Forwarded",
	}
}

// asker is who asks, as one node tells another.
type asker struct {
	Token  string `json:"token,omitempty"`  // the ID of the token that came with the request; "": none did
	Folder string `json:"folder,omitempty"` // of an opening: the shared folder in which they may work
	// Of a process of the machine:
	User    string     `json:"user,omitempty"`
	PID     int        `json:"pid,omitempty"`
	Started uint64     `json:"started,omitempty"`
	Role    token.Role `json:"role,omitempty"`
}

// whoAsks finds who sends a request, and what of the authority that its route needs they have shown here.
func whoAsks(k *kernel.Kernel, r *http.Request, pattern string, given human) (asker, error) {
	if l, ok := route.LoginOf(r); ok {
		return asker{Token: l.ID}, nil
	}
	need, ok := web.RoleOf(pattern)
	if !ok {
		return asker{}, tool.Errorf("forward", tool.Denied, "this is not asked of another node").
			WithHint("do it on the machine of that node")
	}
	from := processOf(r)
	a := asker{User: userName(), PID: from.PID, Started: from.Started, Role: token.Operator}
	switch need {
	case token.Approver:
		if value := r.Header.Get(protocol.TokenHeader); value != "" {
			who, err := route.Approver(k, r, given.By)
			if err == nil { // not from inside the kernel, either
				err = k.Approvals.HasPersonAuthority(who, askersOf(k))
			}
			if err != nil {
				return asker{}, err
			}
			found, err := k.Tokens.Use(r.Context(), value, token.Approver)
			return asker{Token: found.ID}, err
		}
		who := route.Credential(r, given.By)
		who.Code = cmp.Or(given.Code, who.Code)
		a.Role = need
		if given.isNo() {
			return a, k.Approvals.HasHumanAuthority(who)
		}
		return a, k.Approvals.HasPersonAuthority(who, askersOf(k))
	case token.Admin:
		a.Role = need
		return a, k.Approvals.HasHumanAuthority(route.Credential(r, given.By))
	}
	return a, nil
}

// processOf is the process that sends a request.
func processOf(r *http.Request) route.Peer {
	from := route.PeerOf(r)
	if from.PID == 0 {
		from.PID = os.Getpid()
	}
	return from
}

// human is what the body of a request says of the person who decides.
type human struct {
	By      string `json:"by"`
	Code    string `json:"code"`
	Approve *bool  `json:"approve"` // of an approval; nil: another thing is decided
}

func (h human) isNo() bool { return h.Approve != nil && !*h.Approve }

// askersOf are those of this machine who could be behind what another node asks: a process that opened a session which
// no person opened, here or there. Unlike with consent to an app, the process that answers is one of them if it did.
func askersOf(k *kernel.Kernel) (askers []approval.Requester) {
	for _, r := range k.Sessions.Requesters() {
		if !r.Human && r.PID > 0 && !session.HasEnded(r) {
			askers = append(askers, r)
		}
	}
	return askers
}

// Tokens finds the tokens that all nodes share.
type Tokens interface {
	Find(ctx context.Context, id string) (token.Token, error)
}

// login is who asks, as this node judges it: a token is loaded here, and a process has the role that its node says.
func (a asker) login(ctx context.Context, tokens Tokens, from Node) (token.Token, error) {
	if a.Token != "" {
		if token.IsProcess(a.Token) {
			return token.Token{}, tool.Errorf("forward", tool.Denied, "a process is no token")
		}
		return tokens.Find(ctx, a.Token)
	}
	switch a.Role {
	case token.Operator, token.Approver, token.Admin:
	default:
		return token.Token{}, tool.Errorf("forward", tool.Denied, "the node %s does not say who asks", from.Name)
	}
	return token.Token{
		ID: token.OfProcess(from.ID, a.PID, a.Started), Name: cmp.Or(a.User, "the user") + "@" + from.Name, Role: a.Role,
	}, nil
}

// parseAsker reads who asks.
func parseAsker(text string) (a asker, err error) {
	if text == "" || json.Unmarshal([]byte(text), &a) != nil {
		return a, tool.Errorf("forward", tool.Denied, "the request does not say who asks")
	}
	return a, nil
}

// userName is the user whose processes use this kernel.
var userName = sync.OnceValue(func() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
})
