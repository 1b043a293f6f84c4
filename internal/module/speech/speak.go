package speech

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed speak.md
var speakDoc string

// staging is the folder of the workspace for what goes outside.
const staging = ".choirtmp/send"

const speakInput = `{
  "type": "object",
  "properties": {
    "text": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "What is said."},
    "voice": {"type": "string", "maxLength": 100, "pattern": "^[A-Za-z0-9][A-Za-z0-9 ._+-]*$",
      "description": "Who says it, by the name of a voice; the app's voice unless given."},
    "language": {"type": "string", "pattern": "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
      "description": "The language of the text, as en, fr or pt-br."},
    "speed": {"type": "number", "minimum": 0.25, "maximum": 4, "default": 1, "description": "1 is the usual speed."},
    "format": {"type": "string", "enum": ["wav", "mp3", "opus", "flac"], "description": "Of the file; wav unless the path says another."},
    "path": {"type": "string", "minLength": 1,
      "description": "The file to save to, relative to the workspace or absolute inside it."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is there already."}
  },
  "required": ["text"],
  "additionalProperties": false
}`

const speakOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "bytes": {"type": "integer"},
    "format": {"type": "string"},
    "engine": {"type": "string", "description": "Who spoke: espeak-ng, or the host of the endpoint."}
  },
  "required": ["path", "bytes", "format", "engine"]
}`

func speakTool(clients *speakingPool, h helpers) module.Definition {
	return module.Definition{
		Name: "speak", Doc: speakDoc, Input: speakInput, Output: speakOutput,
		Examples: []tool.Example{
			module.Example("in the app's voice", `{"text": "The build is green."}`),
			module.Example("in French, slowly, to a file of its own",
				`{"text": "Bonjour à tous", "language": "fr", "speed": 0.8, "path": "out/bonjour.wav"}`),
		},
		Aliases: []string{
			"choir.tts.speak", "text_to_speech", "text-to-speech", "speak", "say", "read aloud", "make an audio file of a text",
			"voice message", "lire à voix haute", "synthèse vocale", "vorlesen", "Sprachausgabe", "leer en voz alta",
			"ler em voz alta", "朗读文本", "文字转语音", "読み上げる", "прочитать вслух",
		},
		Tags: []string{"speech", "voice", "audio", "sound", "tts", "speak", "voix", "Sprache", "voz"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{
				{Resource: "file:{path}", Mode: tool.U},
				{Resource: "file:" + staging, Mode: tool.U, Unless: []string{"path"}},
			},
			Risk: tool.Medium, SideEffect: tool.Write, Timeout: fetch.RequestTime,
		},
		Handler: fetch.Handler(clients, "speak", func(ctx context.Context, l speakLease, in speakArgs) (*tool.Result, error) {
			return speak(ctx, l, in, h)
		}),
	}
}

type speakArgs struct {
	Text      string  `json:"text"`
	Voice     string  `json:"voice"`
	Language  string  `json:"language"`
	Speed     float64 `json:"speed"`
	Format    string  `json:"format"`
	Path      string  `json:"path"`
	Overwrite bool    `json:"overwrite"`
}

// speech is a text as an engine is to say it.
type speech struct {
	text, voice, language, format string
	speed                         float64
}

func speak(ctx context.Context, l speakLease, in speakArgs, h helpers) (*tool.Result, error) {
	s := speech{
		text: strings.TrimSpace(in.Text), voice: cmp.Or(in.Voice, l.Settings.Voice), language: in.Language,
		format: formatOf(in), speed: cmp.Or(in.Speed, 1),
	}
	if s.text == "" {
		return nil, tool.Errorf(l.Op, tool.Invalid, "there is nothing to say").WithHint("give a text")
	}
	workspace, err := workfile.New(l.Op, l.Grant)
	if err != nil {
		return nil, err
	}
	to, overwrite := in.Path, in.Overwrite
	if to == "" {
		to, overwrite = s.stagedName(), true // the same text, said in the same way
	}
	target, err := workspace.Target(to, overwrite)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	f, err := target.Create("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Settings.TimeLimit(0))
	defer cancel()
	engine, err := s.sayInto(ctx, f, l, h)
	if err != nil {
		f.Discard()
		return nil, err
	}
	size := f.Size()
	if err := f.Commit(); err != nil {
		return nil, err
	}
	return tool.OK(fmt.Sprintf("spoken into %s: %s, by %s", target.Shown(), amount.Bytes(size), engine),
		map[string]any{"path": target.Shown(), "bytes": size, "format": s.format, "engine": engine})
}

// formatOf is the format of the file: the one that is asked for, or that its name says.
func formatOf(in speakArgs) string {
	switch ending := strings.TrimPrefix(strings.ToLower(path.Ext(in.Path)), "."); {
	case in.Format != "":
		return in.Format
	case ending == "ogg":
		return "opus"
	case ending == "mp3" || ending == "opus" || ending == "flac":
		return ending
	}
	return "wav"
}

// stagedName is the file of a speech that was given none.
func (s speech) stagedName() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %g", s.text, s.voice, s.language, s.speed))
	return path.Join(staging, "speech-"+hex.EncodeToString(sum[:6])+"."+s.format)
}

// sayInto has the text said: by the endpoint, or by the program of this machine.
func (s speech) sayInto(ctx context.Context, f *workfile.TempFile, l speakLease, h helpers) (engine string, err error) {
	limit, host := int64(l.Settings.MaxDownload), ""
	if l.Settings.endpoint != nil {
		host = l.Settings.endpoint.Host
	}
	if host == "" {
		return espeak, s.byProgram(ctx, &limited{f, limit}, l, h)
	}
	c := callOf(l.Op, l.Grant, &l.Settings.endpointSettings, l.Client)
	ask := map[string]any{
		"model": l.Settings.Model, "input": s.text, "voice": cmp.Or(s.voice, "alloy"), "response_format": s.format, "speed": s.speed,
	}
	if s.language != "" {
		ask["instructions"] = "Speak in the language " + s.language + "."
	}
	content, err := json.Marshal(ask)
	if err != nil {
		return "", err
	}
	resp, err := c.send(ctx, "audio/speech", "application/json", bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); strings.Contains(kind, "json") || strings.HasPrefix(kind, "text/") {
		return "", tool.Errorf(l.Op, tool.Failed, "%s answered %s, which is no sound", host, tool.Truncate(kind)).
			WithHint("check %s", l.Settings.Key("config.endpoint"))
	}
	if _, err := io.Copy(&limited{f, limit}, resp.Body); err != nil {
		return "", c.failure(ctx, err)
	}
	if f.Size() == 0 {
		return "", tool.Errorf(l.Op, tool.Failed, "%s answered nothing", host).WithHint("try another voice")
	}
	return host, nil
}

// limited is a writer that fails beyond a limit.
type limited struct {
	io.Writer
	left int64
}

// Write passes on what is within the limit.
func (w *limited) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, tool.Errorf("", tool.Denied, "the sound is larger than may be saved").
			WithHint("say less at a time, or let the app file allow more: tools.modules." + speaking +
				".constraints.max_download_bytes")
	}
	return w.Writer.Write(p)
}
