package filewalk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"callgate/internal/launch"
	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/module/workfile"
)

// Ripgrep asks the rg program which of the selected files below a directory hold
// a match of an expression. Its output is never the answer: the caller opens the
// files through the root and searches them again, and the expression matches at
// least what the caller's does. So the answer is the same as without rg, and a
// file that was swapped for a link while rg ran reveals nothing of what lies
// outside.
//
// rg runs in the directory by its handle, not by its name, so that it cannot be
// sent elsewhere; in a process group of its own, which is killed with the call;
// with no configuration and an empty environment. If rg cannot do it, ok is
// false, and the caller searches all selected files.
//
// glob is the pattern of the selector as the caller wrote it; "": none.
func Ripgrep(
	ctx context.Context, w workfile.Workspace, at workfile.Path, sel Selector, program, expression, glob string,
) (files []string, ok bool, err error) {
	dir, err := workfile.OpenDir(w.Root, at.Name)
	if err != nil {
		return nil, false, w.Fail(at.Shown, err)
	}
	defer dir.Close()
	handle, err := dir.Open(".")
	if err != nil {
		return nil, false, w.Fail(at.Shown, err)
	}
	defer handle.Close()
	args := append(excludedDirs(ctx, w, at, sel), ripgrepArgs(sel, expression, glob)...)
	files, err = runRipgrep(ctx, handle, newSelection(w, at, dir, sel), program, args)
	if ctx.Err() != nil {
		return nil, false, w.Fail(at.Shown, ctx.Err())
	}
	if err != nil {
		return nil, false, nil
	}
	slices.SortFunc(files, Compare)
	return files, true, nil
}

func runRipgrep(
	ctx context.Context, dir *os.File, sel *selection, rg string, args []string,
) ([]string, error) {
	cmd := launch.Helper(ctx, rg, args)
	cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd()) // it has --no-config and --no-ignore, so it reads no settings there
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	files, readErr := readNames(out, sel)
	if readErr != nil {
		_ = cmd.Cancel()
	}
	err = cmd.Wait()
	// 1 means that nothing was found; 2 without a message, that a file could not be read.
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 2 && stderr.Len() == 0) {
		err = nil
	}
	return files, errors.Join(readErr, err)
}

func ripgrepArgs(sel Selector, expression, glob string) []string {
	args := []string{
		"--no-config", "--no-ignore", "--no-messages", "--no-mmap", "--binary",
		"--color=never", "--case-sensitive", "--files-with-matches", "--null",
	}
	if sel.Hidden || sel.Pattern.MatchesHidden() {
		args = append(args, "--hidden")
	}
	for _, g := range simpleGlobs(glob) {
		args = append(args, "--glob="+g)
	}
	return append(args, "--glob=!"+gitDir, "--regexp="+expression, "--", "./")
}

// excludedDirs keeps rg from directories that ignore files name and that lie near the
// start. rg's own reading of those files is not Git's in every point, so it heeds
// none: it may search what is ignored further down, and readNames leaves that out.
func excludedDirs(ctx context.Context, w workfile.Workspace, at workfile.Path, sel Selector) (args []string) {
	const maxDepth, maxEntries, maxDirs = 3, 5_000, 100
	if sel.Ignored {
		return nil
	}
	visited := 0
	_, _ = WalkIgnores(ctx, w, at, func(e Entry) error {
		if visited++; visited == maxEntries || len(args) == maxDirs {
			return fs.SkipAll
		}
		switch {
		case e.Name() == gitDir:
			return fs.SkipDir
		case e.Ignored && e.IsDir() && strings.Trim(e.Path, simpleNames+"/") == "" && !sel.Pattern.SpellsAny(e.Path):
			args = append(args, "--glob=!/"+e.Path+"/")
			return fs.SkipDir
		case e.Ignored || e.Depth == maxDepth:
			return fs.SkipDir
		}
		return nil
	})
	return args
}

// simpleNames are the characters that mean themselves in every pattern.
const simpleNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// simpleGlobs returns the alternatives of a glob, if rg understands all of them
// as we do. Otherwise it returns none, and readNames filters what rg finds.
func simpleGlobs(glob string) []string {
	const simple = simpleNames + "*"
	const maxGlobs = 16
	all, err := pathglob.Expand(glob)
	if err != nil || len(all) > maxGlobs {
		return nil
	}
	for _, one := range all {
		if one == "" || strings.Trim(one, simple) != "" || strings.Contains(one, "**") {
			return nil
		}
	}
	return all
}

// readNames reads the names that rg prints, each ended by a zero byte, and
// returns the selected ones.
func readNames(out io.Reader, sel *selection) ([]string, error) {
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
