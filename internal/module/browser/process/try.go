package process

import (
	"context"
	"errors"
	"strings"

	"callgate/internal/launch"
)

// Try starts the browser, has it show an empty page, and ends it. Nil means that
// pages can be opened on this machine.
func Try(ctx context.Context, o Options) error {
	path, err := Find(o.Executable)
	if err != nil {
		return err
	}
	own, err := newFolder(temporary())
	if err != nil {
		return err
	}
	defer func() {
		killByFolder(own.path)
		_ = own.remove()
	}()
	args := []string{"--user-data-dir=" + own.path, "--dump-dom"}
	args = append(append(args, quietArguments()...), "--headless", "--disable-gpu", "--disable-dev-shm-usage")
	if !o.sandboxed() {
		args = append(args, "--no-sandbox")
	}
	cmd := launch.Helper(ctx, path, append(args, "about:blank"))
	cmd.Env, cmd.Dir = environment(own.path, false), own.path
	printed := newTail()
	var page strings.Builder
	cmd.Stdout, cmd.Stderr = &page, printed
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err == nil && !strings.Contains(page.String(), "<html"):
		err = errors.New("it showed no page")
	}
	if err == nil {
		return nil
	}
	return explain(path, printed.String(), err)
}
