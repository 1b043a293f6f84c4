package kernel_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/app/starter"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/permissions"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// pickedUp are files that other programs load or run by themselves.
var pickedUp = strings.Fields(`AGENTS.md CLAUDE.md .npmrc .cargo/config.toml node_modules/a/index.js .github/workflows/x.yml
	.pre-commit-config.yaml conftest.py Makefile .gdbinit mise.toml .zed/tasks.json .windsurf/mcp_config.json .roo/mcp.json
	opencode.json .envrc .vscode/tasks.json package.json setup.py build.rs Cargo.toml build.gradle Dockerfile a.pth
	.git-hooks/x githooks/pre-push sub/Makefile sub/deep/conftest.py vite.config.ts docker-compose.yml`)

// edits are files whose change waits for somebody who runs it.
var edits = strings.Fields("src/a.go src/b.ts docs/x.md tests/test_a.py README.md data/a.json src/hooks/useX.ts sub/main.rs")

func writes(path string) [2]string {
	return [2]string{"filesystem.write", `{"path":"` + path + `","content":"x"}`}
}

// Accepting edits does not mean what programs run by themselves, and what runs without any
// rules is no laxer.
func TestFilesThatProgramsRunAsk(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	accepting, _ := openAsking(t, k)
	permit(t, k, accepting, permissions.Change{Mode: "accept-edits"})
	bare := kerneltest.OpenSession(t, k, folderIn(t, "without rules"))
	// An unaccepted file lets no more run than having no file.
	dir := folderIn(t, "not accepted")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"),
		"app: {app_id: x}\ntools: {modules: {filesystem: }, capabilities: {grant: [{module: filesystem}]}}\n")
	strange := kerneltest.OpenSession(t, k, dir)
	for name, s := range map[string]*session.Session{"accept-edits": accepting, "no rules": bare, "not accepted": strange} {
		for _, path := range pickedUp {
			if r := kerneltest.Call(t, s, writes(path)[0], writes(path)[1]); r.Status != tool.Waiting {
				t.Errorf("%s: %s: %s", name, path, r.Status)
			}
		}
		for _, path := range edits {
			if r := kerneltest.Call(t, s, writes(path)[0], writes(path)[1]); r.Status != tool.Success {
				t.Errorf("%s: %s: %s %s", name, path, r.Status, r.Summary)
			}
		}
	}
	kerneltest.AcceptApp(t, k, strange)
	granted := kerneltest.OpenSession(t, k, dir)
	want(t, granted, tool.Success, writes("Makefile"))
}

// judged says what would become of a command of the shell.
func judged(t *testing.T, k *kernel.Kernel, s *session.Session, command string) operations.Judgement {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	kerneltest.OK(t, err)
	report := kernel.Preflight(t.Context(), k, s, operations.Preflight{
		Calls: []operations.PreflightCall{{Name: "shell.bash", Args: args}},
	})
	return report.Calls[0]
}

// ordinary are commands of a developer's day.
var ordinary = []string{
	"git status", "git status --short && git diff --stat", "git log --oneline -10", "git diff --cached -- src/a.go",
	"git show HEAD~1", "git add -A && git commit -m 'mend the door'", "git switch -c topic", "git checkout -b topic",
	"git stash push -m wip", "git push -u origin topic", "git pull --ff-only", "git fetch --all --prune",
	"git rebase main || git status", "git blame -L 1,20 src/a.go", "git merge --no-ff topic",
	"go build ./...", "go test ./...", "go test -run TestX -count=1 -v ./src/...", "go vet ./... && go test -race ./...",
	"cd src && go test ./...", "go mod tidy", "go list -m all | head -5", "go fmt ./...", "go doc fmt.Println",
	"npm test", "CI=1 NO_COLOR=1 npm test", "bash -lc 'npm test'", "timeout 60 npm test 2>&1 | tail -20",
	"ls -la", "ls src | wc -l", "cat README.md", "head -50 src/a.go", "grep -rn 'func ' src", "rg -n name src", "pwd",
	"find . -name '*.go' | head", "sed -n '1,40p' src/a.go", "wc -l src/*.go", "tree -L 2", "echo done",
	"go test ./... && git add -A && git commit -m done", "for f in src/a.go src/b.go; do head -1 $f; done",
}

