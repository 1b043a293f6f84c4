package launch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// New makes a process of a program with a whole environment that starts in a folder. Its
// caller says how it is kept together with what it starts.
func New(path string, args []string, dir string, env []string) *exec.Cmd {
	return &exec.Cmd{Path: path, Args: args, Dir: dir, Env: env}
}

// Helper makes a process of a program of the system's that does something for the kernel
// itself. It ends with the context. It starts in the root of the file system, with the
// basic variables and those named in allow.
func Helper(ctx context.Context, path string, args []string, allow ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = Root(), Accepted(allow, "")
	return cmd
}

// Foreground makes a process for the person at the terminal: it has this process's folder
// and environment, as a shell would give it. Only the command line uses it.
func Foreground(ctx context.Context, path string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, path, args...)
}

// Self makes a process of this program, which is a kernel: it has this process's
// environment and what env adds, and starts in a folder.
func Self(args []string, dir string, env ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	return cmd
}

// Root is a folder in which nothing lies that a program would load.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		return string(filepath.Separator)
	}
	return filepath.VolumeName(dir) + string(filepath.Separator)
}
