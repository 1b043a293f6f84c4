// Package prefork starts the helpers of sandboxed runs, and keeps one started
// ahead of time.
//
// # Why one waits
//
// Half of what a short run costs has nothing to do with the run: the system loads
// this whole program once more for its helper, the Go runtime starts, and
// namespaces are made, of which that of the network takes longest. So when a run
// begins, a helper for the next one is started beside it, and gets as far as it
// can without knowing the run: it has a child, in namespaces of its own, that
// waits for its program.
//
// # Law
//
//   - Nothing is started before the first run. At most one helper waits.
//   - A helper serves one run, and ends. Nothing of a run is left for the next:
//     neither memory, nor a namespace, nor a file.
//   - A helper that waits knows nothing but its namespaces. It and its child hold
//     the null device and the sockets and pipes that they need, have an
//     environment of three settings for the Go runtime, are in the root folder,
//     and take no processor time.
//   - The namespaces are a guess: the next run will be like this one. For a run
//     that needs others, the child that waited is killed without having done
//     anything, and others are made.
//   - A helper ends when its control socket closes: after it has waited for a
//     while in vain, on [Pool.Close], and whenever this process ends, because the
//     system then closes the socket.
//   - A helper that was killed while it waited, or whose child was, is replaced.
//     If that is found only after its program was sent, the run begins again with
//     another helper, provided that the program was never read to its end: then
//     nothing of it has run. In doubt it does not begin again.
//   - Each helper has a goroutine that reads its status line and reaps it. The
//     line comes when nothing of the run is alive, and nothing comes after it: a
//     run does not wait until its helper has ended. Close does.
package prefork
