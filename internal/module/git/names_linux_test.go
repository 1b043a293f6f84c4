package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/git/gittest"
)

// TestHostileNames: names of files and references are data, whatever they look
// like.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	names := []string{
		"new\nline", "quo\"te", `back\slash`, "bad\xff\xfe", "-rf", "--output=out", ":(exclude)a.txt", ":!a.txt", ":/", "*",
		"a b", "\x1b[31mred", "$(touch x)", "`touch x`", ";touch x", strings.Repeat("n", 255),
		"--upload-pack=" + strings.ReplaceAll(h.canary("names"), "/", "_"), "été", "HEAD", "main", "@", "~", "{}", "%n%H",
		"sub/\tdir/\x01",
	}
	for _, name := range names {
		h.Write("r/"+name, "x\n")
	}
	check(t, os.Symlink("/etc/passwd", filepath.Join(h.repo, "link")))
	check(t, os.Symlink("../..", filepath.Join(h.repo, "up")))
	r := h.Call("add", args{"repo": "r", "all": true})
	h.Says(r, "staged 27 files")
	shown := gittest.Data[struct{ Paths []string }](t, r).Paths
	h.Call("commit", args{"repo": "r", "message": "odd"})

	// The calls are made on copies, so that some can be made at the same time.
	copied := func(t *testing.T) *hostile {
		c := newHostileTools(t)
		check(t, os.CopyFS(filepath.Join(c.repo, ".git"), os.DirFS(filepath.Join(h.repo, ".git"))))
		c.git("reset", "-q", "--hard") // the names are not all valid to CopyFS
		c.canary("names")
		return c
	}
	t.Run("on copies", func(t *testing.T) {
		for i, part := range slices.Collect(slices.Chunk(shown, 7)) {
			t.Run(fmt.Sprintf("files %d", i), func(t *testing.T) {
				t.Parallel()
				hostileFiles(copied(t), part)
			})
		}
		t.Run("references", func(t *testing.T) {
			t.Parallel()
			hostileReferences(copied(t))
		})
	})
}

// hostileFiles makes calls with the path of a file that was added in the last
// commit; each must be about that file alone.
func hostileFiles(h *hostile, paths []string) {
	for _, path := range paths {
		one := []string{path}
		for _, s := range []step{
			{"show", args{"path": path}, nil},
			{"blame", args{"path": path}, nil},
			{"log", args{"paths": one}, nil},
			{"log", args{"paths": one, "follow": true}, nil},
			{"diff", args{"from": "HEAD~1", "paths": one, "stat": true}, nil},
			{"checkout", args{"to": "HEAD", "paths": one}, nil},
		} {
			r := h.Call(s.tool, s.args.In("r"))
			want := map[string]string{"log": "1 commit", "diff": "1 file"}[s.tool]
			if !strings.HasPrefix(r.Summary, want) {
				h.T.Errorf("%s of %s: %s", s.tool, path, r.Summary)
			}
			if s.tool == "show" && strings.Contains(gittest.Text(r), "root:") {
				h.T.Error("a link was followed out of the repository")
			}
		}
	}
	if ran := h.fired(); len(ran) > 0 {
		h.T.Errorf("the canaries of %q ran", ran)
	}
}

// hostileReferences makes calls with names of branches that look like options.
func hostileReferences(h *hostile) {
	id := h.git("rev-parse", "HEAD")
	for _, ref := range []string{
		"-d", "--output=out", "--upload-pack=x", "--exec=" + filepath.Base(h.canary("names")), "-b", "..dots", "HEAD",
	} {
		h.Write("r/.git/refs/heads/"+ref, id+"\n")
		h.Write("r/.git/refs/remotes/origin/"+ref, id+"\n")
		if ref != "HEAD" && ref != "..dots" { // these are revisions
			refusedEverywhere(h, ref)
		}
		h.Call("branches", args{"repo": "r", "remote": true})
		h.Call("status", args{"repo": "r"})
		h.Call("log", args{"repo": "r", "all": true})
	}
	if _, err := os.Stat(filepath.Join(h.repo, "out")); err == nil {
		h.T.Error("a name became an option")
	}
	h.walk("r", steps)
}

func refusedEverywhere(h *hostile, ref string) {
	for _, s := range []step{
		{"log", args{"rev": ref}, nil},
		{"show", args{"rev": ref}, nil},
		{"diff", args{"from": ref}, nil},
		{"diff", args{"from": "HEAD", "to": ref}, nil},
		{"blame", args{"path": "a.txt", "rev": ref}, nil},
		{"checkout", args{"to": ref}, nil},
		{"checkout", args{"to": ref, "create": true}, nil},
		{"checkout", args{"to": "fresh", "create": true, "start": ref}, nil},
		{"restore", args{"paths": []string{"."}, "source": ref}, nil},
		{"branches", args{"create": ref}, nil},
		{"branches", args{"create": "b", "start": ref}, nil},
		{"branches", args{"delete": ref}, nil},
		{"branches", args{"rename": ref, "to": "b"}, nil},
		{"branches", args{"rename": "side", "to": ref}, nil},
		{"fetch", args{"remote": ref}, nil},
		{"fetch", args{"branch": ref}, nil},
		{"pull", args{"branch": ref}, nil},
		{"push", args{"branch": ref}, nil},
		{"push", args{"tag": ref}, nil},
		{"push", args{"remote": ref}, nil},
	} {
		if _, err := h.Try(s.tool, s.args.In("r")); err == nil || len(h.fired()) > 0 {
			h.T.Errorf("%s(%v) was not refused", s.tool, s.args)
		}
	}
	if _, err := h.Try("clone", args{"url": "https://example.com/x", "branch": ref}); err == nil || len(h.fired()) > 0 {
		h.T.Errorf("clone of the branch %q was not refused", ref)
	}
}
