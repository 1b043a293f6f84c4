package operations

import "time"

// RouteStats says what the gate did: since, a time, and limit, how many records are looked at. The answer is
// a Stats.
const RouteStats = "GET /v1/stats"

// Stats is what the gate did since a time, out of the journal.
type Stats struct {
	Since     time.Time `json:"since"`
	From      time.Time `json:"from,omitzero"` // of the oldest record that was looked at
	Records   int       `json:"records"`       // that were looked at
	Partial   bool      `json:"partial"`       // there were more records since then
	Calls     int       `json:"calls"`         // that ended
	Succeeded int       `json:"succeeded"`
	Refused   int       `json:"refused"`   // calls that did not run: a rule, a mistake, a name that means no tool
	Coerced   int       `json:"coerced"`   // calls whose arguments were put right before they were checked
	PutRight  int       `json:"put_right"` // calls that were told what was wrong, and whose next one went well
	Approved  int       `json:"approved"`  // by a human
	Edited    int       `json:"edited"`    // of those, with other arguments
	Denied    int       `json:"denied"`
	Expired   int       `json:"expired"`  // nobody answered
	Granted   int       `json:"granted"`  // calls that would have asked, but for a lasting grant
	Allowed   int       `json:"allowed"`  // the same, for what a person allowed in the session
	Scrubbed  int       `json:"scrubbed"` // results out of which secrets were taken
	Cut       int       `json:"cut"`      // results that were too large for a model, and kept whole beside it
	Doubted   int       `json:"doubted"`  // calls that began, and whose end nobody saw
	Surface   Unsent    `json:"surface"`
}

// Unsent is what models were not sent because they are shown no more tools than they need. Each turn of a
// conversation asks a model at least once, so it is at least this; it is counted with the tools of now.
type Unsent struct {
	Conversations int `json:"conversations"` // that were looked at
	Turns         int `json:"turns"`
	Tokens        int `json:"tokens"` // of definitions
}
