package kernel_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/servers"
	"callgate/internal/programtest"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// plantedName begins the names of the files that planted code writes when it runs.
const plantedName = "PLANTED-"

// garden is a workspace in which code is planted that runtimes load by themselves.
type garden struct {
	work  string
	other []string // folders besides, to which planted code could write
}

// pythonPlant, nodePlant and shellPlant are code that leaves a file wherever it may write.
func (g garden) pythonPlant(name string) string {
	return fmt.Sprintf("import os\nfor d in (%q, os.environ.get('XDG_CACHE_HOME', ''), '.'):\n"+
		" try:\n  open(os.path.join(d, %q), 'w').close()\n except Exception:\n  pass\n", g.work, plantedName+name)
}

func (g garden) nodePlant(name string) string {
	return fmt.Sprintf("for (const d of [%q, process.env.XDG_CACHE_HOME || '.', '.']) {\n"+
		" try { require('fs').writeFileSync(d + '/' + %q, '') } catch (e) {}\n}\n", g.work, plantedName+name)
}

func (g garden) shellPlant(name string) string {
	return fmt.Sprintf("#!/bin/sh\nfor d in %q \"$XDG_CACHE_HOME\" .; do : > \"$d/%s\"; done 2>/dev/null\nexit 0\n", g.work, plantedName+name)
}

// plant fills the workspace.
func plant(t *testing.T) garden {
	t.Helper()
	g := garden{work: t.TempDir()}
	home, cache := t.TempDir(), t.TempDir()
	g.other = []string{home, cache}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", cache)
	program := func(name, text string) {
		path := filepath.Join(g.work, filepath.FromSlash(name))
		kerneltest.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		programtest.Write(t, path, text)
	}
	put := func(name, text string) { kerneltest.Write(t, filepath.Join(g.work, filepath.FromSlash(name)), text) }
	// Python: modules of the standard library that programs import, and what starts with it.
	for _, module := range []string{"json", "sitecustomize", "usercustomize", "argparse", "subprocess", "typing", "mynotes", "logging"} {
		put(module+".py", g.pythonPlant(module))
		put("src/b/"+module+".py", g.pythonPlant("sub-"+module))
	}
	put("evil.egg-info/entry_points.txt", "[pylsp]\nevil = json\n")
	put("pyvenv.cfg", "home = .\n")
	put("setup.cfg", "[pylsp]\nplugins = evil\n")
	// Node and its package managers.
	put(".npmrc", "node-options=--require=./evil.js\nscript-shell=./evil.sh\nshell=./evil.sh\n")
	put("evil.js", g.nodePlant("npmrc"))
	put("evil.sh", g.shellPlant("script-shell"))
	put("package.json", `{"name": "w", "scripts": {"preinstall": "sh ./evil.sh", "prepare": "sh ./evil.sh"}, "workspaces": ["*"]}`)
	put("node_modules/planted-server/package.json", `{"name": "planted-server", "version": "1.0.0", "bin": {"planted-server": "cli.js"}}`)
	put("node_modules/planted-server/cli.js", "#!/usr/bin/env node\n"+g.nodePlant("npx"))
	put("node_modules/leftpad/index.js", g.nodePlant("node_modules"))
	program("node_modules/.bin/planted-server", g.shellPlant("npx-bin"))
	put(".yarnrc.yml", "yarnPath: ./evil.js\n")
	put(".yarnrc", "yarn-path \"./evil.js\"\n")
	put("bunfig.toml", "preload = [\"./evil.js\"]\n")
	put("deno.json", `{"tasks": {"run": "sh ./evil.sh"}, "imports": {"leftpad": "./evil.js"}}`)
	put("uv.toml", "index-url = \"file:///nowhere\"\n")
	// Ruby, Perl, shells, direnv.
	put(".rubyopt", "-r./evil.rb\n")
	put(".irbrc", "File.write('"+plantedName+"irb', '')\n")
	put("Gemfile", "File.write('"+plantedName+"gemfile', '')\n")
	put("strict.pm", "open(F, '>', '"+filepath.Join(g.work, plantedName+"perl")+"'); 1;\n")
	put("JSON/PP.pm", "open(F, '>', '"+filepath.Join(g.work, plantedName+"perl-json")+"'); 1;\n")
	for _, name := range []string{".envrc", ".bashrc", ".profile", ".bash_profile", ".env", ".ripgreprc"} {
		put(name, g.shellPlant("rc"))
	}
	put("go.work", "go 1.99\n\ntoolchain go1.99.9\n")
	// Bare repositories: in the workspace itself, and below it.
	for _, at := range []string{"", "src/b/"} {
		monitor := filepath.Join(g.work, "monitor.sh")
		put(at+"HEAD", "ref: refs/heads/main\n")
		put(at+"objects/x", "")
		put(at+"refs/heads/x", "")
		put(at+"hooks/x", "")
		put(at+"config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "+g.work+"\n\tfsmonitor = "+monitor+
			"\n\tpager = "+monitor+"\n\tsshCommand = "+monitor+"\n")
	}
	program("monitor.sh", g.shellPlant("fsmonitor"))
	// Programs, in a folder of the PATH.
	for _, name := range []string{"python3", "node", "npx", "git", "rg", "sh", "bash", "perl", "ruby", "gopls", "pylsp", "env", "cat", "go"} {
		program("wsbin/"+name, g.shellPlant("path-"+name))
	}
	return g
}

