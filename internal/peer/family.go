package peer

import "slices"

// process is what the system tells of a process.
type process struct {
	pid      int
	parent   int
	session  int  // the number of its session, which is that of the session's leader
	terminal bool // it has a controlling terminal
	pseudo   bool // which is no console's
	started  uint64
}

// Started tells a process from a later one that has its number; 0 if there is no such
// process, or the system does not tell.
func Started(pid int) uint64 {
	p, _ := look(pid)
	return p.started
}

// AtTerminal reports whether the process has a controlling terminal. It is false
// where the system does not tell.
func AtTerminal(pid int) bool {
	p, ok := look(pid)
	return ok && p.terminal
}

// Session returns the session of a process, and whether it has a controlling
// terminal. The session of a process that is not known is 0.
func (Lineage) Session(pid int) (session int, terminal bool) {
	p, ok := look(pid)
	if !ok {
		return 0, false
	}
	return p.session, p.terminal
}

// Family is which processes belong to a program that asks: those that descend from
// Root, and those of the sessions. Descent is lost when a parent ends first, a
// session is not; and a session is left by a process that begins one of its own,
// which then has no terminal.
type Family struct {
	Root     int
	Sessions []int
}

// FamilyOf returns the family of a process that asks for itself. Its root is the
// leader of its terminal's session, which is the person's shell, or the program
// itself in a terminal that was opened for it. Its sessions are those of the
// process and of all its ancestors: the terminals that it runs in, and below.
//
// A process without a terminal was started by a desktop, a service manager or an
// editor. There the root is its highest ancestor in the same session, below the
// session's leader, which may be the parent of all that the user runs; the leader
// too if it runs the same program, as the processes of an editor do.
func FamilyOf(pid int) Family { return familyOf(ancestry(pid), pid) }

// FamilyBehind returns the family of the client that started a bridge: that of the
// bridge's parent, with the bridge's own session. What leads a session without a
// terminal there, below a process that runs in a window's terminal, is a wrapper or a
// client that was set apart: then the program in that terminal asks.
func FamilyBehind(bridge int) Family { return familyBehind(ancestry(bridge), bridge) }

func familyBehind(line []process, bridge int) Family {
	if len(line) < 2 || line[1].pid <= 1 { // its parent has ended, or is the first process
		return familyOf(line, bridge)
	}
	f := familyOf(line[1:], line[1].pid)
	f.add(line[0].session)
	i := slices.IndexFunc(line, func(p process) bool { return p.pid == f.Root })
	root, above := line[i], line[i+1:]
	if root.pid == root.session && !root.terminal && len(above) > 0 && above[0].pseudo {
		f.Root = familyOf(above, above[0].pid).Root
	}
	return f
}

func familyOf(line []process, pid int) Family {
	f := Family{Root: pid}
	for _, p := range line {
		f.add(p.session)
	}
	if len(line) == 0 {
		return f
	}
	top := 0
	for top+1 < len(line) && line[top+1].session == line[0].session && line[top+1].pid > 1 {
		top++
	}
	leads := line[top].pid == line[top].session
	if top > 0 && leads && !line[top].terminal && !sameProgram(line[top].pid, line[top-1].pid) {
		top--
	}
	f.Root = line[top].pid
	return f
}

func sameProgram(a, b int) bool {
	name := program(a)
	return name != "" && name == program(b)
}

func (f *Family) add(session int) {
	if session > 0 && !slices.Contains(f.Sessions, session) {
		f.Sessions = append(f.Sessions, session)
	}
}

// ancestry returns a process and its ancestors, as far as the system tells.
func ancestry(pid int) []process {
	var line []process
	for range maxGenerations {
		p, ok := look(pid)
		if pid <= 0 || !ok {
			break
		}
		line = append(line, p)
		if p.parent == pid {
			break
		}
		pid = p.parent
	}
	return line
}
