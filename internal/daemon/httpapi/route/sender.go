package route

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"os"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// peerContextKey is the key of a connection's peer in its context: the HTTP server
// offers no other way from an accepted connection to its requests.
type peerContextKey struct{}

// WithPeer adds the process at the other end of a connection to its context.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	id := Peer{} // a connection inside this process
	if _, unix := c.(*net.UnixConn); unix {
		id.PID = approval.Unknown
		if p, ok := peer.Of(c); ok && p.PID > 0 {
			id = Peer{p.PID, peer.Started(p.PID)}
		} else if peer.Reported {
			id.PID = approval.Hidden
		}
	}
	return context.WithValue(ctx, peerContextKey{}, id)
}

// Peer is a process, and when it began: a connection outlives the process that made
// it where another has inherited it, and then the number may be given to a third.
type Peer struct {
	PID     int
	Started uint64
}

// loginContextKey is the key of a request's login in its context.
type loginContextKey struct{}

// Login is whose token came with a request over the network.
type Login struct {
	token.Token
	Workspace string // the folder that is served; empty: none
}

// WithLogin adds to a request whose token came with it. Only the web face does so, when it has found that the
// token counts and may do what is asked.
func WithLogin(r *http.Request, l Login) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), loginContextKey{}, l))
}

// LoginOf returns whose token came with a request; false: it did not come over the network.
func LoginOf(r *http.Request) (Login, bool) {
	l, ok := r.Context().Value(loginContextKey{}).(Login)
	return l, ok
}

// callIDContextKey is the key of the ID of the call that a request asks for, in its context.
type callIDContextKey struct{}

// WithCallID adds the ID under which all nodes know the call that a request asks for. Only the forwarder does so.
func WithCallID(r *http.Request, id string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callIDContextKey{}, id))
}

// CallIDOf returns the ID that all nodes know a call by; "": its client did not name it, or there are no others.
func CallIDOf(r *http.Request) string {
	id, _ := r.Context().Value(callIDContextKey{}).(string)
	return id
}

// PeerOf is the process that made the connection of a request.
func PeerOf(r *http.Request) Peer {
	if _, ok := LoginOf(r); ok {
		return Peer{PID: approval.Hidden}
	}
	id, ok := r.Context().Value(peerContextKey{}).(Peer)
	if !ok {
		return Peer{PID: approval.Unknown}
	}
	return id
}

// PeerPID is the process that sent a request: 0 for this one.
func PeerPID(r *http.Request) int { return PeerOf(r).PID }

// Credential is the proof of a human's authority that a request carries.
func Credential(r *http.Request, by string) approval.Credential {
	if l, ok := LoginOf(r); ok { // whatever the request says of keys and names
		who := approval.Credential{By: cmp.Or(l.User, l.Name), PID: approval.Hidden}
		if l.Role.Includes(token.Approver) {
			who.Token, who.LoggedIn = l.Name, true
			if l.Bearer {
				who.Bearer = l.ID
			}
			if l.User != "" {
				who.Token += " of " + l.User
			}
		}
		return who
	}
	id := PeerOf(r)
	if id.PID > 0 && peer.Started(id.PID) != id.Started {
		id = Peer{PID: approval.Hidden} // it has ended: what its number says now is another's
	}
	return approval.Credential{
		Key: r.Header.Get(protocol.KeyHeader), By: by, PID: id.PID, Started: id.Started,
		Code: r.Header.Get(protocol.CodeHeader),
	}
}

// Approver is the credential of a request that says yes to something: with the
// human's key, or with a token for this.
func Approver(k *kernel.Kernel, r *http.Request, by string) (approval.Credential, error) {
	who := Credential(r, by)
	if l, ok := LoginOf(r); ok {
		if who.Token == "" {
			return who, tool.Errorf("httpapi", tool.Denied, "the token %s has the role %s, and this needs %s",
				l.Name, l.Role, token.Approver)
		}
		return who, nil
	}
	if value := r.Header.Get(protocol.TokenHeader); value != "" {
		found, err := k.Tokens.Use(r.Context(), value, token.Approver)
		if err != nil {
			return approval.Credential{}, err
		}
		if found.User != "" { // what is theirs is judged where requests come over the network
			return approval.Credential{}, tool.Errorf("httpapi", tool.Denied,
				"the token %s stands for the user %s, and counts over the network alone", found.Name, found.User)
		}
		who.Token = found.Name
	}
	return who, nil
}

// Owner is Approver for what the owner of a session may do, too: without the role of an approver it is the token
// itself that asks.
func Owner(k *kernel.Kernel, r *http.Request, by string) (approval.Credential, error) {
	if _, ok := LoginOf(r); ok {
		return Credential(r, by), nil
	}
	return Approver(k, r, by)
}

// Session returns the session that a request is made in. Only the process that
// opened it may use it: approvals count as asked by that process, and another
// process could otherwise answer its own question.
func Session(k *kernel.Kernel, r *http.Request) (*session.Session, error) {
	s, err := k.Sessions.Get(r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	return s, CheckOwner(s, r)
}

// CheckOwner refuses a request of a process that did not open the session.
func CheckOwner(s *session.Session, r *http.Request) error {
	if l, ok := LoginOf(r); ok {
		if s.Caller().Requester().Token == l.ID {
			return nil
		}
		return tool.Errorf("httpapi.session", tool.Denied, "the session %s is not one of the token %s", s.ID(), l.Name).
			WithHint("open one of your own; to go on with a conversation, resume it")
	}
	id := PeerOf(r)
	if id.PID == 0 {
		id.PID = os.Getpid()
	}
	owner := s.Caller().Requester()
	same := id.PID == owner.PID && (id.Started == owner.Started || id.Started == 0 || owner.Started == 0)
	if id.PID == approval.Unknown || same && owner.PID != approval.Hidden {
		return nil
	}
	return tool.Errorf("httpapi.session", tool.Denied, "the session %s belongs to process %d", s.ID(), s.PID()).
		WithHint("open one of your own; to go on with a conversation, resume it")
}
