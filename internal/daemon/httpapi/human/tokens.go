package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	"callgate/internal/token"
)

// tokenRoutes keeps tokens, and gives out the codes that a person types.
type tokenRoutes struct{ kernel *kernel.Kernel }

func (a *tokenRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteTokens:           a.tokens,
		protocol.RouteCreateToken:      a.create,
		protocol.RouteRevokeToken:      a.revoke,
		protocol.RouteChallenge:        a.challenge,
		protocol.RouteConsentChallenge: a.consentChallenge,
	}
}

func (a *tokenRoutes) challenge(w http.ResponseWriter, r *http.Request) error {
	who, err := route.Approver(a.kernel, r, "")
	if err != nil {
		return err
	}
	code, err := a.kernel.Approvals.Challenge(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.Challenge{Code: code})
}

func (a *tokenRoutes) consentChallenge(w http.ResponseWriter, r *http.Request) error {
	who, err := route.Approver(a.kernel, r, "")
	if err != nil {
		return err
	}
	code, err := a.kernel.ChallengeConsent(who)
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.Challenge{Code: code})
}

func (a *tokenRoutes) tokens(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Tokens.List(r.Context(), route.Credential(r, ""))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Token))
}

func (a *tokenRoutes) create(w http.ResponseWriter, r *http.Request) error {
	var in protocol.CreateToken
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	made, value, err := a.kernel.Tokens.Create(r.Context(), who, token.Token{
		Name: in.Name, Role: token.Role(in.Role), Profile: in.Profile, Expires: in.Expires,
		Person: token.Person{User: in.User, Teams: in.Teams},
	})
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.CreatedToken{Token: wire.Token(made), Value: value})
}

func (a *tokenRoutes) revoke(w http.ResponseWriter, r *http.Request) error {
	ended, err := a.kernel.Tokens.Revoke(r.Context(), route.Credential(r, ""), r.PathValue("name"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Token(ended))
}
