// Package enter is the helper through which a confined run begins: a second
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
// # Why it branches while packages are initialised
//
// Packages are initialised in the order of their import paths, as far as their
// own imports allow. This package imports a handful of small ones, so its turn
// comes before that of any large library, whose initialisation costs a
// multiple of the whole sandbox. A helper that waited for main would pay for
// all of them. Nothing has to be called: a program that can ask for a helper
// imports this package, and therefore can be one.
//
// A process is the helper when its only argument is [Marker] and descriptor
// [LeashFD] is a pipe. The program that it runs comes through that pipe, never
// from arguments that somebody could type.
//
// # The parts
//
//	kernel ── leash ──▶ helper ── fork ──▶ init ── fork ──▶ command
//	       ◀─ status ──          ◀─ pipe ──
//
// The helper stays outside the walls, and forks. What the child does is a
// [Program]: a list of system calls, every argument of them laid out before
// the fork, for after it the child may neither allocate nor be scheduled. With
// a process namespace the child is its init: it forks once more, and then only
// waits, so that everything in the namespace dies with it. Without one the
// child becomes the command, and the helper takes the place of its orphans'
// parent.
//
// # Law
//
//   - The leash is the helper's lease of life. A byte T on it asks the command
//     to end; its closing, be it that the kernel is done, or has crashed,
//     ends everything at once. No signal and no thread of the parent is
//     needed for that.
//   - The child dies with the helper, by its parent-death signal.
//   - The helper leaves when nothing of the run is alive, never before.
//   - What became of the run goes up the status pipe as one line; a helper
//     that left none was killed, and nothing is known of its run.
package enter
