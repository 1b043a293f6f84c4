// Package module is the contract of the modules that ship with the kernel.
//
// A module is a folder: tools, their descriptions, the settings that an app
// file may give it, and the state it holds while the kernel runs. Adding a
// module touches its folder and the list in internal/kernel, nothing else.
// docs/guides/modules.md writes one from nothing.
//
// # Laws
//
//   - The kernel opens a module once, when it starts, and opening is cheap: a
//     browser is started and a database reached when the first call needs it.
//   - Settings are declared as a struct and read once, when a session opens. An
//     undeclared key and a value of the wrong type are errors that name the key;
//     a handler gets settings that were checked.
//   - A session's resources (a connection, a tab) belong to that session alone.
//     The module closes them when the session ends, and closes everything when
//     the kernel ends.
//   - A module touches the workspace through the root of its grant and the
//     network through a guard. It reads a secret only from its grant.
//   - A module uses documents, language models, embeddings, background tasks and the
//     tools of other modules through its [Host] and in no other way. Each is nil where the kernel has none: the
//     module then does without, or its tool says what is missing.
package module

import "callgate/tool"

// Module is one module: its name, its settings, and how the kernel opens it.
type Module struct {
	Name    string // its namespace
	Summary string // its purpose in one line, for people and models that search for a tool
	// Settings returns the defaults: a pointer to a struct whose fields are
	// tagged config:"key" or constraint:"key" (see [Module.Fields]). A nil func
	// means that the module has no settings.
	Settings func() any
	// Credential allows an app file to name a secret for the module. The grant
	// of each call holds its value.
	Credential bool
	// NeedsSettings keeps the module off until an app file, the user's or the project's,
	// names it: to most it is of no use, and to some of none without settings.
	NeedsSettings bool
	Open          func(Host) (*Instance, error)
}

// Instance is an open module.
type Instance struct {
	Tools []*tool.Tool
	// OnSessionEnd, unless it is nil, closes what the module holds for a session.
	OnSessionEnd func(session string)
	// PromptSection, unless it is nil, returns what the module has an agent's model
	// told beside the user's words, where it changed; "" tells nothing.
	PromptSection func(tool.Principal) string
	// OnConversationDelete, unless it is nil, deletes what the module stored for
	// a conversation.
	OnConversationDelete func(tool.Principal) error
	// Close, unless it is nil, ends the module with the kernel.
	Close func() error
}

// SettingsOf returns a call's settings, or the defaults where the app file has none.
func SettingsOf[T any](g tool.Grant, defaults func() *T) *T {
	if s, ok := g.Settings.(*T); ok {
		return s
	}
	return defaults()
}
