// Package netproxy gives a run the network through a proxy, and nothing else of it.
//
// The run has a network namespace of its own, in which only the loopback is up. A
// socket that listens there is made among the steps before the command, by the
// child itself, and sent to the kernel, which serves a proxy on it: whoever
// connects inside the namespace is answered outside. Nobody else can reach that
// socket, so it needs no password.
//
// # Law
//
//   - The child closes its own descriptor of the socket: the kernel's is the only
//     one, and when it is closed the proxy is gone.
//   - The port is a privileged one, so that no server of a command is in its way,
//     and no command can take it.
//   - Names are resolved by the proxy: in the namespace there is no name server.
//   - The variables name the proxy to programs. One that ignores them finds no
//     network.
package netproxy

// Port is that of the proxy inside the namespace, at each address of its loopback: the
// local address of a connection says which of them it was made to.
const Port = 911
