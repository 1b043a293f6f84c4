package executable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"callgate/internal/durable"
	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/internal/source/executable/manifest"
	"callgate/tool"
)

const (
	maxSources   = 20_000    // files
	maxSourceAll = 512 << 20 // bytes in all
	maxPrinted   = 16 << 10  // bytes of a compiler's output that are shown
	stagePattern = ".stage-*"
)

// sources is a folder to build from.
type sources struct {
	folder string
	recipe recipe
	vendor bool   // it has its dependencies
	module bool   // it has a go.mod
	script string // the name of the build script
	digest string // of the files, the recipe and the system
}

// recipe is how a folder of sources becomes an executable.
type recipe string

const (
	goRecipe     recipe = "go build, version 1"
	scriptRecipe recipe = "script, version 1"
)

// readSources finds out how a folder is built, and its digest.
func readSources(folder string) (*sources, *tool.Error) {
	const op = "executable.Build"
	s := &sources{folder: folder}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the sources cannot be read: %w", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case (name == "build.sh" || name == "build" && s.script == "") && e.Type().IsRegular():
			s.recipe, s.script = scriptRecipe, name
		case name == "go.mod":
			s.module = true
		case name == "vendor" && e.IsDir():
			s.vendor = true
		}
		if s.recipe == "" && strings.HasSuffix(e.Name(), ".go") {
			s.recipe = goRecipe
		}
	}
	if s.recipe == "" {
		return nil, tool.Errorf(op, tool.Invalid, "the folder %s holds neither Go files nor a build script",
			filepath.Base(folder)).WithHint("put package main into it, or a build.sh that makes $OUT")
	}
	if s.digest, err = s.read(""); err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the sources cannot be read: %w", err)
	}
	return s, nil
}

// read computes the digest of the sources and, if a place is given, copies them
// there: the digest is of what is copied.
func (s *sources) read(to string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00%s/%s\x00", s.recipe, runtime.GOOS, runtime.GOARCH)
	files, bytes := 0, int64(0)
	err := filepath.WalkDir(s.folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.folder, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir() && e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir() && to != "":
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", rel)
		}
		if files++; files > maxSources {
			return fmt.Errorf("there are more than %d files", maxSources)
		}
		one, size, mode, err := copyFile(path, to, rel, maxSourceAll-bytes)
		if err != nil {
			return err
		}
		bytes += size
		fmt.Fprintf(sum, "%s\x00%t\x00%s\x00", filepath.ToSlash(rel), mode&0o111 != 0, one)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// copyFile computes the digest of a file and, if a place is given, copies it
// there.
func copyFile(path, to, rel string, most int64) (digest string, size int64, mode fs.FileMode, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", 0, 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", 0, 0, err
	}
	sum := sha256.New()
	var out io.Writer = sum
	if to != "" {
		perm := 0o644 | info.Mode().Perm()&0o111
		f, err := os.OpenFile(filepath.Join(to, rel), os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
		if err != nil {
			return "", 0, 0, err
		}
		defer func() {
			if closed := f.Close(); err == nil {
				err = closed
			}
		}()
		out = io.MultiWriter(sum, f)
	}
	if size, err = io.Copy(out, io.LimitReader(in, most+1)); err == nil && size > most {
		err = fmt.Errorf("there are more than %d MiB", maxSourceAll>>20)
	}
	return hex.EncodeToString(sum.Sum(nil)), size, info.Mode().Perm(), err
}

// compile builds a copy of the sources in a temporary folder, and moves the
// artifact to its place in the cache.
func (b *builder) compile(ctx context.Context, m *manifest.Manifest, s *sources, e *Entry) *tool.Error {
	const op = "executable.Build"
	stage, err := os.MkdirTemp(b.Cache, stagePattern)
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the cache cannot be written: %w", err)
	}
	defer os.RemoveAll(stage)
	src, out := filepath.Join(stage, "src"), filepath.Join(stage, "out")
	for _, folder := range []string{src, out, filepath.Join(stage, "home")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return tool.Errorf(op, tool.Unavailable, "the cache cannot be written: %w", err)
		}
	}
	digest, err := s.read(src)
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the sources cannot be copied: %w", err)
	}
	e.record(digest) // of the copy: the sources may have changed meanwhile
	made := filepath.Join(out, filepath.Base(artifact(b.Cache, *e)))
	spec, failure := b.recipe(ctx, s, m, stage, made)
	if failure != nil {
		return failure
	}
	if failure := b.run(ctx, spec, m); failure != nil {
		return failure
	}
	if failure := finish(made, s); failure != nil {
		return failure
	}
	return b.publish(out, filepath.Dir(artifact(b.Cache, *e)))
}

