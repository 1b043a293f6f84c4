package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"callgate/tool"
)

// files are the standard files of a command, and the copying between the other
// ends of its pipes and the spec's reader and writers.
type files struct {
	given      []*os.File // the command's, in the order of their numbers
	childEnds  []*os.File // those among them that are ends of our pipes
	parentEnds []*os.File // the other ends
	copies     []func()
	copying    sync.WaitGroup
}

// openFiles makes a pipe where the spec has something else than a file.
func (s *Spec) openFiles() (*files, error) {
	f := &files{}
	var err error
	if s.Stdin != nil {
		err = f.add(s.Stdin, func(end *os.File) { io.Copy(end, s.Stdin) }, false)
	}
	if s.Stdout != nil && err == nil {
		err = f.add(s.Stdout, func(end *os.File) { io.Copy(s.Stdout, end) }, true)
	}
	switch {
	case s.Stderr == nil || err != nil:
	case s.Stdout != nil && same(s.Stdout, s.Stderr): // what is written to both stays in order
		f.given = append(f.given, f.given[len(f.given)-1])
	default:
		err = f.add(s.Stderr, func(end *os.File) { io.Copy(s.Stderr, end) }, true)
	}
	if s.Host != nil && s.Mode == Confined && err == nil {
		if len(f.given) < HostFD {
			err = errors.New("a run that speaks with its host needs all three standard files")
		}
		f.given = append(f.given, s.Host)
	}
	if err != nil {
		f.close()
		return nil, &tool.Error{
			Op: "sandbox.Run", Kind: tool.Unavailable, Message: "no pipe could be made for the command", Err: err,
		}
	}
	return f, nil
}

func (f *files) add(stream any, copy func(end *os.File), out bool) error {
	if file, ok := stream.(*os.File); ok {
		f.given = append(f.given, file)
		return nil
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	theirs, ours := ends[0], ends[1]
	if out {
		theirs, ours = ours, theirs
	}
	unix.SetNonblock(ours, true) // ours alone: the command's blocks, as it expects
	end, given := os.NewFile(uintptr(ours), "|"), os.NewFile(uintptr(theirs), "|")
	f.given, f.childEnds, f.parentEnds = append(f.given, given), append(f.childEnds, given), append(f.parentEnds, end)
	f.copies = append(f.copies, func() {
		copy(end)
		end.Close()
	})
	return nil
}

// same reports whether two writers are the same. Some cannot be compared.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}

// copy begins to copy.
func (f *files) copy() {
	for _, copy := range f.copies {
		f.copying.Go(copy)
	}
}

// close closes the pipes once everything has been copied. When the run has ended
// nobody else holds them; if somebody does, or if the spec's reader does not
// return, close stops waiting.
func (f *files) close() {
	if len(f.childEnds) == 0 {
		return
	}
	for _, end := range f.childEnds {
		end.Close()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.copying.Wait()
	}()
	const longest = 5 * time.Second
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	for _, end := range f.parentEnds {
		end.Close()
	}
}
