package filesystem

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"callgate/internal/module/filesystem/linesearch"
	"callgate/internal/module/filesystem/pathglob"
)

// ripgrep asks the rg program which files below a directory hold a match. Its
// word is never the answer: the files it names are opened through the root and
// searched again, and the expression it is given matches at least what ours
// does. So the answer is the one that we would find alone, and a file that was
// swapped for a link while rg ran can tell nothing of what lies outside.
//
// rg runs in the directory by its handle, not by its name, so that it cannot
// be sent elsewhere; in a process group of its own, which dies with the call;
// with no configuration and an empty environment. When it cannot serve, ok is
// false, and the caller searches alone.
func (w workspace) ripgrep(ctx context.Context, rg string, at resolvedPath, m *linesearch.Matcher, sel selector, glob string) (files []string, ok bool, err error) {
	dir, err := openDir(w.root, at.name)
	if err != nil {
		return nil, false, w.fail(at.shown, err)
	}
	defer dir.Close()
	handle, err := dir.Open(".")
	if err != nil {
		return nil, false, w.fail(at.shown, err)
	}
	defer handle.Close()

	cmd := exec.CommandContext(ctx, rg, ripgrepArgs(m, sel, glob)...)
	cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", handle.Fd())
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, nil
	}
	if err := cmd.Start(); err != nil {
		return nil, false, nil
	}
	files, readErr := readNames(out, sel)
	if readErr != nil {
		_ = cmd.Cancel()
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return nil, false, w.fail(at.shown, ctx.Err())
	}
	// 1 is nothing found; 2 with nothing said is a file that could not be read.
	var exit *exec.ExitError
	served := err == nil || errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 2 && complaint.Len() == 0)
	if readErr != nil || !served {
		return nil, false, nil
	}
	slices.SortFunc(files, byPath)
	return files, true, nil
}

func ripgrepArgs(m *linesearch.Matcher, sel selector, glob string) []string {
	args := []string{
		"--no-config", "--no-ignore", "--no-messages", "--no-mmap", "--binary",
		"--color=never", "--case-sensitive", "--files-with-matches", "--null",
	}
	if sel.all || sel.pattern.MatchesHidden() {
		args = append(args, "--hidden")
	}
	for _, g := range simpleGlobs(glob) {
		args = append(args, "--glob="+g)
	}
	return append(args, "--glob=!"+gitDir, "--regexp="+m.Ripgrep(), "--", "./")
}

// simpleGlobs are the alternatives of a glob, when rg understands all of them
// just as we do; else none, and what rg finds is sifted here.
func simpleGlobs(glob string) []string {
	ways, err := pathglob.Expand(glob)
	if err != nil || len(ways) > 16 {
		return nil
	}
	for _, way := range ways {
		if way == "" || strings.Trim(way, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.*") != "" || strings.Contains(way, "**") {
			return nil
		}
	}
	return ways
}

// readNames reads the names that rg writes, each ended by a zero byte.
func readNames(out io.Reader, sel selector) ([]string, error) {
	var files []string
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		name, err := r.ReadString(0)
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name = strings.TrimPrefix(name[:len(name)-1], "./")
		if sel.selects(name) {
			files = append(files, name)
		}
	}
}