// harvest returns what planted code left.
func (g garden) harvest() []string {
	var found []string
	for _, root := range append([]string{g.work}, g.other...) {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(e.Name(), plantedName) {
				found = append(found, e.Name())
				_ = os.Remove(path)
			}
			return nil
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// pythonServer is an MCP server without tools, as a module and as a script.
const pythonServer = `
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {"tools": []}
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

const nodeServer = `
try { require('leftpad') } catch (e) {}
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const m = JSON.parse(line)
  if (m.id === undefined) return
  let r = {tools: []}
  if (m.method == 'initialize') r = {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 't', version: '1'}}
  console.log(JSON.stringify({jsonrpc: '2.0', id: m.id, result: r}))
})
`

// need skips a test of a program that is not installed here.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed here", program)
	}
}

// Everything that the kernel starts is started in a workspace in which code is planted for
// it. None of the code runs.
func TestPlantedCodeDoesNotRun(t *testing.T) {
	if sandbox.Probe().Level != sandbox.Full {
		t.Skip("there are no namespaces here")
	}
	real := os.Getenv("PATH")
	if gopath, err := os.UserHomeDir(); err == nil {
		real += string(os.PathListSeparator) + filepath.Join(gopath, "go", "bin")
	}
	g := plant(t)
	lib := t.TempDir() // installed programs
	kerneltest.Write(t, filepath.Join(lib, "pynotes.py"), pythonServer)
	kerneltest.Write(t, filepath.Join(lib, "server.js"), nodeServer)
	kerneltest.Write(t, filepath.Join(g.work, "own", "server.py"), pythonServer)
	kerneltest.Write(t, filepath.Join(g.work, "server.py"), pythonServer)
	kerneltest.Write(t, filepath.Join(g.work, "server.js"), nodeServer)
	kerneltest.Write(t, filepath.Join(g.work, "guards", "guard.py"), "import json, sys\njson.load(sys.stdin)\n")
	kerneltest.WriteExecutable(t, filepath.Join(g.work, "tools", "global"), "team_probe",
		strings.NewReplacer("team.greet", "team.probe", `, "required": ["name"]`, "", `"none"`, `"write"`).
			Replace(kerneltest.GreetManifest), `cat >/dev/null
python3 -c 'import json, argparse' >&2
python3 -m json.tool --help >&2
node -e 'try { require("leftpad") } catch (e) {}' >&2
npm --version >&2
perl -e 'use strict; use JSON::PP;' >&2
ruby -e 'require "json"' >&2
git status >&2
git -C "$CALLGATE_WORKSPACE/src/b" status >&2
cd "$CALLGATE_WORKSPACE/src/b"; git status >&2; git diff >&2; python3 -c 'import json' >&2
echo '{"did": true}'
`)
	const app = `
