package service

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
)

// Plist is the file of a launch agent.
func Plist(s Spec) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	header, err := s.header()
	if err != nil {
		return "", err
	}
	var env strings.Builder
	if len(s.Env) > 0 {
		env.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, v := range s.Env {
			fmt.Fprintf(&env, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", xmlText(v.Name), xmlText(v.Value))
		}
		env.WriteString("\t</dict>\n")
	}
	log := xmlText(filepath.Join(s.State, "service.log"))
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by callgate service install; callgate service remove removes it. -->
<!-- %s -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>%s</string>
	<key>ProgramArguments</key>
	<array>
		<string>%s</string>
		<string>--state</string>
		<string>%s</string>
		<string>up</string>
	</array>
%s	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ExitTimeOut</key>
	<integer>30</integer>
	<key>StandardOutPath</key>
	<string>%s</string>
	<key>StandardErrorPath</key>
	<string>%s</string>
</dict>
</plist>
`, header, xmlText(s.Name), xmlText(s.Program), xmlText(s.State), env.String(), log, log), nil
}

func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
