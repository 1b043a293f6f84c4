package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"sync"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/tool"
)

// identify gives a call its ID, if the client names it: the same for the same Idempotency-Key, or the same ID, of the
// same token in the same folder, whatever session it comes in. What a token names is its own, so the ID
// that it says is never that of a call of somebody else.
func (a *toolRoutes) identify(r *http.Request, s *session.Session, c *protocol.CallRequest) error {
	if c.ID = cmp.Or(route.CallIDOf(r), c.ID); route.CallIDOf(r) != "" {
		return a.checkSame(r.Context(), *c)
	}
	login, overNetwork := route.LoginOf(r)
	kind, name := "key", r.Header.Get("Idempotency-Key")
	if c.ID != "" {
		if !overNetwork {
			return nil
		}
		kind, name = "id", c.ID
	}
	if name == "" {
		return nil
	}
	c.ID = NamedCall(a.kernel, login, s.Workspace(), kind, name)
	return a.checkSame(r.Context(), *c)
}

// NamedCall is the ID of a call that a token names, in a folder.
func NamedCall(k *kernel.Kernel, login route.Login, workspace, kind, name string) string {
	return "c" + k.Tokens.Derive("call", login.ID, workspace, kind, name)[:15]
}

// sentCalls is what clients sent with their Idempotency-Keys.
type sentCalls struct {
	mu   sync.Mutex
	sums map[string][sha256.Size]byte // by the call's ID
}

// maxSent is how many of them are remembered. What was forgotten is compared by its tool alone.
const maxSent = 20_000

// checkSame refuses a call under a key that was used for another one: it would be answered with what
// became of that.
func (a *toolRoutes) checkSame(ctx context.Context, c protocol.CallRequest) error {
	sum := sha256.Sum256([]byte(c.Name + "\x00" + c.Model + "\x00" + string(c.Args)))
	a.sent.mu.Lock()
	before, known := a.sent.sums[c.ID]
	if !known {
		if a.sent.sums == nil || len(a.sent.sums) >= maxSent {
			a.sent.sums = map[string][sha256.Size]byte{}
		}
		a.sent.sums[c.ID] = sum
	}
	a.sent.mu.Unlock()
	if known && before != sum {
		return usedForAnother()
	}
	if known {
		return nil
	}
	records, err := a.kernel.Journal.Read(ctx, journal.Query{Call: c.ID, Limit: 1})
	if err == nil && len(records) > 0 && records[0].Name != "" && records[0].Name != c.Name {
		return usedForAnother()
	}
	return err
}

func usedForAnother() error {
	return tool.Errorf("httpapi.call", tool.Conflict, "this Idempotency-Key was used for another call").
		WithHint("send the same call with it, or this one with a key of its own")
}
