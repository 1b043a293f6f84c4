package shellcmd_test

import (
	"testing"

	"callgate/internal/gate/shellcmd"
)

// A rule that forbids finds its command wherever it stands, and is in doubt where
// it cannot be told.
func TestTouches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, line string
		found, sure   bool
	}{
		{"rm *", "rm x", true, true},
		{"rm *", "rm", true, true},
		{"rm *", "ls", false, true},
		{"rm *", "ls rm", false, true},
		{"rm *", "echo 'rm x'", false, true},
		{"rm *", "/bin/rm x", true, true},
		{"rm *", `\rm x`, true, true},
		{"rm *", `r''m x`, true, true},
		{"rm *", "ls; (cd a && rm x)", true, true},
		{"rm *", "echo $(rm x)", true, true},
		{"rm *", "cat <<E\n`rm x`\nE", true, true},
		{"rm *", "x=$(rm x)", true, true},
		{"rm *", "f() { rm x; }", true, true},
		{"rm *", "echo $((a[$(rm x)]))", true, true},
		{"rm *", "sudo rm x", true, true},
		{"rm *", "sudo -u root rm x", true, true},
		{"rm *", "env A=b rm x", true, true},
		{"rm *", "ls | xargs rm", true, true},
		{"rm *", "find . -exec rm {} +", true, true},
		{"rm *", "bash -lc 'rm x'", true, true},
		{"rm *", "bash -euo pipefail -c 'rm x'", true, true},
		{"rm *", "bash -ic 'rm x'", false, false},
		{"rm *", "fish -c 'rm x'", true, true},
		{"rm *", "fish -c 'ls'", false, false},
		{"rm *", "uv run rm x", true, true},
		{"rm *", "uv run pytest", false, true},
		{"rm *", "uv run --frozen pytest", false, false},
		{"rm *", "docker run alpine rm x", true, true},
		{"rm *", "docker run -e A=b alpine ls", false, false},
		{"rm *", "kubectl exec pod -- rm x", true, true},
		{"rm *", "npm exec rm x", true, true},
		{"rm *", "deno eval x", false, false},
		{"rm *", "CI=1 rm x", true, true},
		{"rm *", "cd src && rm x", true, true},
		{"rm *", "sh -c 'ls; rm x'", true, true},
		{"rm *", "eval 'rm x'", true, true},
		{"rm *", "trap 'rm x' EXIT", true, true},
		{"rm *", "ssh host rm x", true, true},
		{"rm *", "timeout 5 nice rm x", true, true},
		{"rm *", "$x y", false, false},
		{"rm *", "$(echo rm) y", false, false},
		{"rm *", "r$x y", false, false},
		{"rm *", "sh -c \"$x\"", false, false},
		{"rm *", "python3 -c 'x'", false, false},
		{"rm *", "source x", false, false},
		{"rm *", "bash x.sh", false, true},
		{"rm *", "bash", false, false},
		{"rm *", "bash -", false, false},
		{"rm *", "bash /dev/stdin", false, false},
		{"rm *", "bash //dev/./stdin x", false, false},
		{"rm *", "cd /dev; bash stdin", false, false},
		{"rm *", "sh /dev/fd/0", false, false},
		{"rm *", "cd /dev/fd; sh 0", false, false},
		{"rm *", "sh /proc/self/fd/0", false, false},
		{"rm *", "timeout 5 sh ../../proc/1/fd/0", false, false},
		{"rm *", "python3 /dev/stdin", false, false},
		{"rm *", "python3 -", false, false},
		{"rm *", "python3 x.py", false, true},
		{"rm *", "echo 'unfinished", false, false},
		{"rm *", "echo\u200b", false, false},
		{"rm *", "RM x", true, true},
		{"rm *", "git -c alias.x='!rm x' x", false, false},
		{"rm *", "git rebase --ex 'rm x'", false, false},
		{"rm *", "git bisect run rm x", false, false},
		{"rm *", "tar xf a --checkpoint-action=exec='rm x'", false, false},
		{"rm *", "tar xf a -I'rm x'", false, false},
		{"rm *", "go test -exec 'rm x' ./...", false, false},
		{"rm *", "go test ./...", false, true},
		{"rm *", "git log --oneline", false, true},
		{"rm *", "awk 'BEGIN{system(\"rm x\")}'", false, false},
		{"git push *", "git push", true, true},
		{"git push *", "git -C x push -f", false, false},
		{"git push *", "git --no-pager log", false, true},
		{"git push *", "git $x", false, false},
		{"git push *", "git log push", false, true},
		{"git push --force *", "git push origin --force", false, true},
		{"git push", "git push -f", false, false},
	} {
		p, err := shellcmd.CompilePattern(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if found, sure := shellcmd.Parse(test.line).Touches(p); found != test.found || sure != test.sure {
			t.Errorf("%s in %q: found %v, sure %v, want %v, %v", test.pattern, test.line, found, sure, test.found, test.sure)
		}
	}
}

// FuzzSuggest: what is offered for a line allows it.
func FuzzSuggest(f *testing.F) {
	for line := range tableLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := shellcmd.Parse(text)
		for _, list := range shellcmd.Suggest(line) {
			var all []*shellcmd.Pattern
			for _, pattern := range list {
				p, err := shellcmd.CompilePattern(pattern)
				if err != nil {
					t.Fatalf("%q: the pattern %q cannot be read: %v", text, pattern, err)
				}
				all = append(all, p)
			}
			allows := func(c *shellcmd.Command) bool { return allowedBy(all)(c) || c.Enters() != nil || c.Filters() }
			if !line.Allowed(allows) && line.FirstRefused(allows) != "" {
				t.Errorf("%q is not allowed by %q", text, list)
			}
		}
	})
}