// other are commands that still ask under the same rules.
var other = []string{
	"rm -rf src", "curl https://example.com", "npm install x", "npm run build", "git push --force", "git reset --hard",
	"git -c core.pager=x log", "go run ./cmd/x", "go generate ./...", "go test -exec ./x ./...", "npm test -- --config x",
	"cat .env", "cd nested && git status", "cd /tmp && git status", "cd web && npm test", "make", "python3 x.py", "echo x > a",
	"git log | sh", "PATH=. git status", "git status; rm x", "docker ps", "sudo ls",
}

// Under what init writes, with three grants, a day's work is not asked about.
func TestOrdinaryCommandsDoNotAsk(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	dir := folderIn(t, "work")
	text := strings.Replace(string(starter.Text("work")), "\n    grant:\n",
		"\n    grant:\n      - {module: shell, match: {command: [git *, go *, npm test]}}\n", 1)
	for name, content := range map[string]string{
		"callgate.yaml": text, "README.md": "x\n", "src/a.go": "package a\n", "src/b.go": "package a\n", "package.json": "{}",
		".env": "API_KEY=x\n", "nested/.git/config": "[core]\n\tfsmonitor = id\n", "web/package.json": "{}",
		".git/config": "[core]\n\tbare = false\n",
	} {
		kerneltest.Write(t, filepath.Join(dir, name), content)
	}
	s := kerneltest.OpenAccepted(t, k, dir)
	asked := 0
	for _, command := range ordinary {
		switch j := judged(t, k, s, command); {
		case strings.Contains(command, "rebase") || strings.HasPrefix(command, "for "):
			if j.Verdict != operations.Asked {
				t.Errorf("%q: %+v", command, j)
			}
		case j.Verdict != operations.Allowed:
			asked++
			t.Errorf("%q asks: %s", command, j.Reason)
		}
	}
	t.Logf("%d ordinary commands, %d of them ask", len(ordinary)-2, asked)
	for _, command := range other {
		if j := judged(t, k, s, command); j.Verdict != operations.Asked {
			t.Errorf("%q does not ask: %+v", command, j)
		}
	}
}

// Without rules, and in accept-edits, a command that only reads runs without a question. A rule about
// commands, and one about reading files, still count.
func TestReadingCommandsNeedNobody(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	open := func(name, rules string) *session.Session {
		dir := folderIn(t, name)
		for file, content := range map[string]string{"a.txt": "a\n", "private/b.txt": "b\n", "plain/c.txt": "c\n", ".env": "x"} {
			kerneltest.Write(t, filepath.Join(dir, file), content)
		}
		if rules == "" {
			return kerneltest.OpenSession(t, k, dir)
		}
		kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"),
			"app: {app_id: x}\ntools:\n  modules: {filesystem: , shell: }\n  capabilities:\n"+rules)
		return kerneltest.OpenAccepted(t, k, dir)
	}
	accepting := open("accepting", "    approve: [{module: shell}]\n")
	permit(t, k, accepting, permissions.Change{Mode: "accept-edits"})
	for name, test := range map[string]struct {
		s          *session.Session
		runs, asks []string
	}{
		"no rules":       {open("none", ""), []string{"ls", "cat a.txt", "cat private/b.txt"}, []string{"cat .env", "touch x", "ls > x"}},
		"a rule asks":    {open("asks", "    approve: [{module: shell}]\n"), nil, []string{"ls", "cat a.txt"}},
		"accept-edits":   {accepting, []string{"ls", "cat a.txt"}, []string{"cat .env", "touch x"}},
		"no such rule":   {open("other", "    grant: [{module: filesystem}]\n"), []string{"ls", "cat a.txt"}, []string{"touch x"}},
		"a path denied":  {open("denied", "    deny: [{module: filesystem, match: {path: 'private/**'}}]\n"), []string{"ls", "cat a.txt", "rg x plain"}, []string{"cat private/b.txt", "cat private/*", "grep -r x .", "rg x", "rg x private"}},
		"a path approve": {open("approve", "    approve: [{module: filesystem, actions: [read], match: {path: 'private/**'}}]\n"), []string{"cat a.txt", "grep -rn x plain"}, []string{"cat private/b.txt", "cd private && cat b.txt", "rg x", "cd private && rg x"}},
		"names approve":  {open("names", "    approve: [{module: filesystem, actions: [read], match: {path: '**/*.key'}}]\n"), []string{"rg x", "grep -rn x plain private"}, []string{"cat x.key", "grep -r x ."}},
	} {
		for _, command := range test.runs {
			if j := judged(t, k, test.s, command); j.Verdict != operations.Allowed {
				t.Errorf("%s: %q asks: %+v", name, command, j)
			}
		}
		for _, command := range test.asks {
			if j := judged(t, k, test.s, command); j.Verdict != operations.Asked {
				t.Errorf("%s: %q does not ask: %+v", name, command, j)
			}
		}
	}
	denied := open("no shell", "    deny: [{module: shell}]\n")
	if j := judged(t, k, denied, "ls"); j.Verdict == operations.Allowed {
		t.Errorf("a denied command runs: %+v", j)
	}
	some := open("no ls", "    deny: [{module: shell, match: {command: ls *}}]\n")
	if j := judged(t, k, some, "ls"); j.Verdict == operations.Allowed {
		t.Errorf("a denied command runs: %+v", j)
	}
}

