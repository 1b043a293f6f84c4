package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"net/http"
	"strings"
	"sync"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/tool"
)

// idempotentID is the ID of the call that a client names with an Idempotency-Key: the same for the same
// key of the same token in the same folder, whatever session it comes in.
func idempotentID(r *http.Request, s *session.Session, key string) string {
	login, _ := route.LoginOf(r)
	sum := sha256.Sum256([]byte(login.ID + "\x00" + s.Workspace() + "\x00" + key))
	return "c" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:15])
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
