// Package launcher is the helper with which a confined run begins: a second start
// of this same program that does nothing but isolate itself, start the command,
// and supervise it.
//
// # Why a second start
//
// User namespaces, Landlock and seccomp bind the process that asks for them, so
// they must be asked for between fork and exec, where a Go program cannot run
// ordinary code. And a fork of the kernel itself would copy the page tables of
// everything it holds, milliseconds for every hundred megabytes. The helper is
// started the cheap way (the parent's memory is borrowed, not copied), is small,
// and does the fork.
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
//	kernel ◀─ control ─▶ helper ── fork ──▶ init ── fork ──▶ command
//	                            ◀─ pipe ──
//	       ────── standard files ──────────▶
//
// The helper stays outside the sandbox, and forks. The child's [Namespaces] are
// made as soon as the helper is started, perhaps long before there is anything
// to run, and the child waits in them. Then comes the [Program]: a list of
// system calls, every argument of them laid out in memory that the two share,
// because after a fork the child may neither allocate nor be scheduled. With a
// process namespace the child is its init: it forks once more, and then only
// waits, so that everything in the namespace dies with it. Without one the child
// becomes the command, and the helper adopts its orphans. The command's standard
// files are sent to the child directly; the helper never holds them. Through the
// same socket a program may send the kernel a listener of the run's network.
//
// # Law
//
//   - The helper lives as long as the control socket is open. A byte T on it asks
//     the command to end. When it closes, because the kernel is done or has
//     crashed, everything ends at once. This needs no signal and no thread of the
//     kernel.
//   - The child dies with the helper, by its parent-death signal. A helper whose
//     child dies before there is a program ends.
//   - The namespaces that were made are used only if the run asks for the same;
//     otherwise they are discarded, and others made.
//   - The helper ends when nothing of the run is alive, never before.
//   - The status of the run is one line on the control socket. Of a helper that
//     wrote none, only one thing is known: whether it had read its program.
package launcher
