package doctor

import "callgate/internal/sandbox"

// serversCheck reports which isolation of MCP servers this machine can do.
func serversCheck(r sandbox.Report) Check {
	c := Check{
		Group: GroupSandbox, Name: "MCP servers", State: OK, Purpose: "keeping servers from what Callgate keeps",
		Found: "the state directory and private folders are hidden from contained servers",
	}
	switch {
	case !sandbox.Supervises():
		c.State = Warning
		c.Found = "servers cannot be isolated here: contained and sandboxed ones are refused, unless an app file says " +
			"runtime.sandbox: relaxed, and what servers start may outlive them"
		c.Fix = "run Callgate on Linux where you do not trust the servers"
	case !r.Namespaces:
		c.State = Warning
		c.Found = "contained and sandboxed servers are refused, unless an app file says runtime.sandbox: relaxed"
		c.Fix = "permit user namespaces: see above"
		if r.Level != sandbox.Process {
			c.Found = "contained servers are refused, unless an app file says runtime.sandbox: relaxed; sandboxed ones are " +
				"confined by " + r.Level
		}
	}
	return c
}
