//go:build !linux

package terminaltest

import (
	"errors"
	"os"
)

func startTerminal(*os.File) error { return errors.New(noTerminals + " for tests on this system") }

func leaveTerminal() {}

func runOnTerminal(Program) Ended { return Ended{Failed: noTerminals} }
