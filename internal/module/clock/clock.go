// Package clock is the module that docs/guides/modules.md writes. Its one tool
// tells the time in a time zone. No kernel ships it.
package clock

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/tool"
)

//go:embed now.md
var nowDoc string

const nowInput = `{
  "type": "object",
  "properties": {"zone": {"type": "string", "description": "A name of the tz database, such as Europe/Paris."}},
  "additionalProperties": false
}`

// settings declares the module's keys in an app file: its tags.
type settings struct {
	Zone  string   `config:"zone" help:"the time zone of a call that names none"`
	Zones []string `constraint:"zones" help:"the only time zones that a call may name"`
}

func defaults() *settings { return &settings{Zone: "UTC"} }

// Check validates the settings as a whole. Its error is shown at the module's line.
func (s *settings) Check() error {
	for _, zone := range append([]string{s.Zone}, s.Zones...) {
		if _, err := time.LoadLocation(zone); err != nil {
			return err
		}
	}
	if !s.allows(s.Zone) {
		return fmt.Errorf("config.zone is %s, which constraints.zones does not allow", s.Zone)
	}
	return nil
}

// allows reports whether a call may name a zone. Without a list it may name any.
func (s *settings) allows(zone string) bool {
	return len(s.Zones) == 0 || slices.Contains(s.Zones, zone)
}

// Module returns the module for the kernel to open.
func Module() module.Module {
	return module.Module{
		Name:     "clock",
		Summary:  "what time it is",
		Settings: func() any { return defaults() },
		Open: func(module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: []*tool.Tool{nowTool().Tool("clock")}}, nil
		},
	}
}

func nowTool() module.Definition {
	return module.Definition{
		Name: "now", Doc: nowDoc, Input: nowInput,
		Examples: []tool.Example{module.Example("elsewhere", `{"zone": "Asia/Tokyo"}`)},
		Aliases:  []string{"time", "what time is it", "quelle heure est-il"},
		Tags:     []string{"time", "clock", "heure"},
		Runtime:  tool.Runtime{Risk: tool.Low, SideEffect: tool.None},
		Handler:  tool.HandlerFunc(now),
	}
}

func now(_ context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	in, err := module.Args[struct{ Zone string }]("clock.now", call)
	if err != nil {
		return nil, err
	}
	s := module.SettingsOf(grant, defaults) // checked when the session opened
	if in.Zone == "" {
		in.Zone = s.Zone
	}
	if !s.allows(in.Zone) {
		return nil, tool.Errorf("clock.now", tool.Denied, "this app does not tell the time in %q", tool.Truncate(in.Zone)).
			WithHint("it allows %s", strings.Join(s.Zones, ", "))
	}
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, tool.Errorf("clock.now", tool.Invalid, "there is no time zone %q", tool.Truncate(in.Zone)).
			WithHint("use a name of the tz database, such as Europe/Paris")
	}
	return tool.OK("it is "+time.Now().In(zone).Format(time.RFC1123), nil)
}
