package memory

import "callgate/internal/module/memory/redact"

// settings are what an app file may say of the module.
type settings struct {
	MaxFacts int      `config:"max_facts" range:"1,1000" help:"how many facts a session keeps; the oldest go first"`
	MaxTodos int      `config:"max_todos" range:"1,200" help:"how many tasks a session keeps; completed ones go first"`
	Redact   bool     `config:"redact_secrets" help:"take out what looks like a secret; values that the kernel knows are taken out in any case"`
	Extra    []string `config:"extra_sensitive_patterns" help:"regular expressions of what else is taken out"`

	redactor *redact.Redactor // what Check makes of them
}

func defaults() *settings {
	return &settings{MaxFacts: 50, MaxTodos: 20, Redact: true, redactor: &redact.Redactor{}}
}

// Check reads the patterns, so that a mistake is told when the app is opened.
func (s *settings) Check() (err error) {
	s.redactor, err = redact.New(s.Extra)
	return err
}

// What is kept at most beside that.
const (
	maxKnowledge = 5_000     // entries of one user and app
	maxEntry     = 64 << 10  // bytes of one
	maxWeight    = 128 << 20 // bytes of all of them
	otherBooks   = 10        // sessions whose memory a query looks at
)
