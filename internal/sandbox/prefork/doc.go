// Package prefork starts the helpers of sandboxed runs, and keeps one started
// ahead of time.
//
// # Why one waits
//
// Half of what a short run costs has nothing to do with the run: the system
// loads this whole program once more for its helper, the Go runtime sets itself
// up, and namespaces are made, that of the network the slowest of them. So when
// a run begins, a helper for the next one is started beside it, and gets as far
// as it can without knowing what for: it has a child, in namespaces of its own,
// that waits for the walls.
//
// # Law
//
//   - Nothing is started before the first run. At most one helper waits.
//   - A helper serves one run, and leaves. Nothing of a run is there for the
//     next: neither memory, nor a namespace, nor a file.
//   - A helper that waits has been told nothing but on which ground. It and its
//     child hold the null device and what they need to speak with each other
//     and with us, have an environment of three settings for the Go runtime,
//     stand in the root folder, and take no processor time.
//   - The ground is a guess: that the next run will be like this one. A run
//     that needs another gets another: the child that waited on the wrong one
//     is killed without having done anything.
//   - A helper leaves when its leash is let go of: after it has waited for a
//     while in vain, on [Keeper.Rest], and whenever this process ends, in
//     whatever way, for then the system lets go.
//   - One that was killed while it waited, or whose child was, is replaced. If
//     that comes to light only after its program was sent, the run begins again
//     with another helper, provided that the program was never read to its end:
//     then nothing of it has run. In doubt it does not begin again.
//   - Each helper has a goroutine that reads its status line and buries it. The
//     line comes when nothing of the run is alive, and nothing comes after it:
//     who waits for a run does not wait for the moment in which its helper
//     leaves. Rest does.
package prefork