// recipe returns the process that builds.
func (b *builder) recipe(
	ctx context.Context, s *sources, m *manifest.Manifest, stage, made string,
) (sandbox.Spec, *tool.Error) {
	spec := sandbox.Spec{
		Dir: filepath.Join(stage, "src"), Workspace: stage,
		Hidden: b.Hidden, Relaxed: b.Relaxed, Env: launch.Commands(nil),
	}
	for name, value := range map[string]string{
		"OUT": made, "GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0",
	} {
		spec.Env = launch.Set(spec.Env, name, value)
	}
	if s.recipe == goRecipe {
		err := s.goCommandLine(ctx, m, &spec, made)
		return spec, err
	}
	home := filepath.Join(stage, "home")
	spec.Env = launch.Set(spec.Env, "HOME", home)
	spec.Env = launch.Set(spec.Env, "GOCACHE", filepath.Join(home, "go-build"))
	spec.Argv = []string{filepath.Join(spec.Dir, s.script)}
	if info, err := os.Stat(spec.Argv[0]); err == nil && info.Mode().Perm()&0o111 == 0 {
		spec.Argv = []string{"/bin/sh", spec.Argv[0]}
	}
	return spec, nil
}

// goCommandLine makes the process that runs the go command: with vendored
// dependencies, or with those in the module cache.
func (s *sources) goCommandLine(
	ctx context.Context, m *manifest.Manifest, spec *sandbox.Spec, made string,
) *tool.Error {
	const op = "executable.Build"
	g, err := findGo(ctx)
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the go command, which builds %s, cannot be used: %w",
			m.ID.Dotted(), err).WithHint("install Go, or put the finished executable beside the manifest")
	}
	if !s.module {
		text := fmt.Sprintf("module %s\n\ngo %s\n", m.ID.Dotted(), g.language())
		if err := os.WriteFile(filepath.Join(spec.Dir, "go.mod"), []byte(text), 0o644); err != nil {
			return tool.Errorf(op, tool.Unavailable, "the cache cannot be written: %w", err)
		}
	}
	mode := "-mod=mod"
	if s.vendor {
		mode = "-mod=vendor"
	}
	for name, value := range map[string]string{
		"GO111MODULE": "on", "GOFLAGS": mode, "GOENV": "off",
		"GOCACHE": g.Cache, "GOMODCACHE": g.Modules, "GOPATH": g.Path, "GOROOT": g.Root,
	} {
		spec.Env = launch.Set(spec.Env, name, value)
	}
	spec.Argv = []string{g.command, "build", "-trimpath", "-buildvcs=false", "-o", made, "."}
	spec.Readable = []string{g.Root}
	spec.Writable = []string{g.Cache}
	if _, err := os.Stat(g.Modules); err == nil {
		spec.Writable = append(spec.Writable, g.Modules) // the go command unpacks modules there
	} else { // the go command would make it, in a home that it may not write
		spec.Env = launch.Set(spec.Env, "GOMODCACHE", filepath.Join(spec.Workspace, "modules"))
	}
	spec.Relaxed = true // the compiler does not run what it compiles
	return nil
}

