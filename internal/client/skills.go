package client

import (
	"context"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
)

// Skills lists the skills that the session has, or could have.
func (s *Session) Skills(ctx context.Context) ([]protocol.FoundSkill, error) {
	var list []protocol.FoundSkill
	return list, s.client.get(ctx, s.path("/skills"), nil, &list)
}

// TrustSkill sends a human's word on a skill. It needs the human's key.
func (s *Session) TrustSkill(ctx context.Context, name string, t protocol.SkillTrust) error {
	return s.client.do(ctx, http.MethodPost, s.path("/skills/"+url.PathEscape(name)+"/trust"), nil, t, nil)
}
