package dav

import (
	"context"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/tool"
)

// Tools makes the tools of a module. Each has the module's tags before its own.
func Tools(namespace string, tags []string, definitions ...module.Definition) []*tool.Tool {
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		d.Tags = append(append([]string{}, tags...), d.Tags...)
		d.Runtime.Network, d.Runtime.Timeout = true, 11*time.Minute // the module's own limit ends a call first
		all[i] = d.Tool(namespace)
	}
	return all
}

// Reads is what a tool says of itself that changes nothing.
func Reads(namespace string) tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "module:" + namespace, Mode: tool.IS}},
		Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Data: tool.DataSensitive,
	}
}

// Changes is what a tool says of itself that changes something at the server.
func Changes(namespace string, r tool.Risk) tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "module:" + namespace, Mode: tool.IX}},
		Risk:    r, SideEffect: tool.External, Data: tool.DataSensitive,
	}
}

// account is settings of a module that embed those of an account.
type account[S any] interface {
	*S
	Check() error
	Client(op, credential string) (*Client, error)
	TimeLimit() time.Duration
}

// Handler returns the handler of a tool. It decodes the arguments, which the kernel has
// already checked against the schema, and bounds the time.
func Handler[S any, A account[S], In any](
	op string, defaults func() *S, run func(context.Context, *Client, *S, In) (*tool.Result, error),
) tool.Handler {
	return tool.HandlerFunc(func(ctx context.Context, asked tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, asked)
		if err != nil {
			return nil, err
		}
		s := module.SettingsOf(grant, func() *S {
			d := defaults()
			_ = A(d).Check()
			return d
		})
		client, err := A(s).Client(op, grant.Credential)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, A(s).TimeLimit())
		defer cancel()
		return run(ctx, client, s, in)
	})
}

// Choose returns the collections that an app may see: those whose names are in only, or all. With
// a name or path, those that it names; an error calls them what.
func (c *Client) Choose(all []Collection, only []string, named, what string) ([]Collection, error) {
	var seen, chosen []Collection
	for _, one := range all {
		if len(only) > 0 && !hasName(only, one.Name) {
			continue
		}
		seen = append(seen, one)
		if named != "" && (strings.EqualFold(one.Name, named) || one.Path == strings.TrimSuffix(named, "/")+"/") {
			chosen = append(chosen, one)
		}
	}
	switch {
	case named == "":
		return seen, nil
	case len(chosen) == 0:
		names := namesOf(seen)
		e := tool.Errorf(c.op, tool.NotFound, "there is no %s %q", what, tool.Truncate(named)).
			WithHint("there are %s", tool.TruncateTo(strings.Join(names, ", "), 500))
		e.Similar = names
		return nil, e
	}
	return chosen, nil
}

// One returns the only collection of a list, where something new goes; an error calls it what.
func (c *Client) One(list []Collection, what string) (Collection, error) {
	if len(list) == 1 {
		return list[0], nil
	}
	return Collection{}, tool.Errorf(c.op, tool.Ambiguous, "it is not clear which %s is meant", what).
		WithHint("name one: %s", tool.TruncateTo(strings.Join(namesOf(list), ", "), 500))
}

func hasName(list []string, name string) bool {
	for _, one := range list {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}

func namesOf(list []Collection) (names []string) {
	for _, one := range list {
		names = append(names, one.Name)
	}
	return names
}
