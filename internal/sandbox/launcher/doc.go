// Package launcher is the helper through which a confined run begins: a second
// start of this same program that does nothing but put up the walls, start the
// command behind them, and watch over it.
//
// # Why a second start
//
// User namespaces, Landlock and seccomp bind the process that asks for them,
// so they must be asked for between fork and exec, where a Go program cannot
// run ordinary code. And a fork of the kernel itself would copy the page
// tables of everything it holds, milliseconds for every hundred megabytes. The
// helper is started the cheap way (the parent's memory is borrowed, not
// copied), is small, and is the one that forks.
//
// # Where it begins
//
// [Main] is where a process becomes the helper. Package selfstart calls it, and
// says why it does so before main; package main imports selfstart. A program
// that never calls Main is never started as a helper ([Declared]).
//
// A process is the helper when its only argument is [Marker] and descriptor
// [ControlFD] is a socket. The program that it runs comes through that socket,
// never from arguments that somebody could type.
//
// # The parts
//
//	kernel ◀─ leash ─▶ helper ── fork ──▶ init ── fork ──▶ command
//	                          ◀─ pipe ──
//	       ────── standard files ────────▶
//
// The helper stays outside the walls, and forks. The child's namespaces are the
// [Ground]: they are made as soon as the helper is started, perhaps long before
// there is anything to run, and the child waits in them. Then comes the
// [Program]: a list of system calls, every argument of them laid out in memory
// that the two share, for after a fork the child may neither allocate nor be
// scheduled. With a process namespace the child is its init: it forks once
// more, and then only waits, so that everything in the namespace dies with it.
// Without one the child becomes the command, and the helper takes the place of
// its orphans' parent. The command's standard files go to the child past the
// helper, which never holds them.
//
// # Law
//
//   - The leash is the helper's lease of life. A byte T on it asks the command
//     to end; its closing, be it that the kernel is done, or has crashed,
//     ends everything at once. No signal and no thread of the parent is
//     needed for that.
//   - The child dies with the helper, by its parent-death signal. A helper
//     whose child dies before there is a program leaves.
//   - The ground that was made is used only if it is the one that the run asks
//     for; otherwise it is given up, and another made.
//   - The helper leaves when nothing of the run is alive, never before.
//   - What became of the run goes up the leash as one line; of a helper that
//     left none nothing is known but whether it had read its program.
package launcher
