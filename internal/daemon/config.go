package daemon

import "callgate/internal/kernel"

// Config is how a kernel is opened; the name is here for the front ends, which
// start kernels and otherwise know only their clients.
type Config = kernel.Config
