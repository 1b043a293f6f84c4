// Package module is the contract of the modules that ship with the kernel.
//
// A module is a folder: tools, their descriptions, the settings that an app
// file may give it, and what it keeps while the kernel runs. Adding one touches
// its folder and the list in the façade, nothing else.
//
// # Laws
//
//   - A module is opened once, with the kernel, and opening is cheap: a browser
//     is started, a database reached, when the first call needs it.
//   - Settings are declared as a struct and read once, when a session opens. A
//     key that is not declared and a value that does not fit are errors that
//     name the key; a handler is given settings that were checked.
//   - What a session has (a connection, a tab) is its own. It is let go when
//     the session ends, and everything is when the kernel does.
//   - A module touches the workspace through the root of its grant, and the
//     network through a guard. It learns a secret only by its grant.
package module

import (
	"log/slog"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// Module is one module: what it is called, what an app file may say of it, and
// how it is opened.
type Module struct {
	Name    string // its namespace
	Summary string // what it is for, in one line, for whoever looks for a tool
	// Settings makes the settings that hold where an app file says nothing: a
	// pointer to a struct whose fields are tagged config:"key" or
	// constraint:"key" (see [Fields]). Nil: it takes none.
	Settings func() any
	// Credential says that an app file may name a secret for it; its value is
	// in the grant of each call.
	Credential bool
	Open       func(Host) (*Instance, error)
}

// Host is what the kernel lends a module. Folders are made by whoever first
// needs them.
type Host struct {
	State  string   // a folder of its own that survives the kernel
	Cache  string   // a folder of its own that may be emptied at any time; "": there is none
	Hidden []string // what no process that a tool starts may see
	// Helpers starts the sandboxed processes of tools sooner; may be nil.
	Helpers *sandbox.Helpers
	Log     *slog.Logger
	// Scrub takes the values of secrets out of a text that is to be kept.
	Scrub func(string) string
}

// Instance is a module that is ready.
type Instance struct {
	Tools        []*tool.Tool
	OnSessionEnd func(session string) // a session is over; may be nil
	// PromptSection is what the module tells an agent at the beginning of each turn,
	// as it is now; "" for nothing. May be nil.
	PromptSection func(tool.Principal) string
	// OnConversationDelete is told that a conversation was deleted, with what was kept for
	// it. May be nil.
	OnConversationDelete func(tool.Principal) error
	Close                func() error // the kernel ends; may be nil
}

// SettingsOf returns a call's settings, or the defaults where an app file gave none.
func SettingsOf[T any](g tool.Grant, defaults func() *T) *T {
	if s, ok := g.Settings.(*T); ok {
		return s
	}
	return defaults()
}
