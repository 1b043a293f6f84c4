package executable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/source/executable/manifest"
	"callgate/tool"
)

// layers are the folders in a tools folder. A tool of a later one overrides the
// tools of the same name in the earlier ones.
var layers = []string{"global", "agent"}

// BuildOptions is how a tools folder is built.
type BuildOptions struct {
	Dir      string                      // the tools folder, with global/ and agent/ in it
	Cache    string                      // where artifacts are kept; default: .cache in Dir
	Out      io.Writer                   // gets the progress, a line at a time; optional
	Check    func(json.RawMessage) error // as in Options
	Absolute bool                        // as in Options
	Hidden   []string                    // as in Options
	Relaxed  bool                        // as in Options, for build scripts
	Timeout  time.Duration               // of one tool's build; default: ten minutes
}

// Report is what a build did.
type Report struct {
	Lock     string // the file that was written; "" when nothing was
	Tools    []Entry
	Built    int       // compiled now
	Reused   int       // found in the cache
	Problems []Problem // why tools were not built
}

// Build makes every tool of a tools folder ready to load, and records it in the
// lock: the digests of its manifest and its executable, the artifact it was
// compiled into, and which layer wins a name that several have. A folder of
// sources beside its manifest is compiled from a copy, without the network, into
// a cache. Its path there depends on the sources' digest, so sources that did
// not change are not compiled again.
//
// The lock records all tools or none: while one is bad the old lock stays, and
// the report says what to correct.
func Build(ctx context.Context, opt BuildOptions) (Report, error) {
	const op = "executable.Build"
	if opt.Cache == "" {
		opt.Cache = filepath.Join(opt.Dir, cacheName)
	}
	if opt.Out == nil {
		opt.Out = io.Discard
	}
	if opt.Timeout <= 0 {
		opt.Timeout = 10 * time.Minute
	}
	path := filepath.Join(opt.Dir, LockName)
	b := &builder{BuildOptions: opt, Report: Report{Tools: []Entry{}}}
	b.old, _ = readLock(path) // a damaged lock is written again
	if err := b.prepare(); err != nil {
		return b.Report, err
	}
	found := 0
	for _, layer := range layers {
		n, err := b.layer(ctx, layer)
		if err != nil {
			return b.Report, err
		}
		found += n
	}
	if found == 0 {
		return b.Report, tool.Errorf(op, tool.NotFound, "%s has no folder global or agent", opt.Dir).
			WithHint("put manifests into %s", filepath.Join(opt.Dir, layers[0]))
	}
	if len(b.Problems) > 0 {
		e := asError(op, b.Problems)
		e.Kind = tool.Failed
		return b.Report, e
	}
	b.override()
	if err := (&lockFile{Format: lockFormat, Tools: b.Tools}).write(path); err != nil {
		return b.Report, tool.Errorf(op, tool.Unavailable, "%s cannot be written: %w", path, err)
	}
	b.Lock = path
	return b.Report, nil
}

// builder is one build.
type builder struct {
	BuildOptions
	Report
	old *lockFile
}

// staleAfter is the age at which a build's temporary folder is no longer in use.
const staleAfter = 24 * time.Hour

// prepare makes the cache, and removes what a killed build left there.
func (b *builder) prepare() error {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return tool.Errorf("executable.Build", tool.Unavailable, "the cache %s cannot be made: %w", b.Cache, err)
	}
	cache, err := realPath(b.Cache)
	if err != nil {
		return err
	}
	b.Cache = cache
	left, _ := filepath.Glob(filepath.Join(b.Cache, stagePattern))
	for _, folder := range left {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(folder)
		}
	}
	return nil
}

func (b *builder) say(format string, args ...any) { fmt.Fprintf(b.Out, format+"\n", args...) }

