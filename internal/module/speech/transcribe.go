package speech

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"path"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/body"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed transcribe.md
var transcribeDoc string

const transcribeInput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The recording, relative to the workspace or absolute inside it."},
    "language": {"type": "string", "pattern": "^[A-Za-z]{2,3}$",
      "description": "The language that is spoken, as en or fr, if it is known."},
    "prompt": {"type": "string", "maxLength": 1000, "description": "Names and words that may occur, so that they are spelled right."}
  },
  "required": ["path"],
  "additionalProperties": false
}`

const transcribeOutput = `{
  "type": "object",
  "properties": {
    "text": {"type": "string"},
    "language": {"type": "string"},
    "seconds": {"type": "number", "description": "How long the recording is, where the server says so."}
  },
  "required": ["text"]
}`

func transcribeTool(clients *hearingPool) module.Definition {
	return module.Definition{
		Name: "transcribe", Doc: transcribeDoc, Input: transcribeInput, Output: transcribeOutput,
		Examples: []tool.Example{
			module.Example("a voice message", `{"path": ".choirtmp/recv/message.ogg"}`),
			module.Example("a meeting in German", `{"path": "meeting.mp3", "language": "de", "prompt": "Frau Nguyen"}`),
		},
		Aliases: []string{
			"speech_to_text", "speech-to-text", "transcribe_audio", "whisper", "write down a recording", "voice message to text",
			"subtitles of a recording", "transcrire un enregistrement", "dictée", "Aufnahme abschreiben", "Sprache in Text",
			"transcribir un audio", "transcrever áudio", "语音转文字", "转录音频", "文字起こし", "расшифровать запись",
		},
		Tags: []string{"speech", "voice", "audio", "recording", "transcript", "stt", "whisper", "enregistrement", "Aufnahme"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
			Risk:    tool.Medium, SideEffect: tool.External, Idempotent: true,
			Data: tool.DataSensitive, Timeout: fetch.RequestTime,
		},
		Handler: fetch.Handler(clients, "transcribe", transcribe),
	}
}

type transcribeArgs struct {
	Path     string `json:"path"`
	Language string `json:"language"`
	Prompt   string `json:"prompt"`
}

// transcript is what the endpoint answers.
type transcript struct {
	Text     string  `json:"text"`
	Language string  `json:"language,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
}

func transcribe(ctx context.Context, l hearLease, in transcribeArgs) (*tool.Result, error) {
	if l.Settings.endpoint == nil {
		return nil, tool.Errorf(l.Op, tool.Unavailable, "nothing here understands speech: the app names no endpoint").
			WithHint("the user sets %s to an OpenAI-compatible server, for instance of whisper.cpp on this machine",
				l.Settings.Key("config.endpoint"))
	}
	workspace, err := workfile.New(l.Op, l.Grant)
	if err != nil {
		return nil, err
	}
	f, shown, err := workspace.Open(in.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, workspace.Fail(shown, err)
	}
	switch size := info.Size(); {
	case size == 0:
		return nil, tool.Errorf(l.Op, tool.Invalid, "%s is empty", shown).WithHint("name a recording")
	case size > int64(l.Settings.MaxUpload):
		return nil, tool.Errorf(l.Op, tool.Denied, "%s is %s, and at most %s are sent", shown, amount.Bytes(size),
			amount.Bytes(int64(l.Settings.MaxUpload))).
			WithHint("cut or compress it, or let the app file allow more: %s", l.Settings.Key("constraints.max_upload_bytes"))
	}
	ctx, cancel := context.WithTimeout(ctx, l.Settings.TimeLimit(0))
	defer cancel()
	c := callOf(l.Op, l.Grant, &l.Settings.endpointSettings, l.Client)
	heard, err := c.transcript(ctx, io.LimitReader(f, int64(l.Settings.MaxUpload)), shown, in)
	if err != nil {
		return nil, err
	}
	r, err := tool.OK(fmt.Sprintf("%s are said in %s", amount.Of(len(strings.Fields(heard.Text)), "word"), shown), heard)
	if err != nil {
		return nil, err
	}
	r.Content = []tool.Content{tool.Text(fence.Follows + fence.Data(heard.Text))}
	return r, nil
}

// transcript sends a recording, and reads what was heard.
func (c apiCall) transcript(
	ctx context.Context, recording io.Reader, name string, in transcribeArgs,
) (*transcript, error) {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() { writer.CloseWithError(c.writeForm(form, recording, name, in)) }()
	defer reader.Close() // ends the goroutine, whatever happens
	resp, err := c.send(ctx, "audio/transcriptions", form.FormDataContentType(), reader)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, truncated, err := body.ReadAll(resp, maxSaid)
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	var said struct {
		Text     *string
		Language string
		Duration float64
	}
	if err := json.Unmarshal(content, &said); err != nil || truncated || said.Text == nil {
		return nil, tool.Errorf(c.Op, tool.Failed, "%s answered what is no transcript", c.settings.endpoint.Host).
			WithHint("check %s", c.settings.Key("config.endpoint"))
	}
	return &transcript{strings.TrimSpace(*said.Text), said.Language, said.Duration}, nil
}

func (c apiCall) writeForm(form *multipart.Writer, recording io.Reader, name string, in transcribeArgs) error {
	for _, field := range [][2]string{
		{"model", c.settings.Model}, {"response_format", "json"}, {"language", strings.ToLower(in.Language)}, {"prompt", in.Prompt},
	} {
		if field[1] == "" {
			continue
		}
		if err := form.WriteField(field[0], field[1]); err != nil {
			return err
		}
	}
	part, err := form.CreateFormFile("file", path.Base(name))
	if err != nil {
		return err
	}
	if _, err := io.Copy(part, recording); err != nil {
		return err
	}
	return form.Close()
}
