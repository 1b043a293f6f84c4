package command

import (
	"context"
	"os"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/peer"
	"callgate/internal/statedir"
	"callgate/tool"
)

// stopAnswer is how long a kernel may take to answer that it will stop. One that takes
// longer is told by a signal.
const stopAnswer = 3 * time.Second

// EndKernel ends the kernel of a state directory, whoever started it and whatever its
// version, and waits until it has gone. It is asked first; with kill it is killed if it
// does not end in time. pid is 0 if there was none.
func EndKernel(ctx context.Context, dir statedir.Dir, kill bool) (pid int, killed bool, err error) {
	if pid := dir.Holder(); pid != os.Getpid() && !peer.Stopped(pid) {
		stops, err := stop(ctx, dir)
		if err != nil || stops && daemon.WaitStopped(ctx, dir) == nil {
			return pid, false, err
		}
	}
	return daemon.End(ctx, dir, kill)
}

// stop asks a kernel to stop, and reports whether it will. One that was started by hand
// does not; nor does one that does not know the request. A socket of another user's is an
// error.
func stop(ctx context.Context, dir statedir.Dir) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, stopAnswer)
	defer cancel()
	conn, err := client.Unix(dir.Socket())(ctx)
	if tool.KindOf(err) == tool.Denied {
		return false, err
	} else if err != nil {
		return false, nil
	}
	conn.Close()
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	return c.Stop(ctx) == nil, nil
}
