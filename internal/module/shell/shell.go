// Package shell is the module with one tool: bash runs a command line in a sandbox.
//
// # What a call declares
//
// A command can do anything, so a call that declares nothing claims the workspace
// in U: readers pass, writers wait. A call that declares what it writes, or that
// it only reads, claims just that, and the sandbox enforces it: what was not
// declared cannot be written. Claims and sandbox use the same arguments, so the
// paths that are claimed are the paths that can be written.
//
// The claims are released after a while (LockFor) even if the command still runs:
// a development server or a long test run must not stop every other agent.
//
// # Input
//
// Text for a command that runs in the background is a call of bash too: what a shell is
// told to do by its input is judged by the same rules as what it is told at its start.
// Such a call names the command's task in input_for, and runs nothing of its own. A call
// with task_id is one of background_run, which makes such a call of the text (Redirect).
// Text that a command begins with (stdin_text) is judged with the command, by the law of
// package match: a rule that permits the command alone does not permit it with input.
//
// # What it leaves
//
// Only the files it wrote: no process, no temporary file, and no empty file that
// was created only so that it could be written.
package shell

import (
	"context"
	_ "embed"
	"time"

	"callgate/internal/module"
	"callgate/internal/netguard"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "shell"

// Config configures the module. The zero value works.
type Config struct {
	Hidden   []string       // paths that no command may see: the kernel's state and its socket
	Readable []string       // paths that commands may read besides the workspace and the system
	Env      []string       // names of variables that commands get besides the usual ones
	Cache    string         // a folder for the caches of compilers; "": each call has its own
	Network  bool           // whether commands may use the network, as network: true says in an app file
	Relaxed  bool           // run even where this machine cannot confine a command fully
	LockFor  time.Duration  // the longest time that claims are held; default 30 seconds
	Limits   sandbox.Limits // of one command

	Helpers  *sandbox.Helpers  // start commands sooner; may be nil
	Resolver netguard.Resolver // resolves the names that commands connect to; nil is the system's

	// Process returns the command of a caller's task, so that it can be given input; nil:
	// commands are given none.
	Process func(ctx context.Context, call tool.Call, task string) (tool.Process, error)
}

const (
	op             = Namespace + ".bash"
	defaultLockFor = 30 * time.Second
	defaultTimeout = 300 // seconds
	maxTimeout     = 1800
	// grace is the time between asking a command to end and killing it. It must be
	// well within the few seconds that the kernel gives a handler to return.
	grace = 2 * time.Second
)

//go:embed bash.md
var bashDoc string

const bashInput = `{
  "type": "object",
  "properties": {
    "command": {
      "type": "string", "minLength": 1, "maxLength": 100000,
      "description": "The command line, as you would type it into bash."
    },
    "description": {
      "type": "string", "maxLength": 500,
      "description": "What it does and why, in a few words, for the person who may have to approve it."
    },
    "cwd": {
      "type": "string",
      "description": "The folder to run in, relative to the workspace or absolute inside it. Default: the ` +
	`workspace."
    },
    "timeout": {
      "type": "integer", "minimum": 1, "maximum": 1800,
      "description": "Seconds after which it is stopped. Default: 300, and none in the background."
    },
    "run_in_background": {
      "type": "boolean",
      "description": "Leave it running and return at once with a task_id for background_run: servers, long builds."
    },
    "writes": {
      "type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 50,
      "description": "The only files and folders it will change, such as [\"dist/\", \"report.txt\"]; the rest of the ` +
	`workspace is then read-only for it. A new folder ends with a slash; a program that replaces a file needs its folder."
    },
    "reads_only": {"type": "boolean", "default": false, "description": "True if it changes nothing in the ` +
	`workspace (tests, searches, git log): it is held to that. With neither this nor writes, other writes wait."},
    "input_for": {"type": "string", "maxLength": 64, "x-hidden": true},
    "task_command": {"type": "string", "x-hidden": true},
    "unfinished": {"type": "string", "x-hidden": true},
    "eof": {"type": "boolean", "x-hidden": true},
    "stdin_text": {
      "type": "string", "maxLength": 100000, "x-hidden": true,
      "description": "Text for the standard input: of the command, or with task_id of one that runs."
    },
    "task_id": {
      "type": "string", "maxLength": 64, "x-hidden": true,
      "description": "In place of command: a command that runs in the background, and how it stands."
    },
    "wait": {"type": "boolean", "x-hidden": true, "description": "With task_id: wait for its end, at most timeout."},
    "kill": {"type": "boolean", "x-hidden": true, "description": "With task_id: end it, and all that it started."},
    "stream_pattern": {
      "type": "string", "maxLength": 998, "x-hidden": true,
      "description": "A regular expression. With task_id: return once its output has it; with run_in_background: ` +
	`you are told."
    },
    "stream": {
      "type": "boolean", "x-hidden": true, "description": "Changes nothing: output is always shown as it comes."
    }
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
    "output_bytes": {"type": "integer", "description": "How much it printed, also where not all of it is shown."},
    "truncated": {"type": "boolean", "description": "Whether the middle of its output was left out."},
    "sandbox": {"type": "string", "description": "The walls it ran behind."},
    "network": {"type": "boolean"},
    "task_id": {"type": "string", "description": "It goes on in the background as this task, and has no exit code yet."},
    "status": {"type": "string"},
    "hint": {"type": "string"}
  }
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
	bash := module.Definition{
		Name: "bash", Short: "Bash", Doc: bashDoc, Input: bashInput, Output: bashOutput,
		Examples: []tool.Example{
			module.Example("run the tests; they change nothing", `{"command": "go test ./...", `+
				`"description": "run all tests", "reads_only": true, "timeout": 600}`),
			module.Example("build into one folder",
				`{"command": "npm run build", "description": "build the site", "writes": ["dist/"]}`),
			module.Example("anything else",
				`{"command": "git add -A && git commit -m 'mend the door'", "description": "commit all changes"}`),
		},
		Aliases: []string{
			"choir.exec", "exec", "sh", "shell", "run_command", "execute_command", "run_shell_command", "terminal",
			"run a command", "execute a shell command", "run a script", "run the tests", "command line", "build the project",
			"exécuter une commande", "lancer une commande", "lancer un script", "lancer les tests", "ligne de commande",
			"invite de commandes", "run_terminal_cmd", "run_in_terminal", "exec_command", "local_shell", "container.exec",
			"execute_bash", "unified_exec",
		},
		Tags: []string{
			"shell", "bash", "command", "process", "script", "terminal", "test", "build", "git", "commande", "exécution",
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{
				{Resource: "workspace", Mode: tool.U, Unless: []string{"writes", "reads_only", "input_for"}},
				{Resource: "workspace", Mode: tool.S, When: "reads_only"},
				{Resource: "file:{writes}", Mode: tool.U},
				// What it reads, and the repositories that it may use: in an intention mode these
				// stop nobody, and keep the calls of one answer in order.
				{Resource: "workspace", Mode: tool.IS, When: "writes"},
				{Resource: "repo:", Mode: tool.IX, Unless: []string{"writes", "reads_only", "input_for"}},
				{Resource: "repo:", Mode: tool.IS, When: "writes"},
				{Resource: "repo:", Mode: tool.IS, When: "reads_only"},
				{Resource: "task:{input_for}", Mode: tool.X}, // one after the other
			},
			Risk: tool.High, SideEffect: sideEffect, Network: c.Network, KeepTail: true,
			Timeout: (maxTimeout + 60) * time.Second,
			LockFor: max(c.LockFor, 0), ParamAliases: otherParams(),
		},
		Handler: handler{c},
	}
	return []*tool.Tool{bash.Tool(Namespace)}
}
