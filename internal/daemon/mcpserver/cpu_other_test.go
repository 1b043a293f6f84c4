//go:build !unix

package mcpserver_test

import "time"

// cpu is not told here.
func cpu() time.Duration { return 0 }
