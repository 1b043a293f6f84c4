// Package shell is the module of one tool: a command line, run by bash in a
// sandbox.
//
// # What a call declares
//
// A command can do anything, so a call that says nothing about itself claims
// the workspace in U: readers pass, writers wait. One that declares what it
// writes, or that it only reads, claims just that, and the sandbox holds it to
// its word: what was not declared cannot be written. Claims and walls are
// drawn from the same arguments, and a path that is claimed is the path that
// can be written.
//
// The claims are let go after a while (LockFor) though the command runs on: a
// development server or a long test run must not keep every other agent from
// its work.
//
// # What it leaves
//
// Nothing but the files it wrote: no process, no temporary file, and no empty
// file that was made only so that it could be written.
package shell

import (
	_ "embed"
	"encoding/json"
	"strings"
	"time"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "shell"

// Config is how the module is set up; the zero value works.
type Config struct {
	Hidden   []string       // what no command may ever see: the kernel's state and its socket
	Readable []string       // what commands may read beside the workspace and the system
	Env      []string       // names of variables they are given beside the usual ones
	Cache    string         // a folder that keeps compilers' caches between calls; "": each call has its own
	Network  bool           // whether commands may use the network
	Relaxed  bool           // run even where this machine cannot put up every wall
	LockFor  time.Duration  // how long claims are held at most; default 30 seconds
	Limits   sandbox.Limits // what one command may take

	Helpers *sandbox.Helpers // start commands sooner; may be nil
}

const (
	op             = Namespace + ".bash"
	defaultLockFor = 30 * time.Second
	defaultTimeout = 300 // seconds
	maxTimeout     = 1800
	// grace is between asking a command to end and ending it. The kernel gives
	// a handler a few seconds to return, and this must be well within.
	grace = 2 * time.Second
)

//go:embed bash.md
var bashDoc string

const bashInput = `{
  "type": "object",
  "properties": {
    "command": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "The command line, as you would type it into bash."},
    "description": {"type": "string", "maxLength": 500, "description": "What it does and why, in a few words, for the person who may have to approve it."},
    "cwd": {"type": "string", "description": "The folder to run in, relative to the workspace or absolute inside it. Default: the workspace."},
    "timeout": {"type": "integer", "minimum": 1, "maximum": 1800, "default": 300, "description": "Seconds after which it is stopped."},
    "writes": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 50, "description": "The only files and folders it will change, relative to the workspace; a folder that does not exist yet ends with a slash."},
    "reads_only": {"type": "boolean", "default": false, "description": "True if it changes nothing in the workspace."}
  },
  "required": ["command"],
  "additionalProperties": false
}`

const bashOutput = `{
  "type": "object",
  "properties": {
    "exit_code": {"type": "integer", "description": "The command's exit code; -1 when a signal ended it."},
    "signal": {"type": "string", "description": "The signal that ended it."},
    "duration_ms": {"type": "integer"},
    "stdout_bytes": {"type": "integer", "description": "How much it printed, also where not all of it is shown."},
    "stderr_bytes": {"type": "integer"},
    "truncated": {"type": "boolean", "description": "Whether the middle of its output was left out."},
    "sandbox": {"type": "string", "description": "The walls it ran behind."},
    "network": {"type": "boolean"}
  },
  "required": ["exit_code", "duration_ms", "stdout_bytes", "stderr_bytes", "sandbox", "network"]
}`

// Tools makes the tools of the module.
func Tools(c Config) []*tool.Tool {
	if c.LockFor == 0 {
		c.LockFor = defaultLockFor
	}
	sideEffect := tool.Write
	if c.Network {
		sideEffect = tool.External
	}
	t := &tool.Tool{
		ID: tool.ID{Namespace: Namespace, Name: "bash", Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Short:       "Bash",
			Description: strings.TrimSpace(bashDoc),
			Input:       json.RawMessage(bashInput),
			Output:      json.RawMessage(bashOutput),
			Examples: []tool.Example{
				{Note: "run the tests; they change nothing", Args: json.RawMessage(`{"command": "go test ./...", "description": "run all tests", "reads_only": true, "timeout": 600}`)},
				{Note: "build into one folder", Args: json.RawMessage(`{"command": "npm run build", "description": "build the site", "writes": ["dist/"]}`)},
				{Note: "anything else", Args: json.RawMessage(`{"command": "git add -A && git commit -m 'mend the door'", "description": "commit all changes"}`)},
			},
			Aliases: []string{
				"choir.exec", "exec", "sh", "shell", "run_command", "execute_command", "run_shell_command", "terminal",
				"run a command", "execute a shell command", "run a script", "run the tests", "command line", "build the project",
				"exécuter une commande", "lancer une commande", "lancer un script", "lancer les tests", "ligne de commande", "invite de commandes",
			},
			Tags: []string{"shell", "bash", "command", "process", "script", "terminal", "test", "build", "git", "commande", "exécution"},
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{
				{Resource: "workspace", Mode: tool.U, Unless: []string{"writes", "reads_only"}},
				{Resource: "workspace", Mode: tool.S, When: "reads_only"},
				{Resource: "file:{writes}", Mode: tool.U},
			},
			Risk: tool.High, SideEffect: sideEffect, Network: c.Network,
			Timeout: (maxTimeout + 60) * time.Second,
			LockFor: max(c.LockFor, 0),
		},
		Handler: handler{c},
	}
	t.Spec.Name = t.ID.Dotted()
	return []*tool.Tool{t}
}
