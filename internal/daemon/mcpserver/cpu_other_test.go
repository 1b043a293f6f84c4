//go:build !unix

package mcpserver_test

import "time"

// cpu is not measured on this system.
func cpu() time.Duration { return 0 }
