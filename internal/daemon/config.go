package daemon

import "callgate/internal/kernel"

// Config configures a kernel. It has a name here for the front ends, which start
// kernels and otherwise know only package client.
type Config = kernel.Config
