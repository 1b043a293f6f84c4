package approval

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// A code is short because a person types it, so it lasts minutes, and few tries.
const (
	codeLength   = 4
	codeLifetime = 10 * time.Minute
	codeTries    = 3
	maxCodes     = 1000
)

// codeLetters has no letters that look alike; 32 of them, so that each byte of
// chance gives every letter as often.
const codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

// consent is what a code is for that is no approval's.
const consent = ""

// codes are the codes that were given out and not yet used up.
type codes struct {
	mu   sync.Mutex
	open map[codeKey]code
}

// codeKey is what a code is for, and which process may use it.
type codeKey struct {
	approval string // or consent
	pid      int
	started  uint64
}

type code struct {
	text  string
	until time.Time
	tries int
}

// make returns a new code. An earlier one for the same no longer counts.
func (c *codes) make(key codeKey) string {
	letters := make([]byte, codeLength)
	_, _ = rand.Read(letters) // it never fails
	for i := range letters {
		letters[i] = codeLetters[int(letters[i])%len(codeLetters)]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, one := range c.open {
		if len(c.open) >= maxCodes || time.Now().After(one.until) {
			delete(c.open, k)
		}
	}
	if c.open == nil {
		c.open = map[codeKey]code{}
	}
	c.open[key] = code{text: string(letters), until: time.Now().Add(codeLifetime)}
	return string(letters)
}

// check reports an answer without its code.
func (c *codes) check(op string, key codeKey, typed string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, ok := c.open[key]
	if !ok || time.Now().After(one.until) {
		return tool.Errorf(op, tool.Denied, "this needs a code that a person reads and types at the terminal").
			WithHint("callgate shows it and asks for it; a program of your own uses a token: " + makeToken)
	}
	typed = strings.ToUpper(strings.TrimSpace(typed))
	if subtle.ConstantTimeCompare([]byte(typed), []byte(one.text)) == 1 {
		return nil
	}
	one.tries++
	c.open[key] = one
	if one.tries >= codeTries {
		delete(c.open, key)
	}
	return tool.Errorf(op, tool.Denied, "that is not the code that was shown").WithHint("give the command again")
}

// Challenge returns the code that a person types at the terminal before their yes
// to a request counts; empty if none is needed. It is an error if a yes of theirs
// would not count.
func (q *Queue) Challenge(ctx context.Context, who Credential, id string) (string, error) {
	r, err := q.store.Get(ctx, id)
	if err != nil {
		return "", err
	}
	if err := mustBePending(r); err != nil {
		return "", err
	}
	missing, err := q.authority.mayAnswer(who, r, true)
	if err != nil || missing == nothing {
		return "", err
	}
	return q.authority.codes.make(codeKey{id, who.PID, who.Started}), nil
}

// ChallengeConsent is Challenge for what HasPersonAuthority guards.
func (q *Queue) ChallengeConsent(who Credential, askers []Requester) (string, error) {
	missing, err := q.authority.mayConsent(who, askers)
	if err != nil || missing == nothing {
		return "", err
	}
	return q.authority.codes.make(codeKey{consent, who.PID, who.Started}), nil
}

// HasPersonAuthority returns an error unless the credential shows a person, or a
// token of theirs: what an app or a server may do is theirs to accept. The askers
// are those of the open sessions.
func (q *Queue) HasPersonAuthority(who Credential, askers []Requester) error {
	missing, err := q.authority.mayConsent(who, askers)
	if err != nil || missing == nothing {
		return err
	}
	return q.authority.codes.check("approval.HasPersonAuthority", codeKey{consent, who.PID, who.Started}, who.Code)
}

// MayLoosen returns an error unless the credential could say yes to what a session
// asks: only then may the session do more without asking. The askers' own processes,
// and the tools of the kernel, may not.
func (q *Queue) MayLoosen(who Credential, asker Requester) error {
	missing, err := q.authority.mayLoosen(who, asker)
	if err != nil || missing == nothing {
		return err
	}
	return q.authority.codes.check("approval.MayLoosen", codeKey{consent, who.PID, who.Started}, who.Code)
}

// MayReply returns an error unless the credential could answer a request of an asker's: a
// question of an agent is answered by who may answer its approvals. id is what the code
// was made for, by ChallengeReply; yes is false for a no, which needs less.
//
// A bearer may answer a question of an agent that works for them: a reply is information and approves nothing.
func (q *Queue) MayReply(who Credential, asker Requester, id string, yes bool) error {
	who.Bearer = ""
	missing, err := q.authority.mayAnswer(who, Request{Asker: asker}, yes)
	if err != nil || missing == nothing {
		return err
	}
	return q.authority.codes.check("approval.MayReply", codeKey{id, who.PID, who.Started}, who.Code)
}

// ChallengeReply is Challenge for what MayReply guards.
func (q *Queue) ChallengeReply(who Credential, asker Requester, id string) (string, error) {
	who.Bearer = ""
	missing, err := q.authority.mayAnswer(who, Request{Asker: asker}, true)
	if err != nil || missing == nothing {
		return "", err
	}
	return q.authority.codes.make(codeKey{id, who.PID, who.Started}), nil
}

// Belongs reports whether a process is of the family of an asker that is no person.
func (q *Queue) Belongs(pid int, askers []Requester) bool {
	for _, asker := range askers {
		if !asker.Human && q.authority.belongs(pid, asker) {
			return true
		}
	}
	return false
}
