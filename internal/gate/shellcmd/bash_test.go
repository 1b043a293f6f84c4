//go:build unix

package shellcmd_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/gate/shellcmd"
)

// stub notes how it was called, and prints what a careless line would take for
// options and commands.
const stub = `#!/bin/sh
printf '%s\0' "$#" "${0##*/}" "$@" >>"$STUB_LOG"
printf '%s\n' '--output=out -exec rm {} ; rm x'
`

// startup makes programs of the commands of bash itself, so that they are noted too.
const startup = `ulimit -v 600000
enable -n . : [ alias bg bind builtin caller cd command compgen complete compopt dirs disown echo eval exec export \
  false fc fg getopts hash help history jobs kill let logout mapfile popd printf pushd pwd read readarray readonly \
  shopt source suspend test times trap true type typeset ulimit umask unalias unset wait local declare set enable
`

// bashOracle runs lines in bash, where every program is a stub.
type bashOracle struct {
	bash, dir string
}

func newBashOracle(t testing.TB) *bashOracle {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	o := &bashOracle{bash, t.TempDir()}
	names := strings.Fields(`. : [ alias bash builtin cat cd command cp curl declare echo enable env eval exec export
		false fd find git go grep hash head let local ls make mapfile mv nice nohup npm npx printf python3 read rg rm
		sed set setsid sh shopt sort source ssh stdbuf sudo tail tar tee test time timeout touch trap true tr typeset
		uniq unset vim wait watch wc xargs awk popd pushd readonly`)
	for path, text := range map[string]string{
		"startup": startup, "work/-exec": "", "work/--output=y": "", "work/a.go": "", "work/src/b.go": "", "work/x": "x",
	} {
		path = filepath.Join(o.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(o.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name == "." {
			continue
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte(stub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// run returns the commands that a line ran, and what bash said. Bash is
// restricted: it neither writes a file nor leaves the stubs.
func (o *bashOracle) run(t testing.TB, line string) (ran [][]string, said string) {
	t.Helper()
	log := filepath.Join(o.dir, "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.bash, "-r", "-c", line)
	cmd.Dir = filepath.Join(o.dir, "work")
	cmd.Env = []string{
		"PATH=" + filepath.Join(o.dir, "bin"), "STUB_LOG=" + log, "BASH_ENV=" + filepath.Join(o.dir, "startup"),
		"HOME=/--output=home", "USER=-exec", "LC_ALL=C.UTF-8", "x=--output=out rm", "name=; rm x", "y=a[$(rm x)]",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run() // what the line returns does not matter
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	for len(rest) > 1 {
		n, err := strconv.Atoi(rest[0])
		if err != nil || len(rest) < n+2 {
			t.Fatalf("%q: the log of the stubs is broken: %q", line, text)
		}
		ran, rest = append(ran, rest[1:n+2]), rest[n+2:]
	}
	return ran, stderr.String()
}

// check fails if a line that is allowed runs anything else than what is allowed
// by itself.
func (o *bashOracle) check(t testing.TB, line string, allows func(*shellcmd.Command) bool) {
	t.Helper()
	if strings.Contains(line, "while") || strings.Contains(line, "until") {
		return // it may not end
	}
	ran, said := o.run(t, line)
	for _, words := range ran {
		if !shellcmd.FromWords(words).Allowed(allows) {
			t.Errorf("%q is allowed, and ran %q", line, words)
		}
	}
	expected := strings.Contains(line, "/dev/null") || strings.Contains(line, "/bin/") || strings.Contains(line, "vet.log") ||
		strings.Contains(line, "./tool.sh")
	if strings.Contains(said, "restricted") && !expected {
		t.Errorf("%q is allowed, and bash says %s", line, said)
	}
}

// What the table lets run does in bash what its words say.
func TestTableInBash(t *testing.T) {
	t.Parallel()
	o := newBashOracle(t)
	allows := allowedBy(patterns(t))
	for line, runs := range tableLines(t) {
		if runs {
			o.check(t, line, allows)
		}
	}
	// The oracle itself sees what it should.
	for line, want := range map[string]string{
		"git log; rm x": "rm x", "echo $(rm x)": "rm x", "eval 'a'": "eval a", "git log $x": "git log --output=out rm",
		"[ a ]": "[ a ]", "git log *": "git log --output=y -exec a.go src x",
	} {
		ran, said := o.run(t, line)
		found := false
		for _, words := range ran {
			found = found || strings.Join(words, " ") == want
		}
		if !found {
			t.Errorf("%q ran %q, without %q: %s", line, ran, want, said)
		}
	}
}

// FuzzBash holds what is allowed against bash itself.
func FuzzBash(f *testing.F) {
	for line := range tableLines(f) {
		f.Add(line)
	}
	o := newBashOracle(f)
	allows := allowedBy(patterns(f))
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 400 || strings.ContainsRune(line, 0) {
			return
		}
		if shellcmd.Parse(line).Allowed(allows) {
			o.check(t, line, allows)
		}
	})
}

// pieces are what FuzzPieces makes lines of: each byte is one.
var pieces = []string{
	"git log ", "echo ", "ls ", "cat ", "rm x", "x", "$x", "\"$x\"", "${x}", "a", "-exec", "*", "?", "[a]", "{a,b}", "~", " ",
	"  ", "\t", "\n", ";", "&&", "||", "|", "|&", "&", "(", ")", "{ ", "; }", "$(", "`", "'", "\"", "\\", "\\\n", "$'", "$\"",
	"<(", ">(", "<<E\n", "<<'E'\n", "<<-E\n", "\nE\n", "<<<", "<", ">", ">&", "2>&1", "1", ">/dev/null", "#", " # ", "!", "! ",
	"[[ ", " ]]", " == ", "-f ", "if ", "; then ", "; else ", "; fi", "for f in ", "; do ", "; done", "$f", "case ", " in ", ") ",
	";;", " esac", "sh -c '", "timeout 5 ", "env ", "eval '", "xargs ", "command ", "=", "a=", "a[", "]", "((", "))", "$((",
	"${", "}", ":-", "@", "%", "^", "+", ",", "..", "\u00e9", "time ", "nice ", "head ", "git status", "\r", "function ", "() ",
}

// FuzzPieces does as FuzzBash does, with lines that are more often allowed.
func FuzzPieces(f *testing.F) {
	f.Add([]byte{0, 20, 1, 30, 0, 27})
	f.Add([]byte{70, 0, 32, 23, 71, 2})
	f.Add([]byte{3, 40, 30, 0, 27, 43, 20, 2})
	o := newBashOracle(f)
	allows := allowedBy(patterns(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b strings.Builder
		for _, c := range data[:min(len(data), 24)] {
			b.WriteString(pieces[int(c)%len(pieces)])
		}
		if line := b.String(); shellcmd.Parse(line).Allowed(allows) {
			o.check(t, line, allows)
		}
	})
}

// Random lines, as many as a test may take.
func TestRandomLinesInBash(t *testing.T) {
	t.Parallel()
	o := newBashOracle(t)
	allows := allowedBy(patterns(t))
	random := rand.New(rand.NewPCG(1, 2))
	for checked := 0; checked < 150; {
		var b strings.Builder
		for range 2 + random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		if line := b.String(); shellcmd.Parse(line).Allowed(allows) {
			o.check(t, line, allows)
			checked++
		}
	}
}