// A grant for git status does not cover a repository that an agent made.
func TestGrantedCommandInAPlantedRepository(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), `
app: {app_id: x}
tools:
  modules: {filesystem: , shell: }
  capabilities:
    grant:
      - {module: filesystem, actions: [write], match: {path: "src/**"}}
      - {module: shell, match: {command: [git status, git log *]}}
`)
	s := kerneltest.OpenAccepted(t, k, dir)
	if j := judged(t, k, s, "cd src && git status"); j.Verdict != operations.Allowed {
		t.Errorf("before: %+v", j)
	}
	for name, content := range map[string]string{
		"HEAD": "ref: refs/heads/main", "objects/x": "", "refs/x": "", "config": "[core]\\n\\tfsmonitor = \\\"id >&2; false\\\"",
	} {
		want(t, s, tool.Success, [2]string{"filesystem.write", `{"path":"src/b/` + name + `","content":"` + content + `"}`})
	}
	want(t, s, tool.Waiting, [2]string{"shell.bash", `{"command":"git status","cwd":"src/b"}`},
		[2]string{"shell.bash", `{"command":"cd src/b; git status"}`}, [2]string{"shell.bash", `{"command":"cd src/b && git log"}`},
		[2]string{"shell.bash", `{"command":"git status","cwd":"src/b/objects"}`})
}

// A yes to this exact call of a script is for what the script holds.
func TestExactYesIsForTheScriptAsItIs(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "build.sh"), "echo built\n")
	s := kerneltest.OpenSession(t, k, dir)
	run := [2]string{"demo.run", `{"command":"sh build.sh"}`}
	r := kerneltest.Call(t, s, run[0], run[1])
	request, err := k.Approvals.Get(t.Context(), r.Approval)
	kerneltest.OK(t, err)
	for _, c := range request.Choices {
		if !c.Exact || !strings.Contains(c.Text, "while build.sh does not change") {
			t.Errorf("for a script is offered: %+v", c)
		}
	}
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true, Remember: &approval.Remember{Choice: 1}})
	want(t, s, tool.Success, run)
	kerneltest.Write(t, filepath.Join(dir, "build.sh"), "rm -rf src\n")
	want(t, s, tool.Waiting, run)
}

// A plain list of a folder is about what it names, and not about what a rule denies further below.
func TestListBesideWhatIsDenied(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "deny", "a.txt"), "a\n")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), `
app: {app_id: x}
tools:
  modules: {filesystem: }
  capabilities:
    grant: [{module: filesystem, actions: [list, read, glob]}]
    deny: [{module: filesystem, match: {path: "deny/**"}}]
`)
	s := kerneltest.OpenAccepted(t, k, dir)
	list := func(args string) [2]string { return [2]string{"filesystem.list", args} }
	want(t, s, tool.Success, list(`{}`), list(`{"path":"."}`), list(`{"path":"src"}`), list(`{"path":".","depth":1}`))
	want(t, s, tool.Waiting, list(`{"recursive":true}`), list(`{"path":".","depth":2}`), list(`{"path":"deny"}`))
	want(t, s, tool.Refused, [2]string{"filesystem.read", `{"path":"deny/a.txt"}`})
}
