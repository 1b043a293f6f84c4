package selfstart

import "callgate/internal/sandbox/launcher"

// In the helper this initialisation never ends.
var _ = launcher.Main()
