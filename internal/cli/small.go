package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/app/starter"
	"callgate/internal/protocol"
	"callgate/internal/version"
	"callgate/tool"
)

func (p *program) initCommand() *cobra.Command {
	var force bool
	c := p.leaf("init [FOLDER]", "Write a callgate.yaml that says what agents may do in a folder", "  callgate init\n  callgate init ~/project",
		cobra.MaximumNArgs(1), func(_ context.Context, args []string) error {
			if len(args) == 1 {
				p.workspace = args[0]
			}
			return p.init(force)
		})
	c.ValidArgsFunction = nil // folders
	c.Flags().BoolVar(&force, "force", false, "overwrite one that is there")
	return c
}

// init writes the app file of a folder.
func (p *program) init(force bool) error {
	const op = "cli.init"
	folder, err := p.folder()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, app.Filename)
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, mode, 0o644)
	if err == nil {
		_, err = f.Write(starter.Text(folder))
		err = errors.Join(err, f.Close())
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return tool.Errorf(op, tool.Conflict, "%s is already there", path).WithHint("edit it, or overwrite it with --force")
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(op, tool.NotFound, "there is no folder %s", folder)
	case err != nil:
		return &tool.Error{Op: op, Kind: tool.Failed, Message: path + " cannot be written", Err: err}
	case p.json:
		return p.writeJSON(map[string]string{"file": path})
	}
	_, err = fmt.Fprintf(p.Stdout, `wrote %s

Next:
  read it: it says what runs at once, what asks you first, and what is refused
  callgate tools list                       what agents may call here
  callgate tools call filesystem.list       a first call
  callgate log tail                         what happened
  callgate up                               one kernel for all your agents, in its own terminal
`, path)
	return writeError(err)
}

func (p *program) locksCommand() *cobra.Command {
	return p.leaf("locks", "Show who holds what, and who waits behind whom", "", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		return p.with(ctx, false, func(k *kernel) error {
			l, err := k.Locks(ctx)
			switch {
			case err != nil:
				return err
			case p.json:
				return p.writeJSON(l)
			}
			return writeError(p.style(p.Stdout).Locks(p.Stdout, l))
		})
	})
}

func (p *program) artifactCommand() *cobra.Command {
	var path string
	c := p.leaf("artifact REF", "Write what an artifact holds", "  callgate artifact sha256:1f… --output result.txt",
		cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
			return p.with(ctx, false, func(k *kernel) error {
				return p.output(path, func(w io.Writer) error { return k.Artifact(ctx, w, args[0]) })
			})
		})
	c.Flags().StringVarP(&path, "output", "o", "", "file to write (default standard output)")
	return c
}

// build is what this program knows of itself.
type build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Protocol int    `json:"protocol"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
}

func thisBuild() build {
	b := build{Version: version.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Protocol: protocol.Version}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

// String writes the build in one line.
func (b build) String() string {
	text := fmt.Sprintf("callgate %s, protocol %d, %s, %s/%s", b.Version, b.Protocol, b.Go, b.OS, b.Arch)
	if b.Revision != "" {
		text += ", revision " + b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		text += " with changes"
	}
	return text
}

func (p *program) versionCommand() *cobra.Command {
	return p.leaf("version", "Show the version", "", cobra.NoArgs, func(context.Context, []string) error {
		if p.json {
			return p.writeJSON(thisBuild())
		}
		_, err := fmt.Fprintln(p.Stdout, thisBuild())
		return writeError(err)
	})
}
