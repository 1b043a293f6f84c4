package kernel

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"callgate/internal/app"
	"callgate/internal/app/fileschema"
	"callgate/internal/gate"
	"callgate/internal/module"
	"callgate/internal/module/browser"
	"callgate/internal/module/database"
	"callgate/internal/module/filesystem"
	"callgate/internal/module/git"
	"callgate/internal/module/http"
	"callgate/internal/module/memory"
	"callgate/internal/module/shell"
	"callgate/internal/module/web"
	"callgate/internal/registry"
	"callgate/internal/search/embed"
	"callgate/tool"
)

// shipped lists the modules that come with the kernel. A new one is a folder
// and a line here.
func shipped() []module.Module {
	return []module.Module{
		filesystem.Module(),
		shell.Module(),
		http.Module(),
		web.Module(),
		browser.Module(),
		database.Module(),
		git.Module(),
		memory.Module(memory.Config{Meaning: meanings{}}),
	}
}

// meanings reads texts with the model that is built in.
type meanings struct{}

// Vectors returns the meaning of each text.
func (meanings) Vectors(texts []string) ([][]float32, error) {
	model, err := embed.Builtin()
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = model.Embed(nil, text)
	}
	return out, nil
}

// Builtin returns the modules that an app file turns on and off.
func Builtin() []string {
	var names []string
	for _, m := range shipped() {
		names = append(names, m.Name)
	}
	return names
}

// opened is a module of this kernel.
type opened struct {
	module.Module
	*module.Instance
}

// openModules opens the modules and publishes their tools.
func (k *Kernel) openModules() error {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = ""
	}
	for _, m := range shipped() {
		host := module.Host{
			State: filepath.Join(k.State.String(), "modules", m.Name), Hidden: k.hidden(), Helpers: k.helpers,
			Log: k.log.With("module", m.Name), Scrub: k.secrets.ScrubString,
		}
		if cache != "" {
			host.Cache = filepath.Join(cache, "callgate", m.Name)
		}
		made, err := m.Open(host)
		if err != nil {
			return err
		}
		k.modules = append(k.modules, &opened{m, made})
		if err := k.Register(m.Name, made.Tools...); err != nil {
			return err
		}
	}
	return nil
}

// closeModules lets go of everything that modules hold, last opened first.
func (k *Kernel) closeModules() error {
	var errs []error
	for i := len(k.modules) - 1; i >= 0; i-- {
		if end := k.modules[i].Instance.Close; end != nil {
			errs = append(errs, end())
		}
	}
	return errors.Join(errs...)
}

// module returns a module that ships with the kernel, or nil.
func (k *Kernel) module(name string) *opened {
	for _, m := range k.modules {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// letGo tells the modules that a session is over.
func (k *Kernel) letGo(session string) {
	for _, m := range k.modules {
		if m.OnSessionEnd != nil {
			m.OnSessionEnd(session)
		}
	}
}

// knownModule is what an app file may say of a module, its actions apart.
func (k *Kernel) knownModule(name string) app.KnownModule {
	m := k.module(name)
	if m == nil {
		return app.KnownModule{AlwaysOn: true}
	}
	known := app.KnownModule{Credential: m.Credential, Check: func(config, constraints map[string]any) error {
		_, err := m.Read(config, constraints)
		return err
	}}
	for _, f := range m.Fields() {
		s := app.Setting{Key: f.Key, Validate: f.Validate, Type: f.Type, Help: f.Help, Want: f.Expected, OneOf: f.OneOf}
		if least, most, bounded := f.Range(); bounded {
			s.Min, s.Max = least, most
		}
		if f.Constraint {
			known.Constraints = append(known.Constraints, s)
		} else {
			known.Config = append(known.Config, s)
		}
	}
	return known
}

// AppSchema is the JSON Schema of app files, for editors, with the modules that
// this kernel has.
func (k *Kernel) AppSchema(ctx context.Context) ([]byte, error) {
	known, err := k.known(ctx, registry.Global)
	if err != nil {
		return nil, err
	}
	return fileschema.JSONSchema(known), nil
}

// readSettings gives a session what its app says of each module. Where that
// cannot be used (a secret has no value), the module's calls say why, and so
// do the session's warnings; the rest of the app works.
func (s *Session) readSettings(a *app.App) {
	d := s.door
	d.Settings, d.Credentials = map[string]any{}, map[string]string{}
	for _, m := range a.Modules {
		d.Credentials[m.Name] = m.Credential
		shipped := s.kernel.module(m.Name)
		if shipped == nil {
			continue
		}
		settings, err := s.kernel.settings(shipped, m)
		if text := wantsSecrets(m); text != "" && !s.kernel.consented(a) {
			err = tool.Errorf("callgate.settings", tool.Denied, "the app wants to %s, and nobody has accepted that yet", text).
				WithHint("the user looks at it and accepts it with: callgate app trust")
		}
		if err != nil {
			s.Warnings = append(s.Warnings, err.Error())
			d.Settings[m.Name] = err
		} else if settings != nil {
			d.Settings[m.Name] = settings
		}
	}
}

// settings reads one module's blocks, with the values of the secrets in them.
func (k *Kernel) settings(m *opened, from app.Module) (any, error) {
	if from.Config == nil && from.Constraints == nil {
		return nil, nil
	}
	config, err := k.withSecrets(from.Config)
	if err != nil {
		return nil, &tool.Error{Op: "callgate.settings", Kind: tool.Unavailable, Message: "tools.modules." + m.Name + ".config cannot be used", Err: err}
	}
	return m.Read(config.(map[string]any), from.Constraints)
}

// care is what an app wants done around the calls of its modules.
func care(a *app.App) map[string]gate.Middleware {
	all := map[string]gate.Middleware{}
	for _, m := range a.Modules {
		var c gate.Middleware
		for _, w := range m.Middleware {
			switch w.Kind {
			case "audit":
				c.Audit = true
			case "timeout":
				c.Timeout = w.Limit
			case "retry":
				c.Retry = gate.Retry{Attempts: w.Attempts, Backoff: w.Backoff}
				for _, kind := range w.On {
					c.Retry.On = append(c.Retry.On, tool.Kind(kind))
				}
			}
		}
		all[m.Name] = c
	}
	return all
}
