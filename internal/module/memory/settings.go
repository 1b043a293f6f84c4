package memory

import "callgate/internal/module/memory/redact"

// settings declares the module's keys in an app file.
type settings struct {
	MaxFacts int `config:"max_facts" range:"1,1000" help:"how many facts a session keeps; the oldest go first"`
	MaxTodos int `config:"max_todos" range:"1,200" help:"how many tasks a session keeps; completed ones go first"`

	Redact bool `config:"redact_secrets" narrower:"true" help:"take out what looks like a secret; values that the kernel knows are taken out in any case"`

	Extra []string `config:"extra_sensitive_patterns" narrower:"more" help:"regular expressions of what else is taken out"`

	redactor *redact.Redactor // set by Check
}

func defaults() *settings {
	return &settings{MaxFacts: 50, MaxTodos: 20, Redact: true, redactor: &redact.Redactor{}}
}

// Check compiles the patterns, so that opening the app reports a mistake in them.
func (s *settings) Check() (err error) {
	s.redactor, err = redact.New(s.Extra)
	return err
}

// Limits that an app file does not set.
const (
	maxKnowledge     = 5_000     // entries of one user and app
	maxEntry         = 64 << 10  // bytes of one entry
	maxWeight        = 128 << 20 // bytes of all entries
	maxOtherSessions = 10        // sessions that a query searches
	maxOldSessions   = 50        // sessions before them, of which it searches a summary
)
