// Package preview is the module that shows a human, in their own browser, what an agent
// made: the files of a folder, or a server that listens on this machine.
//
// # Law
//
// A preview listens on the loopback address alone, under a port that the system chooses, and
// answers whoever came by its link, which holds a secret: no page of another origin, no other
// user of the machine. It reads the workspace as tools do, without files whose names begin
// with a dot. It passes no cookie of Callgate on. It ends at its time, with a detach, or with
// the kernel; how many there are is bounded.
package preview

import (
	"fmt"
	"strconv"
	"strings"

	"callgate/internal/module"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "preview"

// Module returns the module.
func Module() module.Module {
	return module.Module{
		Name: Namespace, Summary: "Show a human a folder or a local server in their browser, by a link that expires.",
		Settings: func() any { return defaultSettings() }, NeedsSettings: true,
		Open: func(module.Host) (*module.Instance, error) {
			s := &shelf{running: map[string]*preview{}}
			var tools []*tool.Tool
			for _, d := range []module.Definition{publishTool(s), proxyTool(s), listTool(s), detachTool(s)} {
				tools = append(tools, d.Tool(Namespace))
			}
			return &module.Instance{Tools: tools, Close: s.close}, nil
		},
	}
}

type settings struct {
	Minutes      int      `config:"minutes" range:"1,1440" help:"how long a link works unless its call says otherwise"`
	AllowedPorts []string `constraint:"allowed_ports" help:"the only ports that are shown: 5173, 8000-8099"`

	ports []ports
}

// ports is a range of ports.
type ports struct{ first, last int }

func defaultSettings() *settings { return &settings{Minutes: 60} }

// Check reads the ports.
func (s *settings) Check() error {
	s.ports = nil
	for _, text := range s.AllowedPorts {
		first, last, isRange := strings.Cut(text, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
		b, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 16)
		if err != nil || err2 != nil || a == 0 || a > b {
			return fmt.Errorf("allowed_ports has %q, which is no port and no range of ports: write 5173, or 8000-8099",
				tool.Truncate(text))
		}
		s.ports = append(s.ports, ports{int(a), int(b)})
	}
	return nil
}

// allows reports whether a port may be shown.
func (s *settings) allows(port int) bool {
	for _, p := range s.ports {
		if port >= p.first && port <= p.last {
			return true
		}
	}
	return len(s.AllowedPorts) == 0
}