// layer builds every tool of one layer, and returns the number of layers found:
// 0 or 1.
func (b *builder) layer(ctx context.Context, layer string) (found int, _ error) {
	dir := filepath.Join(b.Dir, layer)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	folder, names, err := manifests(dir)
	if err != nil {
		return 0, err
	}
	known := claimedIDs{}
	for _, name := range names {
		if ctx.Err() != nil {
			return 0, &tool.Error{Op: "executable.Build", Kind: tool.Cancelled,
				Message: "the build was stopped", Err: context.Cause(ctx)}
		}
		file, path := filepath.Join(dir, name), filepath.Join(folder, name)
		m, data, problems := readManifest(file, path, folder, topFolder("", folder), b.Check)
		if len(problems) > 0 {
			b.fail(problems...)
			continue
		}
		if p, twice := known.reserve(m, name); twice {
			b.fail(p)
			continue
		}
		e := Entry{
			Name: m.ID.Dotted(), Version: m.ID.Version.String(), Layer: layer,
			Manifest: named(layer, name), ManifestDigest: digestOf(digestOfBytes(data)),
		}
		if err := b.tool(ctx, m, folder, &e); err != nil {
			b.fail(at(m, err))
			continue
		}
		b.Tools = append(b.Tools, e)
	}
	return 1, nil
}

func (b *builder) fail(problems ...Problem) {
	b.Problems = append(b.Problems, problems...)
	for _, p := range problems {
		b.say("%s", p)
	}
}

// tool records one tool, and builds it first when it is a folder of sources.
func (b *builder) tool(ctx context.Context, m *manifest.Manifest, folder string, e *Entry) *tool.Error {
	path, failure := locate(folder, m, b.Absolute)
	if failure != nil {
		return failure
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() && inside(folder, path) {
		e.Source = named(e.Layer, strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(folder)+"/"))
		if path, failure = b.compiled(ctx, m, path, e); failure != nil {
			return failure
		}
	} else {
		b.say("%s %s: %s", e.Name, e.Version, named(e.Layer, filepath.Base(path)))
	}
	return b.recordDigest(path, folder, e)
}

// recordDigest records the digest of an executable, if it can run.
func (b *builder) recordDigest(path, folder string, e *Entry) *tool.Error {
	p, err := openProgram(path, topFolder("", folder))
	if err != nil {
		return err
	}
	e.Digest = digestOf(p.digest)
	return nil
}

// compiled returns the artifact of a folder of sources: the one in the cache, or
// a new one if that differs from what the last build recorded.
func (b *builder) compiled(ctx context.Context, m *manifest.Manifest, folder string, e *Entry) (string, *tool.Error) {
	s, err := readSources(folder)
	if err != nil {
		return "", err
	}
	e.record(s.digest)
	path := artifact(b.Cache, *e)
	if digest, err := digestFile(path); err == nil && b.trusts(e.Built, digest) {
		b.Reused++
		b.say("%s %s: unchanged", e.Name, e.Version)
		return path, nil
	}
	b.say("%s %s: building %s", e.Name, e.Version, e.Source)
	if err := b.compile(ctx, m, s, e); err != nil {
		return "", err
	}
	b.Built++
	return artifact(b.Cache, *e), nil
}

// record records the sources' digest, and the artifact's place in the cache,
// which depends on it.
func (e *Entry) record(digest string) {
	e.SourceDigest = digestOf(digest)
	e.Built = named(e.Name, e.Version+"-"+digest[:32], e.Name+programSuffix)
}

// trusts reports whether an artifact does not differ from what the last build
// recorded.
func (b *builder) trusts(built, digest string) bool {
	if b.old == nil {
		return true
	}
	return !slices.ContainsFunc(b.old.Tools, func(e Entry) bool {
		return e.Built == built && e.Digest != digestOf(digest)
	})
}

// override decides which layer wins each name.
func (b *builder) override() {
	winner := map[string]string{}
	for _, e := range b.Tools { // later layers come later
		winner[e.Name] = e.Layer
	}
	for i := range b.Tools {
		if e := &b.Tools[i]; winner[e.Name] != e.Layer {
			e.OverriddenBy = winner[e.Name]
			b.say("%s: %s overrides %s", e.Name, e.OverriddenBy, e.Layer)
		}
	}
	slices.SortFunc(b.Tools, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Layer, y.Layer), cmp.Compare(x.Manifest, y.Manifest))
	})
}
