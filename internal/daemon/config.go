package daemon

import "callgate"

// Config is how a kernel is opened; the name is here for the front ends, which
// start kernels and otherwise know only their clients.
type Config = callgate.Config

// Version is the program's version.
const Version = callgate.Version