// goCommand is the go command and its folders.
type goCommand struct {
	command string
	Cache   string `json:"GOCACHE"`
	Modules string `json:"GOMODCACHE"`
	Path    string `json:"GOPATH"`
	Root    string `json:"GOROOT"`
	Version string `json:"GOVERSION"`
}

func findGo(ctx context.Context) (g goCommand, err error) {
	if g.command, err = exec.LookPath("go"); err != nil {
		return g, err
	}
	words := []string{"env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "GOVERSION"}
	text, err := launch.Helper(ctx, g.command, words, "GOCACHE", "GOENV", "XDG_CACHE_HOME", "XDG_CONFIG_HOME").Output()
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err == nil {
		err = os.MkdirAll(g.Cache, 0o755)
	}
	return g, err
}

// language is the newest version of the language that the command knows.
func (g goCommand) language() string {
	parts := strings.SplitN(strings.TrimPrefix(g.Version, "go"), ".", 3)
	notNumber := func(s string) bool { return strings.Trim(s, "0123456789") != "" || s == "" }
	if len(parts) < 2 || slices.ContainsFunc(parts[:2], notNumber) {
		return "1.24"
	}
	return parts[0] + "." + parts[1]
}

// run runs a build's process. Its error shows what it printed.
func (b *builder) run(ctx context.Context, spec sandbox.Spec, m *manifest.Manifest) *tool.Error {
	const op = "executable.Build"
	printed := &headBuffer{most: maxPrinted, over: func() {}}
	spec.Stdout, spec.Stderr = printed, printed
	ctx, cancel := context.WithTimeoutCause(ctx, b.Timeout, errTimeout)
	defer cancel()
	exit, err := sandbox.Run(ctx, spec)
	text, _ := printed.bytes()
	output := plain(string(text))
	switch {
	case err == nil && exit.Code == 0 && exit.Signal == "":
		return nil
	case context.Cause(ctx) == errTimeout:
		return tool.Errorf(op, tool.Timeout, "building %s took longer than %s; it printed:\n%s",
			m.ID.Dotted(), b.Timeout, output)
	case ctx.Err() != nil:
		return tool.Errorf(op, tool.Cancelled, "the build of %s was stopped", m.ID.Dotted())
	case err != nil:
		return tool.Errorf(op, tool.Unavailable, "building %s could not be started: %w", m.ID.Dotted(), err)
	default:
		return tool.Errorf(op, tool.Failed, "%s does not build; %s printed:\n%s",
			m.ID.Dotted(), filepath.Base(spec.Argv[0]), output).
			WithHint("builds have no network: a Go tool vendors what it needs with go mod vendor")
	}
}

// finish checks that a build made an executable.
func finish(made string, s *sources) *tool.Error {
	const op = "executable.Build"
	info, err := os.Lstat(made)
	switch {
	case err != nil && s.recipe == scriptRecipe:
		return tool.Errorf(op, tool.Failed, "%s ended well and made no file $OUT", s.script).
			WithHint("have it write the executable to the path in $OUT")
	case err != nil || !info.Mode().IsRegular():
		return tool.Errorf(op, tool.Failed, "the build made no executable")
	case isArchive(made):
		return tool.Errorf(op, tool.Failed, "the sources are a library, so the build made no executable").
			WithHint("write package main")
	}
	if err := os.Chmod(made, 0o555); err != nil {
		return tool.Errorf(op, tool.Unavailable, "the artifact cannot be made executable: %w", err)
	}
	return nil
}

// isArchive reports whether a file is a library that the go command built.
func isArchive(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 8)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "!<arch>\n"
}

// publish moves a finished artifact's folder to its place. A folder that is there
// already is replaced: it was not trusted, or another build made it meanwhile.
func (b *builder) publish(from, to string) *tool.Error {
	err := os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = os.RemoveAll(to)
	}
	if err == nil {
		err = durable.Move(from, to)
	}
	if err != nil {
		return tool.Errorf("executable.Build", tool.Unavailable, "the cache cannot be written: %w", err)
	}
	return nil
}
