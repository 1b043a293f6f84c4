// Package learning serves what searches taught, to whoever has the session and nobody else, and measures ways to
// search on it.
package learning

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/protocol/operations"
	"callgate/internal/search/learned"
	"callgate/tool"
)

// learningRoutes list and forget learned requests.
type learningRoutes struct{ kernel *kernel.Kernel }

// Routes are the routes of learned requests.
func Routes(k *kernel.Kernel) map[string]route.Func {
	a := &learningRoutes{k}
	return map[string]route.Func{
		operations.RouteLearned: a.list, operations.RouteForgetLearned: a.forget, operations.RouteOwnBench: a.compare,
	}
}

func (a *learningRoutes) list(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	pairs, err := s.View().Learned().List()
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(pairs, request))
}

func (a *learningRoutes) forget(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	var in operations.ForgetLearned
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if in == (operations.ForgetLearned{}) {
		return tool.Errorf("learned.Forget", tool.Invalid, "nothing says which requests are forgotten").
			WithHint("name a tool, words, or all")
	}
	gone, err := s.View().Learned().Forget(r.Context(), learned.Filter{All: in.All, Tool: in.Tool, Words: in.Words})
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(gone, request))
}

func request(p learned.Pair) operations.LearnedRequest {
	return operations.LearnedRequest{Tool: p.Tool, Request: p.Request, Seen: p.Seen, First: p.First, Last: p.Last}
}
