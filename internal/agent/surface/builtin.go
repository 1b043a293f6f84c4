package surface

import (
	"slices"
	"strings"

	"callgate/tool"
)

// Builtin says which of the modules that ship with the kernel an MCP client is
// given, of those that are on. The zero value is BuiltinAuto.
type Builtin struct {
	Choice  string   // BuiltinAuto, BuiltinAll or BuiltinNone; empty: Modules, or auto where those are nil
	Modules []string // these
}

// The choices. A coding agent has tools of its own for files, commands and the
// web, and a second set of them costs its window and confuses its model; so auto
// is none for a client that is known as one, and all for any other.
const (
	BuiltinAuto = "auto"
	BuiltinAll  = "all"
	BuiltinNone = "none"
)

// ParseBuiltin reads auto, all, none, or the names of modules with commas
// between them. The empty text is no choice.
func ParseBuiltin(text string, known []string) (Builtin, error) {
	switch text = strings.TrimSpace(text); text {
	case "", BuiltinAuto, BuiltinAll, BuiltinNone:
		return Builtin{Choice: text}, nil
	}
	var b Builtin
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return Builtin{}, tool.Errorf("surface.ParseBuiltin", tool.Invalid, "there is no module %q to give a client",
				tool.Truncate(name)).WithHint("write auto, all, none, or some of %s", strings.Join(known, ","))
		}
		b.Modules = append(b.Modules, name)
	}
	return b, nil
}

// IsZero reports that nothing was chosen.
func (b Builtin) IsZero() bool { return b.Choice == "" && b.Modules == nil }

// Or returns b, or another where b chooses nothing.
func (b Builtin) Or(other Builtin) Builtin {
	if b.IsZero() {
		return other
	}
	return b
}

// Gives reports whether a client is given a module.
func (b Builtin) Gives(module, client string) bool {
	switch b.Choice {
	case BuiltinAll:
		return true
	case BuiltinNone:
		return false
	}
	if b.Choice == "" && b.Modules != nil {
		return slices.Contains(b.Modules, module)
	}
	return !IsCodingAgent(client)
}

// Client is an MCP client for which a session is opened.
type Client struct {
	Name    string  // as it introduces itself
	Builtin Builtin // what its user chose; zero: as the app says
}

// IsCodingAgent reports whether an MCP client, by the name that it gives
// itself, is known to have tools of its own for files and commands.
func IsCodingAgent(client string) bool {
	known, ok := clientNamed(client)
	return ok && known.coding
}
