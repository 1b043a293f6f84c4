package operations

import "time"

// RouteOwnBench measures ways to search on the tools of a session, and on the requests of whoever has it: the body
// is an OwnBench, the answer an OwnBenchReport. It needs a human's authority.
const RouteOwnBench = "POST /v1/sessions/{session}/search/bench"

// OwnBench says which ways to search are measured, beside keywords, the built-in model and what the app names.
type OwnBench struct {
	Models    []string           `json:"models,omitempty"` // folders of static models
	Endpoints []EmbeddingService `json:"endpoints,omitempty"`
}

// EmbeddingService is an embeddings API in the form of OpenAI's.
type EmbeddingService struct {
	URL    string `json:"url"`
	Model  string `json:"model,omitempty"`
	Secret string `json:"secret,omitempty"` // the name of the secret that is its key
}

// OwnBenchReport is how the ways to search did.
type OwnBenchReport struct {
	Tools    int          `json:"tools"`
	Requests int          `json:"requests"` // that were asked
	Learned  int          `json:"learned"`  // of those, that were learned; the others are from the journal
	Gone     int          `json:"gone"`     // pairs of a request and a tool that is not there
	Records  int          `json:"records"`  // of the journal that were looked at
	Partial  bool         `json:"partial"`  // there were more records
	Searches int          `json:"searches"` // that the records told of
	Ways     []WayMeasure `json:"ways"`
}

// WayMeasure is how one way to search did.
type WayMeasure struct {
	Name       string        `json:"name"`
	Recall1    Estimate      `json:"recall@1"`
	Recall5    Estimate      `json:"recall@5"`
	NDCG10     Estimate      `json:"ndcg@10"`
	MRR        Estimate      `json:"mrr"`
	Median     time.Duration `json:"median"`                // of the time for an answer
	ByKeywords int           `json:"by_keywords,omitempty"` // requests that keywords alone answered
	Problem    string        `json:"problem,omitempty"`     // and why the first of them
}

// Estimate is a mean with its 95 % interval.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
