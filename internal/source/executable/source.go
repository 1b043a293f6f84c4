// Package executable loads external tools: a manifest, which is a JSON file with
// the model's view and the kernel's view of a tool, and an executable beside it.
//
//	tools/
//	  global/            shared by all agents: one Source
//	    git_commit.json  the manifest
//	    git_commit       the executable, or a folder of sources to build
//	  agent/             an agent's own: another Source
//	  tools.lock.json    what callgate build read and made, if it was run
//
// [Layers] is both folders as one source: a tool of agent/ overrides the one of
// the same name in global/.
//
// # Loading
//
// Every manifest is checked strictly, because a limit that is silently ignored
// is worse than no limit. A bad manifest is left out and reported with its place
// and how to correct it, and the others load; a strict source has no tools at
// all while one manifest is bad.
//
// If there is a lock, it binds: a manifest or an executable that differs from
// what the lock records is left out until somebody builds again.
//
// # Running
//
// The executable is started for each call, in an empty folder and in a
// sandbox: see package launch. With cwd: workspace it starts in the session's folder. It reads its arguments from stdin, one JSON object and a line feed,
// and prints one JSON value to stdout: an envelope (status, summary …) or plain
// data. Its stderr is a log. It exits with 0 when it did what was asked.
//
//	CALLGATE_CALL       the call's ID in the journal
//	CALLGATE_TOOL       the tool's dotted name
//	CALLGATE_WORKSPACE  the session's folder
//	CALLGATE_HOST_FD    the descriptor of its connection to the kernel, if its manifest has
//	                    host_tools: see package hosttools
//
// Secrets are environment variables with the names that the manifest gives in
// secret_resources. Nothing that the executable starts outlives the call.
package executable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/internal/source/executable/manifest"
	"callgate/tool"
)

const manifestSuffix = ".json"

// Options is how a folder of tools is loaded and run.
type Options struct {
	Name       string                      // of the source; default: the folder
	Dir        string                      // the folder of manifests
	Root       string                      // the app's folder: from Dir up to it, others may write none
	Strict     bool                        // one bad manifest fails the load
	Absolute   bool                        // an absolute exec_path may lead out of Dir
	Check      func(json.RawMessage) error // reports a schema that is not valid; nil: every object is
	Hidden     []string                    // paths that no tool may see, such as the kernel's state
	Folders    launch.Folders              // where executables start; empty: in the root of the file system
	Helpers    *sandbox.Helpers            // start tools sooner; may be nil
	Relaxed    bool                        // run with as much of the sandbox as this machine can
	Unconfined bool                        // run without a sandbox
	Host       Host                        // runs the tools that manifests name in host_tools; nil: nobody does
	Lock       string                      // what a build recorded; default: tools.lock.json beside Dir
	Cache      string                      // where a build keeps artifacts; default: .cache beside Dir
	Signed     SignedFunc                  // checks that a manifest is signed; nil: it need not be
}

// Host has the kernel run a tool for a program: as a child of the program's call.
type Host func(ctx context.Context, call tool.Call, name string, args json.RawMessage) *tool.Result

// Problem is one reason why a manifest does not load: where it is, what it is,
// and how to correct it.
type Problem = manifest.Problem

// Source is the tools of one folder.
type Source struct {
	opt Options

	mu       sync.Mutex
	problems []Problem // of the last load
}

// New makes a source. Nothing is read before Tools is called.
func New(opt Options) *Source {
	around := filepath.Dir(filepath.Clean(opt.Dir))
	if opt.Name == "" {
		opt.Name = opt.Dir
	}
	if opt.Lock == "" {
		opt.Lock = filepath.Join(around, LockName)
	}
	if opt.Cache == "" {
		opt.Cache = filepath.Join(around, cacheName)
	}
	return &Source{opt: opt}
}

// Name returns the source's name.
func (s *Source) Name() string { return s.opt.Name }

