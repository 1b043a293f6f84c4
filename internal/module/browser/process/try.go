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
	by, err := o.walls()
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
	if by != chromiums {
		args = append(args, "--no-sandbox")
	}
	args = append(args, "about:blank")
	printed := newTail()
	var page strings.Builder
	if by == boxed {
		err = runBoxed(ctx, path, own.path, args, &page, printed)
	} else {
		cmd := launch.Helper(ctx, path, args)
		cmd.Env, cmd.Dir = environment(own.path, false), own.path
		cmd.Stdout, cmd.Stderr = &page, printed
		err = cmd.Run()
	}
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
