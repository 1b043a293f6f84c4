package executable

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// LayersOptions is how the tools folders of an app are loaded. Each field is as
// in [Options].
type LayersOptions struct {
	Name    string   // of the source
	Dirs    []string // the tools folders, each with global/ or agent/ in it
	Root    string
	Strict  bool
	Relaxed bool
	Hidden  []string
	Folders launch.Folders
	Helpers *sandbox.Helpers
	Check   func(json.RawMessage) error
	Host    Host
	Signed  SignedFunc
	Keys    string // those by which Signed judges
}

// Layers is the tools of several tools folders as one source of tools.
//
// # Law
//
// A tool of a layer agent/ overrides the tools of the same name in the layers
// global/, whatever their folders; in equal layers the folder that is named
// first wins. A layer may hold several versions of a tool: it overrides others,
// never itself.
//
// The set of layers is fixed when Layers is made. Changed and Same tell when it
// must be loaded or made again.
type Layers struct {
	opt     LayersOptions
	sources []*Source // those that override others first

	mu    sync.Mutex
	state string // of the folders when Changed was last called
}

// NewLayers makes the source of the layers that exist now. Nothing is loaded
// before Tools is called.
func NewLayers(opt LayersOptions) *Layers {
	l := &Layers{opt: opt}
	for _, layer := range slices.Backward(layers) {
		for _, dir := range opt.Dirs {
			folder := filepath.Join(dir, layer)
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				continue
			}
			l.sources = append(l.sources, New(Options{
				Dir: folder, Root: opt.Root, Strict: opt.Strict, Relaxed: opt.Relaxed,
				Hidden: opt.Hidden, Folders: opt.Folders, Helpers: opt.Helpers, Check: opt.Check, Host: opt.Host, Signed: opt.Signed,
			}))
		}
	}
	l.state = l.look()
	return l
}

// Name returns the source's name.
func (l *Layers) Name() string { return l.opt.Name }

// Tools loads all layers.
func (l *Layers) Tools(ctx context.Context) ([]*tool.Tool, error) {
	var all []*tool.Tool
	overridden := map[string]bool{}
	for _, s := range l.sources {
		tools, err := s.Tools(ctx)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, t := range tools {
			if name := t.ID.Dotted(); !overridden[name] {
				all = append(all, t)
				names = append(names, name)
			}
		}
		for _, name := range names {
			overridden[name] = true
		}
	}
	return all, nil
}

// Problems returns why manifests did not load when Tools was last called.
func (l *Layers) Problems() []Problem {
	var all []Problem
	for _, s := range l.sources {
		all = append(all, s.Problems()...)
	}
	return all
}

// Changed reports whether the files of the folders differ from when it was last
// called, or from when Layers was made.
func (l *Layers) Changed() bool {
	now := l.look()
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := l.state != now
	l.state = now
	return changed
}

// look lists the files of the folders and their layers, with what tells a
// changed file.
func (l *Layers) look() string {
	var b strings.Builder
	for _, dir := range l.opt.Dirs {
		for _, layer := range append([]string{""}, layers...) {
			folder := filepath.Join(dir, layer)
			entries, _ := os.ReadDir(folder)
			for _, e := range entries {
				if info, err := e.Info(); err == nil && info.Mode()&fs.ModeType == 0 {
					fmt.Fprintln(&b, folder, e.Name(), info.Size(), info.ModTime().UnixNano(), info.Mode())
				}
			}
		}
	}
	return b.String()
}

// Same reports whether another Layers loads the same layers in the same way.
func (l *Layers) Same(other *Layers) bool {
	return (l.opt.Signed == nil) == (other.opt.Signed == nil) && l.opt.Keys == other.opt.Keys &&
		l.opt.Strict == other.opt.Strict && l.opt.Relaxed == other.opt.Relaxed && l.opt.Root == other.opt.Root &&
		slices.Equal(l.opt.Dirs, other.opt.Dirs) && slices.Equal(l.opt.Hidden, other.opt.Hidden) &&
		slices.EqualFunc(l.sources, other.sources, func(a, b *Source) bool { return a.opt.Dir == b.opt.Dir })
}
