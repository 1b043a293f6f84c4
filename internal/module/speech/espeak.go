package speech

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"time"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// espeak is the program that speaks where there is no endpoint.
const espeak = "espeak-ng"

// usualSpeed is what espeak-ng speaks unless it is told another speed, in words a minute.
const usualSpeed = 175

// sharedMemory is more than the shared memory that espeak-ng makes for a sound server, which is not there.
const sharedMemory = 128 << 20

// byProgram has espeak-ng say the text. It reads it from its standard input, so that no text is
// an option, and writes the sound to its standard output.
func (s speech) byProgram(ctx context.Context, to io.Writer, l speakLease, h helpers) error {
	if s.format != "wav" {
		return tool.Errorf(l.Op, tool.Invalid, "%s writes wav, not %s", espeak, s.format).
			WithHint("ask for wav; an endpoint writes other formats: %s", l.Settings.Key("config.endpoint"))
	}
	program, err := exec.LookPath(espeak)
	if err != nil {
		return tool.Errorf(l.Op, tool.Unavailable, "%s is not installed, and the app names no endpoint", espeak).
			WithHint("the user installs it (apt-get install %s), or sets %s", espeak, l.Settings.Key("config.endpoint"))
	}
	argv := []string{program, "--stdin", "--stdout", "-b", "1", "-s", fmt.Sprint(math.Round(usualSpeed * s.speed))}
	if voice := s.espeakVoice(); voice != "" {
		argv = append(argv, "-v", voice)
	}
	var said bytes.Buffer
	sound := &firstError{to: to}
	exit, err := sandbox.Run(ctx, sandbox.Spec{
		Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent"},
		Stdin: strings.NewReader(s.text), Stdout: sound, Stderr: &limitedText{&said, 4 << 10},
		Limits: sandbox.Limits{Processes: 16, FileSize: sharedMemory}, Relaxed: true, Grace: time.Millisecond, Helpers: h,
	})
	switch {
	case err != nil:
		return err
	case sound.err != nil:
		var known *tool.Error
		if errors.As(sound.err, &known) {
			known.Op = l.Op
		}
		return sound.err
	case errors.Is(ctx.Err(), context.Canceled):
		return tool.Errorf(l.Op, tool.Cancelled, "the call was cancelled")
	case exit.TimedOut || ctx.Err() != nil:
		return tool.Errorf(l.Op, tool.Timeout, "%s did not end in time", espeak).WithHint("say less at a time")
	case exit.Code != 0 || !sound.wrote:
		why := tool.Truncate(strings.TrimSpace(said.String()))
		return tool.Errorf(l.Op, tool.Invalid, "%s did not speak: %s", espeak, why).
			WithHint("check the voice and the language: %s --voices lists them", espeak)
	}
	return nil
}

// espeakVoice is the voice as espeak-ng names it: a language, with a variant behind a +.
func (s speech) espeakVoice() string {
	language := strings.ToLower(s.language)
	switch {
	case s.voice != "" && strings.HasPrefix(s.voice, "+"), language == "":
		return language + s.voice
	default:
		return language
	}
}

// firstError passes on what is written until that fails, and never fails itself: the program
// would wait for somebody to read.
type firstError struct {
	to    io.Writer
	err   error
	wrote bool
}

// Write passes on a part of the sound.
func (w *firstError) Write(p []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.to.Write(p)
	}
	w.wrote = w.wrote || len(p) > 0
	return len(p), nil
}

// limitedText keeps the beginning of what is written.
type limitedText struct {
	*bytes.Buffer
	limit int
}

// Write keeps what fits.
func (w *limitedText) Write(p []byte) (int, error) {
	if left := w.limit - w.Len(); left > 0 {
		_, _ = w.Buffer.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}
