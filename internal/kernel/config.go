package kernel

import (
	"io"
	"log/slog"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/node"
	"callgate/internal/undo"
	"callgate/llmtool"
	"callgate/tool"
	"callgate/toolcatalog"
)

// Config is how a kernel is opened. The zero value opens the user's own state directory with the built-in modules.
type Config struct {
	// State is the state directory. Default: $CALLGATE_STATE, else
	// $XDG_STATE_HOME/callgate, else ~/.local/state/callgate.
	State string
	// Storage is where everything is kept: the URL of a PostgreSQL database, or a file for SQLite. Default: what the
	// file database of the state directory names, else callgate.db in it.
	Storage string
	// Node is how long the lease of a kernel lasts that shares a database with others.
	Node node.Timing
	// Shared are the folders that this kernel shares with others, as $CALLGATE_SHARED says them, which is the default.
	Shared string
	// Tools are an embedding program's own, known before recovery; Register adds more later.
	Tools []*tool.Tool
	// Backends are an embedding program's own too; they are listed when tools are first asked for.
	Backends []toolcatalog.Backend
	// UserFile is the user's own app file, which stands behind those of all projects. It
	// need not exist. Default: $XDG_CONFIG_HOME/callgate/callgate.yaml, else
	// ~/.config/callgate/callgate.yaml.
	UserFile string
	// Home is the user's home, in which other agents keep skills. Default: that of the
	// process; none where UserFile is given.
	Home string
	// LLMHooks are told what LLM-backed tools and those of the embedding program do.
	LLMHooks llmtool.Hooks
	// Log receives what an operator should know. Default: nothing.
	Log *slog.Logger
	// Limits bounds what a call may take; zero fields mean the defaults.
	Limits Limits
	// Undo bounds what is kept of files before calls change them. Default: what
	// $CALLGATE_UNDO says, else the defaults of undo.Limits.
	Undo undo.Limits
	// ShortLived says that the kernel ends with the command that started it: it makes
	// no call in doubt again, since it may end before that one does.
	ShortLived bool
	// Stdout receives the messages of channels of the type stdout. Default: there is none.
	Stdout io.Writer
	// Lineage tells which process started which. Without it, an answer to an approval is checked for its key only.
	Lineage approval.Lineage
}

// Limits bounds what one call may take: see gate.Limits.
type Limits = gate.Limits
