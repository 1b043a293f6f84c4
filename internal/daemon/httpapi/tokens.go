package httpapi

import (
	"net/http"

	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/protocol"
	"callgate/internal/token"
)

// tokenRoutes keeps tokens, and gives out the codes that a person types.
type tokenRoutes struct{ *api }

func (a *tokenRoutes) routes() map[string]route {
	return map[string]route{
		protocol.RouteTokens:           a.tokens,
		protocol.RouteCreateToken:      a.create,
		protocol.RouteRevokeToken:      a.revoke,
		protocol.RouteChallenge:        a.challenge,
		protocol.RouteConsentChallenge: a.consentChallenge,
	}
}

// approver is the credential of a request that says yes to something: with the
// human's key, or with a token for this.
func (a *api) approver(r *http.Request, by string) (approval.Credential, error) {
	who := credential(r, by)
	if value := r.Header.Get(protocol.TokenHeader); value != "" {
		found, err := a.kernel.Tokens.Use(r.Context(), value, token.Approver)
		if err != nil {
			return approval.Credential{}, err
		}
		who.Token = found.Name
	}
	return who, nil
}

func (a *tokenRoutes) challenge(w http.ResponseWriter, r *http.Request) error {
	who, err := a.approver(r, "")
	if err != nil {
		return err
	}
	code, err := a.kernel.Approvals.Challenge(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	return answer(w, protocol.Challenge{Code: code})
}

func (a *tokenRoutes) consentChallenge(w http.ResponseWriter, r *http.Request) error {
	who, err := a.approver(r, "")
	if err != nil {
		return err
	}
	code, err := a.kernel.ChallengeConsent(who)
	if err != nil {
		return err
	}
	return answer(w, protocol.Challenge{Code: code})
}

func (a *tokenRoutes) tokens(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Tokens.List(r.Context(), credential(r, ""))
	if err != nil {
		return err
	}
	return answer(w, wire.List(list, wire.Token))
}

func (a *tokenRoutes) create(w http.ResponseWriter, r *http.Request) error {
	var in protocol.CreateToken
	if err := read(r, &in); err != nil {
		return err
	}
	who, err := a.approver(r, in.By)
	if err != nil {
		return err
	}
	made, value, err := a.kernel.Tokens.Create(r.Context(), who, token.Token{
		Name: in.Name, Role: token.Role(in.Role), Profile: in.Profile, Expires: in.Expires,
	})
	if err != nil {
		return err
	}
	return answer(w, protocol.CreatedToken{Token: wire.Token(made), Value: value})
}

func (a *tokenRoutes) revoke(w http.ResponseWriter, r *http.Request) error {
	ended, err := a.kernel.Tokens.Revoke(r.Context(), credential(r, ""), r.PathValue("name"))
	if err != nil {
		return err
	}
	return answer(w, wire.Token(ended))
}
