package gittool_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/module/git/gittest"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

const op = "git.test"

// newCall makes a call on a repository with two commits.
func newCall(t *testing.T) (*gittest.Workspace, *gittool.Call) {
	t.Helper()
	w := gittest.New(t).WithRepository()
	runner := &repo.Runner{}
	t.Cleanup(func() { gittest.Check(t, runner.Close()) })
	opened, err := runner.Open(op, w.Grant, ".")
	gittest.Check(t, err)
	return w, &gittool.Call{Repository: opened, Op: op, Settings: gittool.Defaults(), Grant: w.Grant}
}

func TestCheckForce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ force, allowed, denied bool }{
		{false, false, false}, {false, true, false}, {true, true, false}, {true, false, true},
	} {
		c := &gittool.Call{Op: op, Settings: &gittool.Settings{AllowForce: tt.allowed}}
		got, err := c.CheckForce(tt.force)
		if tt.denied != (tool.KindOf(err) == tool.Denied) || err == nil && got != tt.force {
			t.Errorf("%+v: %v %v", tt, got, err)
		}
	}
}

func TestCheckProtected(t *testing.T) {
	t.Parallel()
	c := &gittool.Call{Op: op, Settings: &gittool.Settings{Protected: []string{"main", "release/*"}}}
	for branch, protected := range map[string]bool{
		"main": true, "release/1.0": true, "release/1/0": false, "release": false, "mainline": false, "Main": false, "": false,
	} {
		err := c.CheckProtected(branch, "pushed")
		if protected != (tool.KindOf(err) == tool.Denied) {
			t.Errorf("%q: %v", branch, err)
		}
		if protected && !strings.Contains(err.Error(), "pushed") {
			t.Errorf("%q: the error does not say what is refused: %v", branch, err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*gittool.Settings)
		want   string // a part of the error; empty: none
	}{
		{"the defaults", func(*gittool.Settings) {}, ""},
		{"patterns", func(s *gittool.Settings) { s.Protected = []string{"main", "release/*", "[ab]"} }, ""},
		{"a pattern that is broken", func(s *gittool.Settings) { s.Protected = []string{"main", "["} }, "protected_branches"},
		{"hosts", func(s *gittool.Settings) { s.AllowedHosts = []string{"example.com", "*.example.org"} }, ""},
		{"a host that is broken", func(s *gittool.Settings) { s.DeniedHosts = []string{"https://example.com/x"} }, "is not a host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := gittool.Defaults()
			tt.change(s)
			err := s.Check()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRuntimes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		runtime tool.Runtime
		effect  tool.SideEffect
		risk    tool.Risk
		network bool
		modes   []tool.Mode // of its effects
	}{
		{"read", gittool.ReadRuntime(), tool.Read, tool.Low, false, []tool.Mode{tool.S, tool.S, tool.IS, tool.IS}},
		{"write", gittool.WriteRuntime(tool.Medium, false), tool.Write, tool.Medium, false, []tool.Mode{tool.X, tool.X, tool.IS, tool.IS}},
		{"write files", gittool.WriteRuntime(tool.Medium, true), tool.Write, tool.Medium, false, []tool.Mode{tool.X, tool.X, tool.IS, tool.IS, tool.U}},
		{"network", gittool.NetworkRuntime(true), tool.External, tool.High, true, []tool.Mode{tool.X, tool.X, tool.IS, tool.IS, tool.U}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var modes []tool.Mode
			for _, e := range tt.runtime.Effects {
				modes = append(modes, e.Mode)
			}
			r := tt.runtime
			if r.SideEffect != tt.effect || r.Risk != tt.risk || r.Network != tt.network || !slices.Equal(modes, tt.modes) {
				t.Errorf("got %+v", r)
			}
			// The longest time that an app file can give must end before the kernel's.
			if longest := 1800 * time.Second; r.Timeout <= longest {
				t.Errorf("the kernel ends it after %v", r.Timeout)
			}
		})
	}
}

// patch asks Git for a patch of what differs from a revision, and reads it.
func patch(t *testing.T, c *gittool.Call, p gittool.Page, revision string) (gittool.PatchData, string) {
	t.Helper()
	out, err := c.Run(t.Context(), repo.Command{Args: append(append([]string{"diff"}, p.Flags()...), revision, "--")})
	gittest.Check(t, err)
	data, text, err := c.Patch(out.Text, p, false)
	gittest.Check(t, err)
	return data, text
}

func TestPatch(t *testing.T) {
	t.Parallel()
	w, c := newCall(t)
	w.Write("a.txt", "one\n2\nthree\nfour\n")
	w.Write("dir/b.txt", "b\nc\n")
	w.Git("mv", "dir/b.txt", "dir/c.txt")

	whole, text := patch(t, c, gittool.Page{}, "HEAD")
	if whole.Total != 2 || len(whole.Files) != 2 || whole.Added != 2 || whole.Deleted != 0 || whole.Truncated {
		t.Errorf("the whole: %+v", whole)
	}
	if !strings.Contains(text, "+four") || !strings.Contains(text, "rename to dir/c.txt") {
		t.Errorf("the whole:\n%s", text)
	}
	if got := whole.Summary(); got != "2 files changed, +2 -0" {
		t.Errorf("its summary: %q", got)
	}

	stat, text := patch(t, c, gittool.Page{Stat: true, Skip: 1}, "HEAD")
	if text != "dir/b.txt -> dir/c.txt: +1 -0\n" || stat.Total != 2 || stat.Added != 2 || stat.Truncated {
		t.Errorf("the second file: %+v\n%s", stat, text)
	}

	none := 0
	_, text = patch(t, c, gittool.Page{Context: &none}, "HEAD")
	if strings.Contains(text, "\n three\n") || !strings.Contains(text, "+four") {
		t.Errorf("without context:\n%s", text)
	}
}

// A patch that does not fit says where it continues, and the pages together are
// the whole.
func TestPatchInPages(t *testing.T) {
	t.Parallel()
	w, c := newCall(t)
	for _, name := range []string{"a.txt", "dir/b.txt", "new.txt"} {
		w.Write(name, strings.Repeat(name+"\n", 40))
	}
	w.Git("add", ".")
	whole, text := patch(t, c, gittool.Page{}, "HEAD")
	c.Settings.MaxBytes = len(text) / 2
	var pages string
	skip := 0
	for range whole.Total {
		data, part := patch(t, c, gittool.Page{Skip: skip}, "HEAD")
		pages += part
		if !data.Truncated {
			break
		}
		if data.NextSkip <= skip || !strings.Contains(data.Summary(), "skip=") {
			t.Fatalf("no way on from %d: %+v", skip, data)
		}
		skip = data.NextSkip
	}
	if pages != text {
		t.Errorf("the pages are not the whole:\n%s", pages)
	}

	c.Settings.MaxBytes = 100 // no file fits
	data, part := patch(t, c, gittool.Page{}, "HEAD")
	if data.NextSkip != 1 || !strings.Contains(part, "left out") {
		t.Errorf("one file, and not all of it: %+v\n%s", data, part)
	}
	if data, part := patch(t, c, gittool.Page{Skip: 99}, "HEAD"); part != "" || data.Truncated || data.Total != 3 {
		t.Errorf("past the end: %+v\n%s", data, part)
	}
}

func TestPatchIsNotUnderstood(t *testing.T) {
	t.Parallel()
	c := &gittool.Call{Op: op, Settings: gittool.Defaults()}
	if _, _, err := c.Patch("x\ty\tz\x00", gittool.Page{}, false); tool.KindOf(err) != tool.Internal {
		t.Errorf("got %v", err)
	}
	cut := gittool.PatchData{Total: 1, Added: 3, Truncated: true}
	if got := cut.Summary(); got != "1 file changed, +3 -0; not all of it is shown: name paths" {
		t.Errorf("output that was cut: %q", got)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w, c := newCall(t)
	head := strings.TrimSpace(w.Git("rev-parse", "HEAD"))
	first := strings.TrimSpace(w.Git("rev-parse", "HEAD~1"))
	w.Git("tag", "-a", "v1", "-m", "one", first)
	w.Git("branch", "topic", first)
	for revision, want := range map[string]string{"main": head, "HEAD~1": first, "v1": first, "topic": first, head[:12]: head} {
		if got, err := c.Resolve(t.Context(), revision); err != nil || got != want {
			t.Errorf("%s is %s, want %s: %v", revision, got, want, err)
		}
	}
	for _, revision := range []string{"none", "", "--all", "HEAD:a.txt", strings.Repeat("0", 40)} {
		if got, err := c.Resolve(t.Context(), revision); tool.KindOf(err) != tool.NotFound {
			t.Errorf("%q is %q: %v", revision, got, err)
		}
	}
	if got := c.CommitOf(t.Context(), "topic"); got != first {
		t.Errorf("topic is at %q", got)
	}
	for _, branch := range []string{"none", "top", "v1", "*"} { // a prefix, a tag and a pattern are no branch
		if got := c.CommitOf(t.Context(), branch); got != "" {
			t.Errorf("the branch %s is at %q", branch, got)
		}
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	w, c := newCall(t)
	w.Git("branch", "topic", "HEAD~1")
	list, err := c.Refs(t.Context(), 10, "refs/heads")
	gittest.Check(t, err)
	if len(list) != 2 {
		t.Fatalf("got %+v", list)
	}
	if list, err = c.Refs(t.Context(), 1, "refs/heads"); err != nil || len(list) != 1 {
		t.Errorf("at most one: %+v %v", list, err)
	}
	if list, err = c.Refs(t.Context(), 10, "refs/tags"); err != nil || len(list) != 0 {
		t.Errorf("no tags: %+v %v", list, err)
	}
}

func TestSetUpstream(t *testing.T) {
	t.Parallel()
	w, c := newCall(t)
	c.SetUpstream(t.Context(), "main", "origin/feature/x")
	remote := strings.TrimSpace(w.Git("config", "branch.main.remote"))
	merge := strings.TrimSpace(w.Git("config", "branch.main.merge"))
	if remote != "origin" || merge != "refs/heads/feature/x" || len(c.Warnings) > 0 {
		t.Errorf("got %s %s %v", remote, merge, c.Warnings)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	w := gittest.New(t).WithRepository()
	runner := &repo.Runner{}
	t.Cleanup(func() { gittest.Check(t, runner.Close()) })
	handler := gittool.Handler(runner, "test", func(ctx context.Context, c *gittool.Call, in gittool.RepoArg) (*tool.Result, error) {
		if _, limited := ctx.Deadline(); !limited || c.Op != op || c.Repository == nil {
			t.Errorf("the call is %+v, limited: %v", c, limited)
		}
		c.Warnings = append(c.Warnings, "look out")
		return gittool.TextResult("done in "+in.Folder(), nil, "words")
	})
	run := func(args string) (*tool.Result, error) {
		return handler.Execute(t.Context(), tool.Call{Args: json.RawMessage(args)}, w.Grant)
	}
	r, err := run(`{}`)
	if err != nil || r.Summary != "done in ." || !slices.Equal(r.Warnings, []string{"look out"}) || r.Content[0].Text != "words" {
		t.Errorf("got %+v %v", r, err)
	}
	if _, err := run(`{"repo":"nowhere"}`); err == nil {
		t.Error("a folder that is no repository was opened")
	}
	if _, err := run(`{"repo":1}`); tool.KindOf(err) != tool.Invalid {
		t.Errorf("arguments of another form: %v", err)
	}
}