tools:
  dirs: [tools]
  modules:
    filesystem: {}
    shell: {}
    git: {}
    lsp: {}
    mcp:
      config:
        servers:
          module: {command: python3, args: [-m, pynotes], isolation: contained, env: {PYTHONPATH: LIB}}
          planted_module: {command: python3, args: [-m, mynotes], isolation: contained, start_timeout: 20s}
          script: {command: python3, args: [LIB/pynotes.py], isolation: none}
          own_folder: {command: python3, args: [own/server.py], isolation: contained}
          own_script: {command: python3, args: [server.py], isolation: contained}
          node: {command: node, args: [LIB/server.js], isolation: contained}
          boxed: {command: python3, args: [-m, pynotes], isolation: sandboxed, readable: [LIB], env: {PYTHONPATH: LIB}}
          npx: {command: npx, args: [-y, planted-server, "."], isolation: contained, env: {npm_config_offline: "true"}, start_timeout: 20s}
          shell: {command: sh, args: [-c, "exec python3 LIB/pynotes.py"], isolation: contained}
  capabilities: {default_policy: auto}
runtime:
  hooks:
  - {id: script, on: tool_start, condition: {type: tool_name, match: Write}, action: {type: command, command: 'python3 "$CLAUDE_PROJECT_DIR/guards/guard.py"'}}
  - {id: relative, on: tool_start, condition: {type: tool_name, match: Write}, action: {type: command, command: python3 guards/guard.py}}
  - {id: inline, on: tool_start, condition: {type: tool_name, match: Write}, action: {type: command, command: "python3 -c 'import json, sys; json.load(sys.stdin)'"}}
  - {id: git, on: tool_start, condition: {type: tool_name, match: Write}, action: {type: command, command: "cat >/dev/null; git status; git diff; true"}}
`
	kerneltest.Write(t, filepath.Join(g.work, "callgate.yaml"), strings.ReplaceAll(app, "LIB", lib))
	kerneltest.Write(t, filepath.Join(g.work, "main.go"), "package main\n\nfunc main() {}\n")
	kerneltest.Write(t, filepath.Join(g.work, "go.mod"), "module example.com/m\n\ngo 1.20\n")
	kerneltest.Write(t, filepath.Join(g.work, "x.py"), "import json\n")
	t.Run("commands", func(t *testing.T) { // these have the PATH of the user, whatever it holds
		need(t, "git")
		t.Setenv("PATH", real)
		s := kerneltest.OpenAccepted(t, kerneltest.Open(t, kerneltest.StateDir(t)), g.work)
		for _, line := range []string{"git status", "cd src/b; git status", "cd src/b && git diff", "git -C src/b log"} {
			kerneltest.Call(t, s, "shell.bash", fmt.Sprintf(`{"command":%q}`, line)) // Git refuses it
			if found := g.harvest(); len(found) > 0 {
				t.Errorf("%s ran %q", line, found)
			}
		}
		kerneltest.Call(t, s, "git.status", `{}`)
		kerneltest.Call(t, s, "git.status", `{"repo":"src/b"}`)
		if found := g.harvest(); len(found) > 0 {
			t.Errorf("the module git ran %q", found)
		}
	})

	for name, path := range map[string]string{
		"the PATH": real, "a PATH of the workspace": filepath.Join(g.work, "wsbin") + string(os.PathListSeparator) + real,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path)
			g.startAll(t)
		})
	}
}

func succeeds(t *testing.T, r *tool.Result) *tool.Result {
	t.Helper()
	if r.Status != tool.Success {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
	return r
}

// startAll starts what an app has beside commands.
func (g garden) startAll(t *testing.T) {
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, g.work)
	t.Run("servers", func(t *testing.T) {
		for name, one := range kerneltest.ServersByName(t, k, s) {
			t.Run(name, func(t *testing.T) {
				program := map[string]string{"node": "node", "npx": "npx"}[name]
				if program == "" {
					program = "python3"
				}
				need(t, program)
				kerneltest.OK(t, k.AcceptServer(kerneltest.Human(t, k), s, name, servers.Word{Launch: one.Launch}))
				server, err := kerneltest.ServersOf(k, s).Get(name)
				kerneltest.OK(t, err)
				err = server.Refresh(t.Context())
				if fails := name == "planted_module" || name == "npx"; (err != nil) != fails {
					t.Errorf("it started: %v", err)
				}
				if found := g.harvest(); len(found) > 0 {
					t.Errorf("it ran %q", found)
				}
			})
		}
	})
	t.Run("executables", func(t *testing.T) {
		r := succeeds(t, kerneltest.Call(t, s, "team.probe", `{}`))
		if found := g.harvest(); len(found) > 0 {
			t.Errorf("it ran %q: %v", found, r.Warnings)
		}
	})
	t.Run("guards", func(t *testing.T) {
		need(t, "python3")
		succeeds(t, kerneltest.Call(t, s, "filesystem.write", `{"path":"new.txt","content":"x"}`))
		if found := g.harvest(); len(found) > 0 {
			t.Errorf("they ran %q", found)
		}
	})
	t.Run("ripgrep", func(t *testing.T) {
		succeeds(t, kerneltest.Call(t, s, "filesystem.grep", `{"pattern":"func main"}`))
		if found := g.harvest(); len(found) > 0 {
			t.Errorf("it ran %q", found)
		}
	})
	for _, c := range []struct{ program, file string }{{"gopls", "main.go"}, {"pylsp", "x.py"}} {
		t.Run(c.program, func(t *testing.T) {
			need(t, c.program)
			r := kerneltest.Call(t, s, "lsp.diagnostics", fmt.Sprintf(`{"path":%q}`, c.file))
			if found := g.harvest(); len(found) > 0 {
				t.Errorf("it ran %q: %s", found, r.Summary)
			}
		})
	}
}

// A guard whose folder a tool changed does not let calls pass, and neither does a server
// start whose script was changed.
func TestChangedScripts(t *testing.T) {
	need(t, "python3")
	if sandbox.Probe().Level != sandbox.Full {
		t.Skip("there are no namespaces here")
	}
	t.Parallel()
	work := t.TempDir()
	kerneltest.Write(t, filepath.Join(work, "guards", "guard.py"),
		"import json, sys\nif 'secret' in json.load(sys.stdin)['tool_input']['file_path']: sys.exit(2)\n")
	kerneltest.Write(t, filepath.Join(work, "server.py"), pythonServer)
	kerneltest.Write(t, filepath.Join(work, "callgate.yaml"), `