// Problems returns why manifests did not load when Tools was last called, by
// file and place.
func (s *Source) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Tools loads the folder, in the order of its file names. It fails when the
// folder cannot be read, and, when the source is strict, on the first bad
// manifest.
func (s *Source) Tools(ctx context.Context) ([]*tool.Tool, error) {
	l, err := s.loader()
	if err != nil {
		s.keep([]Problem{problemOf(s.opt.Dir, err)})
		return nil, err
	}
	var tools []*tool.Tool
	for _, name := range l.names {
		if err := context.Cause(ctx); err != nil {
			return nil, &tool.Error{Op: "executable.Tools", Kind: tool.Cancelled,
				Message: "stopped loading " + s.opt.Dir, Err: err}
		}
		t, problems := l.load(name)
		if len(problems) > 0 {
			l.problems = append(l.problems, problems...)
			if s.opt.Strict {
				s.keep(l.problems)
				return nil, asError("executable.Tools", problems)
			}
			continue
		}
		tools = append(tools, t)
	}
	l.missing()
	s.keep(l.problems)
	if s.opt.Strict && len(l.problems) > 0 {
		return nil, asError("executable.Tools", l.problems)
	}
	return tools, nil
}

func (s *Source) keep(problems []Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = problems
}

// loader is one load of the folder.
type loader struct {
	Options
	folder   string   // Dir, absolute and without symbolic links
	names    []string // of the manifests, sorted
	lock     *lockFile
	declared claimedIDs
	problems []Problem
}

func (s *Source) loader() (*loader, *tool.Error) {
	folder, names, err := manifests(s.opt.Dir)
	if err != nil {
		return nil, err
	}
	lock, cause := readLock(s.opt.Lock)
	if cause != nil {
		return nil, tool.Errorf("executable.Tools", tool.Invalid, "the tools of %s are not loaded: %w", s.opt.Dir, cause)
	}
	return &loader{Options: s.opt, folder: folder, names: names, lock: lock, declared: claimedIDs{}}, nil
}

// top is the folder up to which others may write none.
func (l *loader) top() string { return topFolder(l.Root, l.folder) }

// manifests lists the manifests of a folder, sorted, and returns the folder's
// real path.
func manifests(dir string) (folder string, names []string, _ *tool.Error) {
	const op = "executable.Tools"
	folder, err := filepath.Abs(dir)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(folder)
	}
	if err != nil {
		return "", nil, tool.Errorf(op, tool.NotFound, "the tool folder %s cannot be read: %w", dir, err)
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() && strings.HasSuffix(name, manifestSuffix) && !strings.HasPrefix(name, ".") && name != LockName {
			names = append(names, name)
		}
	}
	return folder, names, nil
}

// load makes a tool of a manifest, or reports why it cannot.
func (l *loader) load(name string) (*tool.Tool, []Problem) {
	file, path := filepath.Join(l.Dir, name), filepath.Join(l.folder, name)
	m, data, problems := readManifest(file, path, l.folder, l.top(), l.Check)
	if len(problems) > 0 {
		return nil, problems
	}
	digest := digestOfBytes(data)
	if p, twice := l.declared.reserve(m, name); twice {
		return nil, []Problem{p}
	}
	p, err := l.program(m, name, digest)
	if err != nil {
		return nil, []Problem{at(m, err)}
	}
	if err := l.checkSigned(m, path, data, p); err != nil {
		return nil, []Problem{problemOf(m.File, err)}
	}
	h := &handler{Options: &l.Options, manifest: m, digest: digest, program: p}
	if inside(l.folder, p.path) { // an executable elsewhere sees nothing beside it
		h.readable = []string{l.folder}
	}
	t := &tool.Tool{ID: m.ID, Spec: m.Spec, Runtime: m.Runtime, Handler: h}
	if err := t.Validate(); err != nil {
		return nil, []Problem{problemOf(m.File, err)}
	}
	return t, nil
}

// claimedIDs is which manifest of a folder declares an ID.
type claimedIDs map[tool.ID]string

// reserve gives an ID to a manifest, unless another has it.
func (c claimedIDs) reserve(m *manifest.Manifest, name string) (Problem, bool) {
	if first, twice := c[m.ID]; twice {
		return Problem{
			File: m.File, What: fmt.Sprintf("%s is already declared by %s", m.ID, first),
			Hint: "delete one of them, or give it another version",
		}, true
	}
	c[m.ID] = name
	return Problem{}, false
}

