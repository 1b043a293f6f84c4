package prompt_test

import (
	"strings"
	"testing"

	"callgate/internal/conversation/prompt"
)

func TestChannels(t *testing.T) {
	t.Parallel()
	in := full("direct", true, false)
	in.Channels = []prompt.Channel{{Name: "ops", Type: "webhook"}, {Name: "log", Type: "file", Default: true}}
	if text := prompt.Build(in).Text(); strings.Contains(text, "webhook") {
		t.Errorf("an agent without the tools is told of channels:\n%s", text)
	}
	in.Domain = append(in.Domain, prompt.Tool{Name: "channels__reply", Module: "channels", Action: "reply"},
		prompt.Tool{Name: "channels__send_message", Module: "channels", Action: "send_message"})
	const want = "go through channels, with channels__reply and channels__send_message. The channels are:\n- ops (webhook)\n- log (file), the default"
	p := prompt.Build(in)
	if !strings.Contains(p.Text(), want) || p.Sections[p.Fixed-2].Name != "channels" {
		t.Errorf("%s", p.Text())
	}
}
