package hooks_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/hooks"
	"callgate/tool"
)

// pinned names the scripts of a line in a folder; those that are not there begin with -.
func pinned(t testing.TB, line, folder string) (string, error) {
	t.Helper()
	scripts, err := hooks.Scripts(line, folder, folder)
	var got []string
	for _, s := range scripts {
		name, err := filepath.Rel(folder, s.Path)
		if err != nil {
			t.Fatal(err)
		}
		if s.Digest == "" {
			name = "-" + name
		}
		got = append(got, name)
	}
	return strings.Join(got, " "), err
}

// A command is accepted with each script that it may run, or it is a mistake.
func TestScriptsAreKnown(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hooks/guard.sh", "hooks/guard.py", "hooks/plain", "package.json"} {
		write(t, filepath.Join(folder, name), "x")
	}
	for _, c := range []struct{ line, want string }{
		// scripts that are plainly named
		{`./hooks/guard.sh`, "hooks/guard.sh"},
		{`"$PWD/hooks/guard.sh"`, "hooks/guard.sh"},
		{`$PWD/hooks/guard.sh`, "hooks/guard.sh"},
		{`"$CLAUDE_PROJECT_DIR"/hooks/guard.sh`, "hooks/guard.sh"},
		{`"${CLAUDE_PROJECT_DIR:-.}/hooks/guard.sh"`, "hooks/guard.sh"},
		{`${CLAUDE_PROJECT_DIR:-$PWD}/hooks/guard.sh --fast`, "hooks/guard.sh"},
		{`python3 "$CLAUDE_PROJECT_DIR/hooks/guard.py"`, "hooks/guard.py"},
		{`bash "$PWD/hooks/plain"`, "hooks/plain"},
		{`sh hooks/new`, "-hooks/new"},
		{`. hooks/plain`, "hooks/plain"},
		{`bash < hooks/plain`, "hooks/plain"},
		{`D="$CLAUDE_PROJECT_DIR/hooks"; "$D/guard.sh"`, "-hooks hooks/guard.sh"},
		{`cd "$CLAUDE_PROJECT_DIR" && ./hooks/guard.sh`, "hooks/guard.sh"},
		{`timeout 5 bash -lc '"$PWD"/hooks/guard.sh'`, "hooks/guard.sh"},
		{`env X=1 ./hooks/guard.sh`, "hooks/guard.sh"},
		{"bash <<'EOF'\n\"$PWD/hooks/guard.sh\"\nEOF\n", "hooks/guard.sh"},
		{`node -r ./hooks/a.js x.js`, "-hooks/a.js -x.js"},
		{`[ -x hooks/guard.sh ] && exec hooks/guard.sh`, "hooks/guard.sh"},
		// none
		{`exit 2`, ""},
		{`jq -r '.tool_input.file_path' | { read f; if echo "$f" | grep -q '\.ts$'; then npx prettier --write "$f"; fi; }`, ""},
		{`jq -r '"\(.tool_input.command) - \(.tool_input.description // "No description")"' >> ~/.claude/bash-command-log.txt`, ""},
		{`jq -r '.tool_input.file_path' | xargs -I{} npx prettier --write {}`, ""},
		{`jq -r '.tool_input.file_path | select(endswith(".js"))' | xargs -r prettier --write`, ""},
		{`python3 -c "import json, sys; d=json.load(sys.stdin); sys.exit(2 if '.env' in d['tool_input']['file_path'] else 0)"`, ""},
		{`p=$(cat); case "$p" in *'"tool_name":"Write"'*) echo "saw $p" >&2; exit 2;; esac`, ""},
		{`notify-send 'Claude Code' 'Awaiting your input'`, ""},
		{`FILE=$(jq -r .tool_input.file_path); [[ "$FILE" == *.go ]] && gofmt -w "$FILE" || true`, ""},
		{`n=$(git diff --name-only | wc -l); if (( n > 50 )); then echo "too many: $n" >&2; exit 2; fi`, ""},
		{`npx eslint src/**/*.ts && shellcheck hooks/*.txt`, ""},
		{`grep -rq TODO "$(git rev-parse --show-toplevel)/src" && exit 2`, ""},
		{`mkdir -p "$HOME/logs" && date >> "$HOME/logs/x"`, ""},
		{`~/.claude/hooks/format.sh`, ""},
		{`"$HOME/.claude/hooks/format.sh" "$1"`, ""},
		{`export PATH="$HOME/.bun/bin:/usr/local/bin:$PATH"; bun test`, ""},
		{`npm test -- --silent; make lint; go vet ./...`, ""},
		{`python3 -I -m json.tool`, ""},
		{`perl -i -pe 's/\s+$//' "$1"`, ""},
		{`trap '' TERM; sleep 1`, ""},
		{`while read -r f; do test -f "$f" || exit 2; done`, ""},
		{`curl -fsS -d "$(cat)" https://example.com/hook`, ""},
		{`bash -c 'prettier "$1"' _ "$CALLGATE_HOOK_1"`, ""},
	} {
		if got, err := pinned(t, c.line, folder); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.line, got, err, c.want)
		}
	}
	for _, line := range []string{
		`cd hooks && ./guard.sh`,
		`cd "$CLAUDE_PROJECT_DIR/hooks" && python3 guard.py`,
		`pushd hooks; ./guard.sh`,
		`(cd "$(dirname "$0")"; ./guard.sh)`,
		`$(git rev-parse --show-toplevel)/hooks/guard.sh`,
		"`git rev-parse --show-toplevel`/hooks/guard.sh",
		`"$(pwd)/hooks/guard.sh"`,
		`bash "$ROOT/hooks/guard.sh"`,
		`$ROOT/hooks/plain`,
		`run-parts hooks`,
		`for f in hooks/*.sh; do sh "$f"; done`,
		`for f in hooks/*; do "$f"; done`,
		`for f in hooks/*; do . "$f"; done`,
		`hooks/gu*.sh`,
		`sh hooks/gu?rd.sh`,
		`hooks/{guard,other}.sh`,
		`python3 -m guard`,
		`PYTHONPATH=hooks python3 -m guard`,
		`python3 -um guard`,
		`PYTHONPATH=hooks python3 -c 'import guard'`,
		`env PYTHONPATH=hooks python3 -c 'import guard'`,
		`PATH="$PWD/hooks:$PATH"; guard.sh`,
		`export PATH=hooks:$PATH; guard`,
		`BASH_ENV=hooks/plain bash -c true`,
		`python3 hooks`,
		`node .`,
		`cat hooks/guard.sh | sh`,
		`bash -s < "$X/plain"`,
		`ls hooks/*.sh | xargs -n1 sh`,
		`ls hooks | xargs -I% sh hooks/%`,
		`find hooks -name '*.sh' -exec sh {} ';'`,
		`find hooks -execdir ./guard.sh ';'`,
		`env -C hooks ./guard.sh`,
		`env -S "sh hooks/guard.sh"`,
		`eval "$(cat hooks/guard.sh)"`,
		`bash -c "$(cat hooks/guard.sh)"`,
		`bash -c 'cd hooks && ./guard.sh'`,
		`bash -lc 'cd hooks && ./guard.sh'`,
		`source <(cat hooks/plain)`,
		`cat hooks/plain | bash /dev/stdin`,
		`X=$(ls hooks); "$X"`,
		`uv run "$X/hooks/guard.py"`,
		`read X; "$X"`,
		`X=./hooks/guard.sh; read X; "$X"`,
		`CLAUDE_PROJECT_DIR=/x; $CLAUDE_PROJECT_DIR/hooks/guard.sh`,
		"bash <<'EOF'\ncd hooks; ./guard.sh\nEOF\n",
		`parallel sh ::: hooks/guard.sh`,
		`bash -c '"$1"' _ hooks/plain`,
		`./hooks/guard.sh "`,
	} {
		got, err := pinned(t, line, folder)
		var e *tool.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, "name the script as ./path") {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// A file whose hook names its scripts so that nobody can tell them is not loaded.
func TestUnknownScriptIsAMistake(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := write(t, filepath.Join(folder, "callgate.yaml"),
		"runtime:\n  hooks:\n  - {id: guard, on: tool_start, action: {type: command, command: cd hooks && ./guard.sh}}\n")
	_, err := app.Load(file, known)
	if err == nil || !strings.Contains(err.Error(), "changes its folder by cd") ||
		!strings.Contains(err.Error(), "$CLAUDE_PROJECT_DIR/path") {
		t.Errorf("%v", err)
	}
}

// The digest is that of the whole script; one that is too large has none.
func TestDigestOfAllBytes(t *testing.T) {
	t.Parallel()
	big := filepath.Join(t.TempDir(), "big.sh")
	data := bytes.Repeat([]byte("#\n"), 3<<20)
	write(t, big, string(data))
	before := hooks.Digest(big)
	write(t, big, string(data)+"touch stolen\n")
	if after := hooks.Digest(big); before == "" || after == "" || before == after {
		t.Errorf("%q, %q", before, after)
	}
	if err := os.Truncate(big, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	if got := hooks.Digest(big); got != "" {
		t.Errorf("too large: %q", got)
	}
}
