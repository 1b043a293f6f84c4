package davtest

import (
	"maps"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

// Person is a user of the server, and a module with the settings of their account.
type Person struct {
	*fetchtest.Bench
	T    testing.TB
	Name string
}

// NewPerson makes a user with collections (see NewUser), and opens a module for them. Config and
// constraints come on top of what the account needs.
func (s *Servers) NewPerson(
	t testing.TB, m module.Module, config, constraints fetchtest.Block, collections map[string]string,
) *Person {
	t.Helper()
	server := s.Get(t)
	p := &Person{T: t, Name: server.NewUser(t, collections)}
	all := fetchtest.Block{"url": server.URL, "username": p.Name}
	maps.Copy(all, config)
	limits := fetchtest.Block{"private_hosts": []any{"127.0.0.1"}}
	maps.Copy(limits, constraints)
	p.Bench = fetchtest.Open(t, m, all, limits)
	p.Grant.Credential = Password
	return p
}

// Must calls a tool that must succeed, and returns its data.
func (p *Person) Must(name string, args fetchtest.Block) (fetchtest.Block, *tool.Result) {
	p.T.Helper()
	r, err := p.Call(name, args)
	return fetchtest.Data(p.T, r, err), r
}
