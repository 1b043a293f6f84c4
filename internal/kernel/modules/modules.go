// Package modules opens the modules that ship with the kernel. Law: a module is
// opened once, learns of every ended session and every deleted conversation,
// and is closed in the opposite order of opening; its settings are read once
// for each session.
package modules

import (
	"errors"

	"callgate/internal/app"
	"callgate/internal/app/rules"
	"callgate/internal/module"
	"callgate/internal/module/agentspawn"
	"callgate/internal/module/browser"
	"callgate/internal/module/calendar"
	"callgate/internal/module/contacts"
	"callgate/internal/module/database"
	"callgate/internal/module/email"
	"callgate/internal/module/filesystem"
	"callgate/internal/module/git"
	"callgate/internal/module/http"
	"callgate/internal/module/image"
	"callgate/internal/module/llmprovider"
	"callgate/internal/module/lsp"
	"callgate/internal/module/memory"
	"callgate/internal/module/notion"
	"callgate/internal/module/preview"
	"callgate/internal/module/queue"
	"callgate/internal/module/rag"
	"callgate/internal/module/rag/index"
	"callgate/internal/module/rag/library"
	"callgate/internal/module/shell"
	"callgate/internal/module/speech"
	"callgate/internal/module/web"
	"callgate/internal/module/widget"
	"callgate/internal/module/workspace"
	"callgate/tool"
)

// Config is what some modules need. The zero value has nothing.
type Config struct {
	Memories memory.Config
	Bases    library.SharedBases // the knowledge bases of several kernels; nil: there are none
}

// shipped lists the modules that come with the kernel. A new one is a folder
// and a line here.
func shipped(c Config) []module.Module {
	return []module.Module{
		filesystem.Module(),
		shell.Module(),
		http.Module(),
		web.Module(),
		browser.Module(),
		database.Module(),
		git.Module(),
		lsp.Module(),
		email.Module(),
		calendar.Module(),
		contacts.Module(),
		image.Module(),
		notion.Module(),
		speech.Speaking(),
		speech.Hearing(),
		preview.Module(),
		widget.Module(),
		llmprovider.Module(),
		rag.With(c.Bases),
		index.Module(),
		workspace.Module(),
		queue.Module(),
		memory.Module(c.Memories),
		agentspawn.Module(),
	}
}

// Names returns the modules that an app file turns on and off.
func Names() []string {
	var names []string
	for _, m := range shipped(Config{}) {
		names = append(names, m.Name)
	}
	return names
}

// NeedSettings returns those of them that are off until an app file names them.
func NeedSettings() []string {
	var names []string
	for _, m := range shipped(Config{}) {
		if m.NeedsSettings {
			names = append(names, m.Name)
		}
	}
	return names
}

// Secrets puts the values of secrets in the place of their references.
type Secrets interface {
	Expand(text string) (string, error)
}

// Set is the modules of one kernel. Make one with Open.
type Set struct {
	secrets Secrets
	opened  []*opened
}

type opened struct {
	module.Module
	*module.Instance
}

// Open opens the modules and publishes their tools.
func Open(
	secrets Secrets, c Config, host func(module string) module.Host,
	publish func(source string, tools ...*tool.Tool) error,
) (*Set, error) {
	s := &Set{secrets: secrets}
	for _, m := range shipped(c) {
		instance, err := m.Open(host(m.Name))
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.opened = append(s.opened, &opened{m, instance})
		if err := publish(m.Name, instance.Tools...); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Close closes the modules, last opened first.
func (s *Set) Close() error {
	var errs []error
	for i := len(s.opened) - 1; i >= 0; i-- {
		if end := s.opened[i].Instance.Close; end != nil {
			errs = append(errs, end())
		}
	}
	s.opened = nil
	return errors.Join(errs...)
}

func (s *Set) find(name string) *opened {
	for _, m := range s.opened {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Summary says in a line what a shipped module is for; empty for any other.
func (s *Set) Summary(name string) string {
	if m := s.find(name); m != nil {
		return m.Module.Summary
	}
	return ""
}

// Known is what an app file may say of a module, its actions apart. Modules
// that do not ship are always on.
func (s *Set) Known(name string) app.KnownModule {
	m := s.find(name)
	if m == nil {
		return app.KnownModule{AlwaysOn: true}
	}
	known := app.KnownModule{Credential: m.Credential, NeedsSettings: m.NeedsSettings}
	known.Check = func(config, constraints map[string]any) error {
		_, err := m.Read(config, constraints)
		return err
	}
	for _, f := range m.Fields() {
		setting := app.Setting{
			Key: f.Key, Validate: f.Validate, Type: f.Type, Help: f.Help, Want: f.Expected, OneOf: f.OneOf,
		}
		if lowest, highest, bounded := f.Range(); bounded {
			setting.Min, setting.Max = lowest, highest
		}
		if f.Key == rules.StatementsKey {
			known.Statements = f.OneOf
		}
		if f.Constraint {
			known.Constraints = append(known.Constraints, setting)
		} else {
			known.Config = append(known.Config, setting)
		}
	}
	return known
}

// Settings reads what an app file says of a module, with the values of the
// secrets in it. It is nil where the app says nothing.
func (s *Set) Settings(from app.Module) (any, error) {
	m := s.find(from.Name)
	if m == nil || from.Config == nil && from.Constraints == nil {
		return nil, nil
	}
	config, err := ExpandSecrets(s.secrets, from.Config)
	if err != nil {
		return nil, &tool.Error{
			Op: "modules.Settings", Kind: tool.Unavailable, Err: err,
			Message: "tools.modules." + from.Name + ".config cannot be used",
		}
	}
	return m.Read(config.(map[string]any), from.Constraints)
}

// Narrowed reads what an app file says of a module, each setting as another says it where
// that is narrower: see module.Narrower.
func (s *Set) Narrowed(of, by app.Module) (any, error) {
	m := s.find(of.Name)
	if m == nil {
		return nil, nil
	}
	var err error
	if of.Config, of.Constraints, err = m.Narrower(of.Config, of.Constraints, by.Config, by.Constraints); err != nil {
		return nil, err
	}
	return s.Settings(of)
}

// Section is what a module says in an agent's prompt, and the tools by which
// the agent changes that.
type Section struct {
	Text  string
	Tools []*tool.Tool
}

// Sections returns the sections of the modules that an app has turned on.
func (s *Set) Sections(p tool.Principal, off map[string]bool) []Section {
	var all []Section
	for _, m := range s.opened {
		if m.PromptSection != nil && !off[m.Name] {
			all = append(all, Section{Text: m.PromptSection(p), Tools: m.Tools})
		}
	}
	return all
}

// EndSession tells the modules that a session is over.
func (s *Set) EndSession(id string) {
	for _, m := range s.opened {
		if m.OnSessionEnd != nil {
			m.OnSessionEnd(id)
		}
	}
}

// DeleteConversation has the modules delete what they keep for a conversation.
func (s *Set) DeleteConversation(p tool.Principal) error {
	for _, m := range s.opened {
		if m.OnConversationDelete != nil {
			if err := m.OnConversationDelete(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// ExpandSecrets puts the values of secrets in the place of their references, in
// every text of a value.
func ExpandSecrets(secrets Secrets, value any) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return secrets.Expand(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], err = ExpandSecrets(secrets, item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			if m[key], err = ExpandSecrets(secrets, item); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return value, nil
}
