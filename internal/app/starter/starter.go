// Package starter holds the app file that callgate init writes into a folder.
package starter

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"callgate/internal/app"
	"callgate/internal/app/node"
)

// Text is the app file of a folder to start from: every key is explained, and
// its rules let models read, and ask before they write.
func Text(folder string) []byte {
	name := filepath.Base(folder)
	id := app.Slug(name)
	special := func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(" ._-", c)
	}
	if strings.TrimSpace(name) == "" || name == "." || len(name) > node.MaxLabel || strings.ContainsFunc(name, special) {
		name = id
	}
	return fmt.Appendf(nil, template, id, name)
}

// In the template a comment that holds YAML may be uncommented as it stands.
const template = `# What agents that work in this folder may do.
# A key that is misspelt, or not built yet, is an error and never ignored;
# callgate app check finds it, and callgate app schema --file helps your editor.

app:
  app_id: "%s"
  name: "%s"
  version: "1.0.0"

# Who answers callgate run. Without agents it is an embedded stand-in, which is
# no language model and needs no key. A key is kept by callgate secrets set NAME.
# agents:
#   - id: main
#     brain:
#       provider: anthropic
#       model: claude-sonnet-4-5
#       credential: ANTHROPIC_API_KEY
#     modules: [filesystem, shell, memory, web]
#     system_prompt: You work in this folder. Be brief, and name files and lines.

tools:
  # The builtin modules that are on. Without this key all of them are.
  modules:
    filesystem:
      # Models see only the actions that are allowed here.
      # constraints:
      #   allowed_actions: [read, list]
    shell:
      # Commands have no network, unless:
      # config:
      #   network: true # public addresses; direct: this machine's own services too
    # A goal, a task list and facts, which outlast what a model is shown.
    memory:
    # Pages and searches of the web.
    web:

  # Folders of executable tools: manifests in global/ and agent/.
  # dirs: [tools]

  # A call that several rules name follows the strictest: deny, approve, grant.
  # A rule without actions names all of its module; the module "*" is every one.
  capabilities:
    # These run at once.
    grant:
      - module: filesystem
        actions: [read, list, glob, grep]
      - module: memory
        actions: [set_goal, task_create, task_update, remember, query]
      # Commands ask, but for those that only read in this folder. Others that may run:
      # - module: shell
      #   match:
      #     command: [git *, go test *]

      # What leaves the machine asks once for each destination, reads included: an
      # address can carry what was read here. Destinations that need no question:
      # - module: web
      #   match: {url: ["https://pkg.go.dev/**", "https://docs.example.com/**"]}
      # - module: web
      #   actions: [search]

    # These wait until a human approves the exact call.
    approve:
      - module: filesystem
        actions: [read]
        match:
          path: ["**/.env{,.local,.prod*,.dev*,.stag*,.test*}", "**/.{netrc,npmrc,pypirc,pgpass,git-credentials,htpasswd}",
                 "**/id_{rsa,dsa,ecdsa,ed25519}*", "**/*.{pem,key,p12,pfx,jks,keystore,kdbx,ppk,tfvars}",
                 "**/{,.}{credentials,secrets,tokens,token}{,.json,.yml,.yaml,.toml,.ini,.txt}"]
        reason: its name is that of a file with secrets
      - module: filesystem
        actions: [write, edit, apply_patch, notebook_edit, move, delete]
        reason: it changes files in this folder

    # These are refused to everyone.
    # deny:
    #   - module: filesystem
    #     actions: [delete]
    #     reason: nothing is deleted here

    # What no rule names: auto runs it, approve asks a human, block refuses it.
    # Under approve, low-risk reads of MCP servers that you accepted run, and so do
    # commands that only read in this folder (ls, grep, git log).
    default_policy: approve

    # Riskier calls than this (low, medium or high) are refused unless a rule
    # under grant or approve names them.
    max_risk_level: high

    # How many seconds a human has to answer, 30 to 3600. No answer is a no.
    approval_timeout: 300

    # How many calls a minute may hold: of one action, of a module, of all.
    # rate_limits:
    #   filesystem.write: 30
    #   filesystem: 120
    #   "*": 300
`
