package forward

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"callgate/internal/daemon/httpapi/route"
)

// opened are the sessions that clients of other nodes have open here. No process at the other end tells by its end
// that one is not needed: it is closed when nobody used it for a while, or when the node of its client is gone.
type opened struct {
	mu   sync.Mutex
	open map[string]*openedSession
}

type openedSession struct {
	login route.Login
	from  Node
	busy  int
	last  time.Time
}

// serve answers a request of a client of another node, and notes which sessions it opens and uses.
func (o *opened) serve(w http.ResponseWriter, r *http.Request, api http.Handler, p placement, from Node) error {
	if p.how != opening {
		defer o.use(r.PathValue(p.id))()
		api.ServeHTTP(w, r)
		return nil
	}
	answer := route.NewKept()
	api.ServeHTTP(answer, r)
	if id := answer.ID(); id != "" {
		login, _ := route.LoginOf(r)
		o.mu.Lock()
		if o.open == nil {
			o.open = map[string]*openedSession{}
		}
		o.open[id] = &openedSession{login: login, from: from, last: time.Now()}
		o.mu.Unlock()
	}
	answer.CopyTo(w)
	return nil
}

// use notes that a session is used, until what it returns is called.
func (o *opened) use(id string) (done func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one := o.open[id]
	if one == nil {
		return func() {}
	}
	one.busy++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		one.busy--
		one.last = time.Now()
	}
}

// take forgets the sessions that are to be closed, and returns them.
func (o *opened) take(idle time.Duration, nodes []Node) map[string]*openedSession {
	o.mu.Lock()
	defer o.mu.Unlock()
	ended := map[string]*openedSession{}
	for id, one := range o.open {
		lives := slices.ContainsFunc(nodes, func(n Node) bool { return n.ID == one.from.ID && n.Epoch == one.from.Epoch })
		if !lives || one.busy == 0 && time.Since(one.last) >= idle {
			ended[id] = one
			delete(o.open, id)
		}
	}
	return ended
}

// sweep closes what is not needed any more, until ctx ends.
func (s *listener) sweep(ctx context.Context) {
	every := time.NewTicker(min(s.opt.Idle/4, 10*time.Second))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		s.sweepOnce(ctx)
	}
}

func (s *listener) sweepOnce(ctx context.Context) {
	nodes, err := s.members.living(ctx)
	if err != nil {
		return
	}
	for id, one := range s.opened.take(s.opt.Idle, nodes) {
		r, err := http.NewRequestWithContext(ctx, http.MethodDelete, "/v1/sessions/"+url.PathEscape(id), http.NoBody)
		if err == nil {
			s.opt.API.ServeHTTP(route.NewKept(), route.WithLogin(r, one.login))
		}
	}
}