// program finds the executable of a manifest, and compares both with the lock.
func (l *loader) program(m *manifest.Manifest, name, digest string) (*program, *tool.Error) {
	const op = "executable.load"
	if l.lock == nil {
		path, err := locate(l.folder, m, l.Absolute)
		if err != nil {
			return nil, err
		}
		return openProgram(path, l.top())
	}
	e, ok := l.lock.of(l.recorded(name))
	switch {
	case !ok:
		return nil, tool.Errorf(op, tool.Denied, "%s does not know this tool", LockName).
			WithHint("run callgate build to have it recorded")
	case e.ManifestDigest != digestOf(digest):
		return nil, tool.Errorf(op, tool.Denied, "the manifest is not the one that %s records", LockName).
			WithHint("run callgate build if the change is meant")
	}
	path, err := artifact(l.Cache, e), (*tool.Error)(nil)
	if e.Built == "" {
		if path, err = locate(l.folder, m, l.Absolute); err != nil {
			return nil, err
		}
	} else if path, err = realPath(path); err != nil {
		return nil, err
	}
	p, err := openProgram(path, l.top())
	if err == nil && digestOf(p.digest) != e.Digest {
		return nil, tool.Errorf(op, tool.Denied, "the executable %s is not the one that %s records",
			filepath.Base(path), LockName).WithHint("run callgate build if the change is meant")
	}
	return p, err
}

// realPath follows the symbolic links of an artifact's path.
func realPath(path string) (string, *tool.Error) {
	real, err := filepath.Abs(path)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return "", tool.Errorf("executable.load", tool.NotFound, "what was built of it is no longer in the cache: %w", err).
			WithHint("run callgate build")
	}
	return real, nil
}

// recorded is a manifest's name in the lock.
func (l *loader) recorded(name string) string { return named(l.layer(), name) }

// layer is the folder's name in the lock, also if the folder is a link.
func (l *loader) layer() string {
	if path, err := filepath.Abs(l.Dir); err == nil {
		return filepath.Base(path)
	}
	return filepath.Base(l.Dir)
}

// missing reports manifests that the lock records and the folder no longer has:
// an override that disappears must be noticed.
func (l *loader) missing() {
	if l.lock == nil {
		return
	}
	for _, e := range l.lock.Tools {
		name, ours := strings.CutPrefix(e.Manifest, l.layer()+"/")
		if ours && !slices.Contains(l.names, name) {
			l.problems = append(l.problems, Problem{
				File: filepath.Join(l.Dir, name), What: LockName + " records this manifest, and it is gone",
				Hint: "run callgate build if that is meant",
			})
		}
	}
}

// readManifest reads and checks one manifest, and returns its bytes too. The
// file is its name for people, and path its place; a link may not lead out of
// the folder.
func readManifest(
	file, path, folder, top string, check func(json.RawMessage) error,
) (*manifest.Manifest, []byte, []Problem) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil && !inside(folder, real) {
		return nil, nil, []Problem{{
			File: file, What: "the manifest is a link that leads out of the tool folder", Hint: "copy it into the folder",
		}}
	}
	var data []byte
	if err == nil {
		data, err = readSmall(real, manifest.MaxBytes)
	}
	if err != nil {
		return nil, nil, []Problem{{File: file, What: "the manifest cannot be read: " + err.Error()}}
	}
	if info, err := os.Stat(real); err == nil {
		if e := checkPrivate(real, info, top); e != nil {
			return nil, nil, []Problem{problemOf(file, e)}
		}
	}
	m, problems := manifest.Parse(file, data, check)
	return m, data, problems
}

// readSmall reads a regular file, up to one byte more than a limit.
func readSmall(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path) // first, because opening a pipe would block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// at makes a problem of an error with a manifest's executable.
func at(m *manifest.Manifest, err *tool.Error) Problem { return m.Problem(err.Message, err.Hint) }

func problemOf(file string, err error) Problem {
	var e *tool.Error
	if !errors.As(err, &e) {
		return Problem{File: file, What: err.Error()}
	}
	return Problem{File: file, What: e.Message, Hint: e.Hint}
}

// asError makes an error of problems: the first, and the number of the others.
func asError(op string, problems []Problem) *tool.Error {
	first := problems[0]
	e := tool.Errorf(op, tool.Invalid, "%s: %s", first.Where(), first.What)
	e.Hint = first.Hint
	if more := len(problems) - 1; more > 0 {
		e.Message += fmt.Sprintf(", and %d more", more)
	}
	return e
}

// quote quotes a part of a manifest in a sentence.
func quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
