//go:build unix

package executable_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/registry"
	"callgate/internal/source/executable"
	"callgate/tool"
)

var _ registry.Source = (*executable.Layers)(nil)

// says is a script that prints a word.
func says(word string) string { return "#!/bin/sh\necho '\"" + word + "\"'\n" }

// ids are the IDs of the tools, sorted, each with the folder of its executable
// as far as its description tells.
func ids(t *testing.T, l *executable.Layers) string {
	t.Helper()
	tools, err := l.Tools(t.Context())
	must(t, err)
	var list []string
	for _, x := range tools {
		list = append(list, x.ID.String()+" "+x.Spec.Description)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// described is a manifest with a description that tells where it is.
func described(name, version, where string) string {
	text := manifest(name, `"version": "`+version+`"`)
	return strings.Replace(text, "Does something.", where, 1)
}

func TestLayers(t *testing.T) {
	t.Parallel()
	root := files{
		"one/global/x.json": described("git.commit", "2.0", "one/global"), "one/global/x": says("x"),
		"one/global/y.json": described("git.push", "1.0", "one/global"), "one/global/y": says("y"),
		"one/agent/x.json": described("git.commit", "1.0", "one/agent"), "one/agent/x": says("x"),
		"one/agent/x2.json": described("git.commit", "1.1", "one/agent"), "one/agent/x2": says("x"),
		"two/agent/y.json": described("git.push", "0.9", "two/agent"), "two/agent/y": says("y"),
		"two/agent/x.json": described("git.commit", "9.0", "two/agent"), "two/agent/x": says("x"),
		"two/global/z.json": described("git.pull", "1.0", "two/global"), "two/global/z": says("z"),
	}.write(t, t.TempDir())
	one, two := filepath.Join(root, "one"), filepath.Join(root, "two")
	for _, c := range []struct {
		name string
		dirs []string
		want string
	}{
		{"one folder", []string{one},
			"git:commit@1.0.0 one/agent, git:commit@1.1.0 one/agent, git:push@1.0.0 one/global"},
		{"two folders", []string{one, two}, "git:commit@1.0.0 one/agent, git:commit@1.1.0 one/agent, " +
			"git:pull@1.0.0 two/global, git:push@0.9.0 two/agent"},
		{"the other way round", []string{two, one}, "git:commit@9.0.0 two/agent, git:pull@1.0.0 two/global, git:push@0.9.0 two/agent"},
		{"no layers", []string{filepath.Join(one, "global")}, ""},
		{"no folders", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := executable.NewLayers(executable.LayersOptions{Name: "the folders of x", Dirs: c.dirs, Check: check})
			if got := ids(t, l); got != c.want || l.Name() != "the folders of x" || len(l.Problems()) != 0 {
				t.Errorf("%s has %s; want %s; problems %v", l.Name(), got, c.want, l.Problems())
			}
		})
	}
}

func TestProblemsOfLayers(t *testing.T) {
	t.Parallel()
	root := files{
		"global/bad.json": `{"llm": `, "global/good.json": manifest("a.good", ""), "global/good": script,
		"agent/worse.json": `{`,
	}.write(t, t.TempDir())
	l := executable.NewLayers(executable.LayersOptions{Dirs: []string{root}})
	tools, err := l.Tools(t.Context())
	must(t, err)
	var files []string
	for _, p := range l.Problems() {
		files = append(files, filepath.Base(p.File))
	}
	if len(tools) != 1 || !slices.Equal(files, []string{"worse.json", "bad.json"}) {
		t.Errorf("%d tools, problems in %v", len(tools), files)
	}
	strict := executable.NewLayers(executable.LayersOptions{Dirs: []string{root}, Strict: true})
	if tools, err := strict.Tools(t.Context()); tools != nil || tool.KindOf(err) != tool.Invalid {
		t.Errorf("strict: %v, %v", tools, err)
	}
}

// Every change of a file that could change the tools is noticed, once.
func TestLayersNoticeChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(t *testing.T, root string)
	}{
		{"a new manifest", func(t *testing.T, root string) { files{"agent/n.json": manifest("a.n", "")}.write(t, root) }},
		{"a lock", func(t *testing.T, root string) { files{"tools.lock.json": "{}"}.write(t, root) }},
		{"a larger file", func(t *testing.T, root string) { files{"global/x.json": manifest("a.longer", "")}.write(t, root) }},
		{"a newer file", func(t *testing.T, root string) {
			must(t, os.Chtimes(filepath.Join(root, "global/x"), time.Time{}, time.Now().Add(time.Hour)))
		}},
		{"another mode", func(t *testing.T, root string) { must(t, os.Chmod(filepath.Join(root, "global/x"), 0o700)) }},
		{"a file that is gone", func(t *testing.T, root string) { must(t, os.Remove(filepath.Join(root, "global/x"))) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := files{"global/x.json": manifest("a.x", ""), "global/x": script, "agent/": ""}.write(t, t.TempDir())
			l := executable.NewLayers(executable.LayersOptions{Dirs: []string{root}})
			if l.Changed() {
				t.Error("changed from the start")
			}
			c.change(t, root)
			if !l.Changed() {
				t.Error("the change was not noticed")
			}
			if l.Changed() {
				t.Error("the change was noticed twice")
			}
		})
	}
}

func TestSameLayers(t *testing.T) {
	t.Parallel()
	root := files{"one/global/": "", "two/global/": ""}.write(t, t.TempDir())
	opt := executable.LayersOptions{Dirs: []string{filepath.Join(root, "one")}}
	l := executable.NewLayers(opt)
	for _, c := range []struct {
		name   string
		change func(*executable.LayersOptions)
		same   bool
	}{
		{"nothing", func(*executable.LayersOptions) {}, true},
		{"another name", func(o *executable.LayersOptions) { o.Name = "x" }, true},
		{"strict", func(o *executable.LayersOptions) { o.Strict = true }, false},
		{"relaxed", func(o *executable.LayersOptions) { o.Relaxed = true }, false},
		{"hidden paths", func(o *executable.LayersOptions) { o.Hidden = []string{"/state"} }, false},
		{"another folder", func(o *executable.LayersOptions) { o.Dirs = []string{filepath.Join(root, "two")} }, false},
	} {
		other := opt
		c.change(&other)
		if got := l.Same(executable.NewLayers(other)); got != c.same {
			t.Errorf("%s: the same is %v", c.name, got)
		}
	}
	files{"one/agent/": ""}.write(t, root)
	if l.Same(executable.NewLayers(opt)) {
		t.Error("a new layer goes unnoticed")
	}
}