tools:
  modules:
    filesystem: {}
    shell: {}
    mcp: {config: {servers: {dev: {command: python3, args: [server.py], isolation: contained}}}}
  capabilities: {default_policy: auto}
runtime:
  hooks:
  - {id: guard, on: tool_start, condition: {type: tool_name, match: Write}, action: {type: command, command: 'python3 "$CLAUDE_PROJECT_DIR/guards/guard.py"'}}
`)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, work)
	kerneltest.AcceptServers(t, k, s)
	secret := func() tool.Status {
		return kerneltest.Call(t, s, "filesystem.write", `{"path":"secret.txt","content":"x"}`).Status
	}
	if r := kerneltest.Call(t, s, "filesystem.write", `{"path":"a.txt","content":"x"}`); r.Status != tool.Success || secret() != tool.Refused {
		t.Fatalf("the guard does not work: %s", r.Summary)
	}
	for _, args := range []string{
		`{"path":"guards/json.py","content":"import sys; sys.exit(0)"}`, `{"path":"server.py","content":"evil"}`,
	} {
		if r := kerneltest.Call(t, s, "filesystem.write", args); r.Status != tool.Waiting {
			t.Errorf("%s: %s %s", args, r.Status, r.Summary)
		}
	}
	for _, line := range []string{
		"echo 'import sys; sys.exit(0)' > guards/json.py", "echo evil > server.py", "mv guards g2", "mv server.py s2; echo evil > server.py",
	} {
		if r := kerneltest.Call(t, s, "shell.bash", fmt.Sprintf(`{"command":%q}`, line)); r.Status == tool.Success {
			t.Errorf("%s: %s %s", line, r.Status, r.Summary)
		}
	}
	if secret() != tool.Refused {
		t.Error("the guard is off")
	}
	// Somebody else changes them.
	kerneltest.Write(t, filepath.Join(work, "guards", "json.py"), "import sys; sys.exit(0)\n")
	kerneltest.Write(t, filepath.Join(work, "server.py"), pythonServer+"# other\n")
	if r := kerneltest.Call(t, s, "filesystem.write", `{"path":"b.txt","content":"x"}`); r.Status != tool.Refused || secret() != tool.Refused {
		t.Errorf("with another folder of the guard: %s %s", r.Status, r.Summary)
	}
	if one := kerneltest.ServersByName(t, k, s)["dev"]; one.Accepted || !strings.Contains(one.Launch, "server.py=sha256:") {
		t.Errorf("a server whose script changed: %v %s", one.Accepted, one.Launch)
	}
}
