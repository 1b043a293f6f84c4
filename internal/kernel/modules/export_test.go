package modules

import "callgate/internal/module"

// Shipped are the modules that come with the kernel.
func Shipped() []module.Module { return shipped(Config{}) }
