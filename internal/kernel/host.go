package kernel

import (
	"context"
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"

	"callgate/internal/app"
	"callgate/internal/conversation"
	"callgate/internal/document"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/modelset"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/session"
	"callgate/internal/launch"
	"callgate/internal/module"
	"callgate/internal/source/executable"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/task"
	"callgate/tool"
)

// moduleHost is what the kernel lends a module.
func (k *Kernel) moduleHost(name string) module.Host {
	host := module.Host{
		State: filepath.Join(k.state.String(), "modules", name), Hidden: k.hidden(), Folders: k.folders(),
		Helpers: k.helpers, Log: k.log.With("module", name), Scrub: k.vault.ScrubString, Embedder: modules.BuiltinEmbedder{},
		Models:    &modelset.Lender{Opener: k.models, ModelsOf: k.modelsOf},
		Tasks:     k.Tasks.ForModules(k.taskAsker),
		Documents: document.Scoped(document.Scoped(k.database.Stores().Documents, "module"), name),
		SharedApp: k.consents.IsShared, Node: k.database.ID, Time: k.database.Time,
		Agents: func(ctx context.Context, call tool.Call, r module.AgentRequest) (*tool.Result, error) {
			return k.Agents.Do(ctx, call, r)
		},
		Pending: func() module.PendingFiles { return k.Proposals.Changes() },
		Call: func(ctx context.Context, call tool.Call, name string, args any) (*tool.Result, error) {
			return k.Sessions.CallFor(ctx, call, name, args)
		},
		Permits: func(ctx context.Context, call tool.Call, name string) error {
			return k.Sessions.Permits(ctx, call, name)
		},
		Process: func(ctx context.Context, call tool.Call, task string) (tool.Process, error) {
			return k.Background.Process(ctx, call, task)
		},
	}
	if cache, err := os.UserCacheDir(); err == nil {
		host.Cache = filepath.Join(cache, "callgate", name)
	}
	return host
}

// hostTools has tools run for a program in the sandbox: each is a call of the session for
// which the program runs, under its rules, as a child of its call.
func hostTools(k *Kernel) executable.Host {
	return func(ctx context.Context, call tool.Call, name string, args json.RawMessage) *tool.Result {
		s, err := k.Sessions.Get(call.Principal.Session)
		if err != nil {
			e := tool.Errorf("kernel.hostTools", tool.Unavailable, "the session of %s cannot be found: %w",
				call.Tool.Dotted(), err)
			return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}
		}
		// A tool is named by its own name: another one could be that of a tool that makes calls.
		seen, err := s.View().Tool(ctx, name)
		if err == nil && (seen.Runtime.Control || seen.ID.Dotted() != name) {
			e := tool.Errorf("kernel.hostTools", tool.Denied, "a program cannot have %s run", name).
				WithHint("let its manifest name the tool itself: %s", seen.ID.Dotted())
			return &tool.Result{Status: tool.Refused, Summary: e.Error(), Error: e}
		}
		return s.Call(ctx, session.CallRequest{Name: name, Args: args, Parent: call.ID})
	}
}

// folders are where programs that a person accepted start.
func (k *Kernel) folders() launch.Folders {
	return launch.Folders(filepath.Join(k.state.String(), "start"))
}

// serverMachine is what MCP servers are isolated from, and where those in a sandbox keep their packages.
func (k *Kernel) serverMachine(userFile string) isolation.Machine {
	m := isolation.Machine{Hidden: k.hidden(), Folders: k.folders()}
	if userFile != "" {
		m.Rules = filepath.Dir(userFile)
	}
	if cache, err := os.UserCacheDir(); err == nil {
		m.Cache = filepath.Join(cache, "callgate", "servers")
	}
	return m
}

// taskAsker tells on whose behalf the tasks of a call run, and which conversation learns of their end.
func (k *Kernel) taskAsker(call tool.Call) (task.Asker, string, error) {
	s, err := k.Sessions.Get(call.Principal.Session)
	if err != nil {
		return task.Asker{}, "", err
	}
	parent := ""
	if _, err := k.Conversations.Get(s.ID()); err == nil {
		parent = s.ID()
	}
	return deferred.AskerOf(s, call), parent, nil
}

// modelsOf returns the app of a session and the models that it may use, and what checks
// that a human accepted where one of them is.
func (k *Kernel) modelsOf(id string) (
	a *app.App, models []*app.Model, check func(*app.Model) error, err error,
) {
	s, err := k.Sessions.Get(id)
	if err != nil || s.App() == nil {
		return nil, nil, nil, err
	}
	a = s.App()
	return a, consent.AppModels(a, s.Principal().Agent), func(m *app.Model) error { return checkModel(k)(a, m) }, nil
}

// appOf finds the app of a session; nil: it has none.
func appOf(k *Kernel) func(session string) (*app.App, error) {
	return func(session string) (*app.App, error) {
		s, err := k.Sessions.Get(session)
		if err != nil {
			return nil, err
		}
		return s.App(), nil
	}
}

// modelOpener makes what opens models.
func modelOpener(k *Kernel) *modelset.Opener {
	return &modelset.Opener{
		Secrets: k.vault, Documents: k.database.Stores().Documents, Users: k.Tokens.Users.Limits,
		Unattended: func(session string) bool { return conversation.Unattended(k.Conversations, session) },
	}
}

// checkModel returns why a model of an app may not be asked: nobody accepted where it is.
func checkModel(k *Kernel) func(*app.App, *app.Model) error {
	return func(a *app.App, m *app.Model) error {
		return k.consents.Of(a).Check("kernel.checkModel", consent.Endpoint(a, m))
	}
}

// checkLine returns what checks that a human accepted a line of an app.
func checkLine(k *Kernel) func(a *app.App, line string) error {
	return func(a *app.App, line string) error { return k.consents.Of(a).Check("kernel.checkLine", line) }
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
