package learning

import (
	"net/http"

	"callgate/internal/app"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/protocol/operations"
	"callgate/internal/search/bench"
)

// compare measures ways to search on somebody's own tools and requests. The requests of the
// journal may be anybody's, and an endpoint is told of them: so a human must want it.
func (a *learningRoutes) compare(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	var in operations.OwnBench
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := a.kernel.Approvals.HasHumanAuthority(route.Credential(r, "")); err != nil {
		return err
	}
	var endpoints []app.Endpoint
	for _, e := range in.Endpoints {
		one := app.Endpoint{URL: e.URL, Model: e.Model}
		if e.Secret != "" {
			one.Key = "{{secret." + e.Secret + "}}"
		}
		endpoints = append(endpoints, one)
	}
	c, err := s.View().Compare(r.Context(), a.kernel.Journal, in.Models, endpoints)
	if err != nil {
		return err
	}
	return route.Answer(w, operations.OwnBenchReport{
		Tools: c.Tools, Requests: c.Requests, Learned: c.Learned, Gone: c.Gone, Records: c.Log.Records,
		Partial: c.Log.Partial, Searches: c.Log.Searches, Ways: wire.List(c.Ways, wayMeasure),
	})
}

func wayMeasure(m bench.Measured) operations.WayMeasure {
	return operations.WayMeasure{
		Name: m.Name, Recall1: operations.Estimate(m.Recall1), Recall5: operations.Estimate(m.Recall5),
		NDCG10: operations.Estimate(m.NDCG10), MRR: operations.Estimate(m.MRR), Median: m.Median,
		ByKeywords: m.ByKeywords, Problem: m.Problem,
	}
}
