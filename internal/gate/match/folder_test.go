package match_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/match"
)

// files makes a workspace that holds files, named with spaces between.
func files(t testing.TB, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range names {
		for _, name := range strings.Fields(list) {
			write(t, filepath.Join(dir, name), name)
		}
	}
	return dir
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// commandIn is a call of a command in a folder of a workspace; "" is the workspace.
func commandIn(workspace, dir, command string) *match.Call {
	c := &match.Call{Module: "shell", Action: "bash", Workspace: workspace, Args: map[string]any{"command": command}}
	if dir != "" {
		c.Args["cwd"] = dir
	}
	return c
}

// A grant for a command holds in the workspace, and in a folder below that does not change
// what the program loads.
func TestCommandRuleBindsItsFolder(t *testing.T) {
	t.Parallel()
	workspace := files(t, `.git/config src/a.go src/deep/a.go run.sh src/run.sh
		bare/HEAD bare/objects/x bare/refs/x bare/config bare/sub/x half/objects/x half/refs/x
		nested/.git/config nested/src/a linked/.git web/package.json web/src/a.js mod/go.mod mod/a.go
		make/Makefile tools/x.py hidden/.foorc ignored/.gitignore ignored/a`)
	outside := files(t, "x")
	for link, to := range map[string]string{"out": outside, "alias": "nested", "same": "src"} {
		if err := os.Symlink(to, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	type row struct {
		dir, command string
		fits         bool
	}
	rows := map[string][]row{
		`{"command":"git status"}`: {
			{"", "git status", true}, {".", "git status", true}, {workspace, "git status", true},
			{"src", "git status", true}, {"src/deep", "git status", true}, {workspace + "/src", "git status", true},
			{"same", "git status", true}, {"web", "git status", true}, {"half", "git status", true},
			{"bare", "git status", false}, {"bare/sub", "git status", false}, {"bare/objects", "git status", false},
			{"nested", "git status", false}, {"nested/src", "git status", false}, {"alias", "git status", false},
			{"linked", "git status", false}, {"nothing", "git status", false},
			{"out", "git status", false}, {outside, "git status", false}, {"..", "git status", false},
			{"", "cd src && git status", true}, {"", "cd bare && git status", false}, {"", "cd bare; git status", false},
			{"", "cd src/../bare && git status", false}, {"src", "cd ../bare && git status", false},
			{"", "(cd bare; git status)", false}, {"", "(cd bare); git status", true}, {"", "(cd src); git status", true},
			{"", "sh -c 'cd bare; git status'", false}, {"", "cd bare && sh -c 'git status'", false},
			{"", "if true; then cd bare; fi; git status", false}, {"", "cd bare || git status", true},
			{"", "cd out && git status", false}, {"", "cd / && git status", false}, {"", "cd && git status", false},
			{"", "cd - && git status", false}, {"", "cd $x && git status", false}, {"", "cd .. && git status", false},
			{"", "cd src && cd .. && git status", true}, {"", "cd src && cd ../.. && git status", false},
			{"", "while git status; do cd ..; done", false}, {"", "timeout 5 git status", true},
			{"bare", "timeout 5 git status", false}, {"", "cd src", false}, {"", "pushd src && git status", false},
			{"", "{ cd bare; }; git status", false}, {"", "cd bare & git status", true}, {"", "cd src | git status", true},
			{"", "eval 'cd bare'; git status", false}, {"", "git status $(cd bare)", false}, {"", "command cd bare; git status", false},
			{"", "echo $(cd bare; git status)", false}, {"", "! cd bare && git status", true}, {"", "! cd bare || git status", false},
		},
		`{"command":"git status","cwd":"nested"}`: {
			{"nested", "git status", true}, {"", "git status", false}, {"nested", "cd src && git status", true},
			{"nested", "cd .. && git status", false}, {"bare", "git status", false},
		},
		`{"command":"git status","cwd":"**"}`: {{"bare", "git status", true}, {"../x", "git status", false}},
		`{"command":"go test *"}`: {
			{"", "go test ./...", true}, {"src", "go test ./...", true}, {"", "cd src && go test ./...", true},
			{"web", "go test ./...", true}, {"mod", "go test ./...", false}, {"nested", "go test ./...", false},
		},
		`{"command":"npm test"}`: {
			{"", "npm test", true}, {"src", "npm test", true}, {"web", "npm test", false}, {"web/src", "npm test", false},
			{"", "cd web && npm test", false}, {"hidden", "npm test", false}, {"ignored", "npm test", true},
			{"nested", "npm test", false}, {"", "CI=1 npm test", true},
		},
		`{"command":"make *"}`: {
			{"", "make test", true}, {"src", "make test", true}, {"make", "make test", false}, {"", "cd make && make test", false},
		},
		`{"command":"python3 -m pytest *"}`: {
			{"", "python3 -m pytest -q", true}, {"tools", "python3 -m pytest -q", false}, {"", "cd tools && python3 -m pytest -q", false},
		},
		`{"command":"./run.sh *"}`: {
			{"", "./run.sh a", true}, {"src", "./run.sh a", false}, {"", "cd src && ./run.sh a", false}, {"", "./run.sh a; cd src", true},
		},
		`{"command":"./run.sh *","cwd":"src"}`: {{"src", "./run.sh a", true}, {"", "./run.sh a", false}},
		`{"command":{"exact":"git status"}}`: {
			{"", "git status", true}, {"src", "git status", true}, {"bare", "git status", false}, {"out", "git status", false},
		},
		`{"command":{"exact":"cd web && npm test"}}`: {{"", "cd web && npm test", true}, {"web", "cd web && npm test", false}},
		`{"command":["git status",{"exact":"x=1"}]}`: {{"", "git status", true}, {"bare", "git status", false}, {"src", "x=1", true}},
		`{"command":"ls *"}`: {
			{"", "ls", true}, {"bare", "ls", true}, {"web", "ls -l", true}, {"nothing", "ls", true}, {"", "cd nested && ls", true},
			{"out", "ls", false}, {"", "cd /etc && ls", false},
		},
	}
	n := 0
	for form, list := range rows {
		p := compiled(t, form)
		for _, test := range list {
			n++
			if got := p.Fits(commandIn(workspace, test.dir, test.command)); got != test.fits {
				t.Errorf("%s: %q in %q: %v", form, test.command, test.dir, got)
			}
			var set match.Set
			set.Add(p)
			if _, got := set.Fits(commandIn(workspace, test.dir, test.command)); got != test.fits {
				t.Errorf("%s in a set: %q in %q: %v", form, test.command, test.dir, got)
			}
		}
	}
	t.Logf("%d rows", n)
	// A rule that forbids binds everywhere.
	deny := compiled(t, `{"command":"git status"}`)
	for _, dir := range []string{"", "bare", "nested", "out", "nothing", "/etc"} {
		if deny.Touches(commandIn(workspace, dir, "git status")) != match.Yes {
			t.Errorf("a deny rule does not hold in %q", dir)
		}
	}
}

// What was found is compared once more before the call runs.
func TestDiskChanged(t *testing.T) {
	t.Parallel()
	workspace := files(t, "src/a.go run.sh")
	for name, change := range map[string]func(dir string){
		"a repository": func(dir string) { write(t, filepath.Join(dir, "src/.git"), "gitdir: x") },
		"a bare repository": func(dir string) {
			for _, name := range []string{"HEAD", "objects/x", "refs/x"} {
				write(t, filepath.Join(dir, "src", name), "")
			}
		},
		"another folder": func(dir string) {
			if os.Rename(filepath.Join(dir, "src"), filepath.Join(dir, "old")) != nil || os.Symlink("old", filepath.Join(dir, "src")) != nil {
				t.Error("no link")
			}
		},
	} {
		workspace := files(t, "src/a.go")
		c := commandIn(workspace, "src", "git status")
		c.Disk = &match.Disk{}
		if !compiled(t, `{"command":"git status"}`).Fits(c) || c.Disk.Changed() != "" {
			t.Fatalf("%s: it does not fit before", name)
		}
		change(workspace)
		if c.Disk.Changed() == "" {
			t.Errorf("%s is not noticed", name)
		}
	}
	c := commandIn(workspace, "", "sh run.sh")
	c.Disk = &match.Disk{}
	match.ExactCall(c)
	write(t, filepath.Join(workspace, "run.sh"), "rm -rf x")
	if c.Disk.Changed() == "" {
		t.Error("a script that was written is not noticed")
	}
}

// This exact call is bound to the script that it names, and to what its folder brings.
func TestExactCallBindsItsScript(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		dir, command string
		change       string // the file that is written meanwhile
		want         bool
	}{
		"a script":                 {"", "sh build.sh", "build.sh", false},
		"another file":             {"", "sh build.sh", "other.sh", true},
		"a program":                {"", "./build.sh a", "build.sh", false},
		"in a folder":              {"sub", "sh build.sh", "sub/build.sh", false},
		"behind cd":                {"", "cd sub && sh build.sh", "sub/build.sh", false},
		"behind cd, the other":     {"", "cd sub && sh build.sh", "build.sh", true},
		"of Python":                {"", "python3 tool.py x", "tool.py", false},
		"of Node":                  {"", "node -r ./pre.js tool.js", "pre.js", false},
		"within sh -c":             {"", "sh -c './build.sh'", "build.sh", false},
		"in a list":                {"", "ls; bash build.sh", "build.sh", false},
		"behind timeout":           {"", "timeout 5 python3 tool.py", "tool.py", false},
		"sourced":                  {"", "source build.sh", "build.sh", false},
		"no script":                {"", "go test ./...", "build.sh", true},
		"a repository comes to be": {"sub", "git status", "sub/.git", false},
		"a package comes to be":    {"sub", "npm test", "sub/package.json", false},
		"a package elsewhere":      {"sub", "npm test", "package.json", true},
		"it was a package":         {"web", "npm test", "web/a.js", true},
	} {
		workspace := files(t, "build.sh other.sh tool.py tool.js pre.js sub/build.sh web/package.json")
		p := match.ExactCall(commandIn(workspace, test.dir, test.command))
		if p == nil || !p.Fits(commandIn(workspace, test.dir, test.command)) {
			t.Errorf("%s: it does not fit itself", name)
			continue
		}
		again, err := match.Compile(decoded(t, p))
		if err != nil || again.String() != p.String() {
			t.Errorf("%s: it reads back as %v, %v", name, again, err)
			continue
		}
		write(t, filepath.Join(workspace, test.change), "changed")
		if got := again.Fits(commandIn(workspace, test.dir, test.command)); got != test.want {
			t.Errorf("%s: after the change %v (%s)", name, got, again)
		}
	}
	workspace := files(t, "build.sh")
	for _, command := range []string{"sh $x", "sh nothing.sh", "./nothing", "cd $x && sh build.sh", "python3 ."} {
		if p := match.ExactCall(commandIn(workspace, "", command)); p != nil {
			t.Errorf("%s: a yes would be kept as %s", command, p)
		}
	}
}

// decoded is the form of a pattern as it is kept.
func decoded(t *testing.T, p *match.Pattern) map[string]any {
	t.Helper()
	text, err := json.Marshal(p.Map())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Commands that only read run without a question, and no other command passes for one.
func TestReads(t *testing.T) {
	t.Parallel()
	workspace := files(t, `README.md a.go src/b.go src/deep/c.go docs/x.md .gitignore secretive.go
		hidden/.env keys/server.key plain/a plain/b`)
	write(t, filepath.Join(workspace, ".git/config"),
		"[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = x\n[branch \"main\"]\n\tremote = origin\n")
	write(t, filepath.Join(workspace, "evil/.git/config"), "[core]\n\tfsmonitor = id\n")
	write(t, filepath.Join(workspace, "filter/.git/config"), "[filter \"x\"]\n\tclean = id\n")
	write(t, filepath.Join(workspace, "included/.git/config"), "[include]\n\tpath = x\n")
	write(t, filepath.Join(workspace, "inline/.git/config"), "[core] fsmonitor = id\n")
	write(t, filepath.Join(workspace, "worktree/.git"), "gitdir: /x\n")
	write(t, filepath.Join(workspace, "hooked/.git/hooks/post-index-change"), "id\n")
	for _, name := range []string{"HEAD", "objects/x", "refs/x"} {
		write(t, filepath.Join(workspace, "bare", name), "")
	}
	outside := files(t, "x")
	for link, to := range map[string]string{"out": outside, "link": "hidden/.env"} {
		if err := os.Symlink(to, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(workspace, "linked/a"), "")
	if err := os.Symlink("../hidden/.env", filepath.Join(workspace, "linked/b")); err != nil {
		t.Fatal(err)
	}
	reads := []string{
		"grep -r x linked", "rg x linked", "grep -R x plain", "grep --dereference-recursive x plain", "rg -L x plain", "diff -r plain src",
		"ls", "ls -la", "ls -la src docs", "ls *.go", "ls src/*.go", "ls hidden", "ls -R", "pwd", "cat README.md",
		"cat src/b.go a.go", "cat *.go", "cat src/*.go | head -5", "head -n 20 README.md", "tail -5 a.go", "wc -l *.go",
		"wc -l src/*.go | sort -n", "grep -n x a.go", "grep -rn x src", "grep -rn --include=*.go x src docs", "rg x src",
		"rg -n x docs", "rg -l x plain", "rg -g '*.go' x src", "rg -t go x plain", "find . -name '*.go'", "find src -type f | wc -l", "tree -L 2", "git status",
		"git status --short", "git log --oneline -5", "git log -p src/b.go", "git diff", "git diff --stat HEAD~1",
		"git show HEAD", "git show HEAD:src/b.go", "git blame a.go", "git branch", "git branch -a", "git branch --show-current",
		"git ls-files", "git rev-parse HEAD", "git remote -v", "git stash list", "git tag -l", "git --no-pager log",
		"cd src && ls", "cd src && cat b.go", "cd src; git log", "ls && pwd", "ls; git status; git log | head", "echo hello",
		"echo done && ls", "stat a.go", "file a.go", "du -sh src", "which go", "diff a.go src/b.go", "sed -n '1,20p' a.go",
		"sort README.md | uniq -c", "test -f a.go && echo yes", "[ -d src ] || echo no", "bash -lc 'ls -la'", "timeout 5 ls",
		"LC_ALL=C sort README.md", "ls 2>/dev/null", "ls 2>&1", "cat < README.md", "cut -d: -f1 README.md", "date +%F", "true",
		"if test -f a.go; then cat a.go; fi", "cat <<'E'\nx\nE", "basename a/b", "md5sum a.go", "cat " + workspace + "/a.go",
	}
	asks := []string{
		"grep -R x linked", "grep -nR x linked", "grep --dereference-recursive x linked", "grep --deref x linked", "egrep -Rn x linked",
		"cd linked && grep -R x", "rg -L x linked", "rg -nL x linked", "rg --follow x linked", "diff -r plain linked", "cat linked/*",
		"cat .env", "cat hidden/.env", "cat hidden/.*", "cat link", "cat hidden/*", "cat keys/server.key", "cat keys/*", "head .npmrc",
		"grep -r x .", "grep -rn x hidden", "grep -r x", "rg --hidden x", "rg -uu x", "rg -g .env x hidden", "rg -g '*.env' x hidden", "rg --glob=** x hidden", "rg -ng .env x hidden", "git cat-file -p HEAD:.env", "echo HEAD:.env | git cat-file --batch", "git grep x", "cd hooked && git status", "rg x keys", "rg -n x", "cat ~/.ssh/id_rsa", "cat ../x",
		"cat /etc/passwd", "cat out/x", "ls ..", "ls /", "ls out", "ls ~", "cd .. && ls", "cd / && cat etc/passwd", "cat $x",
		"cat $(ls)", "ls $x", "echo $HOME", "echo hi > x", "ls >> x", "ls | tee x", "cat a.go | sh", "find . -delete",
		"find . -exec cat {} +", "find . -fprint x", "rg --pre=./x y", "sort -o x a.go", "uniq a.go x", "sed -i s/a/b/ a.go",
		"sed -n '1w x' a.go", "sed 's/a/b/e' a.go", "awk '{print}' a.go", "xargs cat", "ls | xargs cat", "git push", "git commit -m x",
		"git branch x", "git branch -d x", "git tag x", "git stash", "git stash drop", "git checkout x", "git add .", "git fetch",
		"git remote add x y", "git config -l", "git diff --ext-diff", "git log --output=x", "git grep -Ox y", "git -C .. log",
		"git show HEAD:.env", "git show HEAD:keys/server.key", "cd evil && git status", "cd filter && git diff", "cd included && git log",
		"cd inline && git status", "cd worktree && git status", "cd bare && git log", "PATH=. ls", "x=1", "./ls", "/tmp/ls", "npm test",
		"go test ./...", "python3 x.py", "make", "curl x", "env", "printenv", "jq . a", "tail -f a.go; rm x", "ls & rm x", "cat <<E\n$x\nE",
		"date -s x", "rm a.go", "touch x", "mkdir x", "cp a.go b", "sudo ls", "nice rm x", "ls; source x", "alias ls=rm", "f() { ls; }; f",
		"tree -o x", "cat ${x:-y}", "rg x *.go", "git diff *.go", "cat -- *", "read x",
	}
	n := 0
	for _, list := range []struct {
		commands []string
		want     bool
	}{{reads, true}, {asks, false}} {
		for _, command := range list.commands {
			n++
			if _, got := commandIn(workspace, "", command).Reads(); got != list.want {
				t.Errorf("%q reads: %v", command, got)
			}
		}
	}
	t.Logf("%d commands that only read, %d others", len(reads), len(asks))
	// The folder of the call counts like that of cd.
	for dir, want := range map[string]bool{"": true, "src": true, ".": true, "evil": false, "..": false, "out": false, "bare": false} {
		if _, got := commandIn(workspace, dir, "git status").Reads(); got != want {
			t.Errorf("git status in %q reads: %v", dir, got)
		}
	}
	for name, args := range map[string]map[string]any{
		"input":     {"command": "cat", "stdin_text": "x"},
		"of a task": {"command": "ls", "input_for": "t"},
		"writes":    {"command": "ls", "writes": []any{"x"}},
		"nothing":   {},
	} {
		if _, got := (&match.Call{Module: "shell", Action: "bash", Workspace: workspace, Args: args}).Reads(); got {
			t.Errorf("%s only reads", name)
		}
	}
	// What is read is known, so that rules about reading can be asked.
	read, ok := commandIn(workspace, "src", "cat b.go ../a.go; grep -r x deep").Reads()
	if !ok {
		t.Fatal("it does not read")
	}
	want := map[string]bool{"src/b.go": false, "a.go": false, "src/deep": false}
	if got := read.Entries[filepath.Join(workspace, "src/deep")]; len(got) != 1 || got[0] != filepath.Join(workspace, "src/deep/c.go") {
		t.Errorf("below src/deep it reads %v", got)
	}
	for _, path := range read.Paths["path"] {
		rel, _ := filepath.Rel(workspace, path)
		if below, known := want[rel]; !known || below != read.Folders[path] {
			t.Errorf("it reads %s, below %v", rel, read.Folders[path])
		}
		delete(want, rel)
	}
	if len(want) > 0 {
		t.Errorf("it does not read %v", want)
	}
}
