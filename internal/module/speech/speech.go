// Package speech is two modules: tts makes sound of text, stt makes text of sound.
//
// # Law
//
// A sound is written into the workspace, into the staging folder unless the call names another
// file, under that file's lock. Text and sound leave the machine only for the endpoint that the
// app file names, through a guard (package netguard), with the module's credential. Without an
// endpoint tts runs espeak-ng in the sandbox, which sees no network and none of the user's files;
// stt has nothing to fall back on, and says so.
package speech

import (
	"net/http"

	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// The names of the modules.
const (
	speaking = "tts"
	hearing  = "stt"
)

// Speaking returns the module that makes sound of text.
func Speaking() module.Module {
	return module.Module{
		Name: speaking, Summary: "Speak a text: make a sound file of it.",
		Settings: func() any { return speakingDefaults() }, Credential: true, NeedsSettings: true,
		Open: func(h module.Host) (*module.Instance, error) {
			defaults := speakingDefaults()
			if err := defaults.Check(); err != nil {
				return nil, err
			}
			clients := fetch.NewPool(speaking, defaults, (*speakingSettings).client)
			return &module.Instance{
				Tools:        fetch.Tools(speaking, speakTool(clients, h.Helpers)),
				OnSessionEnd: clients.EndSession, Close: clients.Close,
			}, nil
		},
	}
}

// Hearing returns the module that makes text of sound.
func Hearing() module.Module {
	return module.Module{
		Name: hearing, Summary: "Write down what is said in a recording.",
		Settings: func() any { return hearingDefaults() }, Credential: true, NeedsSettings: true,
		Open: func(module.Host) (*module.Instance, error) {
			defaults := hearingDefaults()
			if err := defaults.Check(); err != nil {
				return nil, err
			}
			clients := fetch.NewPool(hearing, defaults, (*hearingSettings).client)
			return &module.Instance{
				Tools:        []*tool.Tool{fetch.Tools(hearing, transcribeTool(clients))[0]},
				OnSessionEnd: clients.EndSession, Close: clients.Close,
			}, nil
		},
	}
}

type (
	speakLease   = fetch.Lease[speakingSettings, *http.Client]
	hearLease    = fetch.Lease[hearingSettings, *http.Client]
	speakingPool = fetch.Pool[speakingSettings, *http.Client]
	hearingPool  = fetch.Pool[hearingSettings, *http.Client]
	helpers      = *sandbox.Helpers
)
