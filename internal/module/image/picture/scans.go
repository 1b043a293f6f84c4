package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// maxScans limits how often a JPEG goes over its pixels. One that is shown bit by bit does about ten
// times; a scan of some bytes takes as long to decode as a whole picture.
const maxScans = 100

// checkScans counts the scans of a JPEG, by the markers that the decoder goes by.
func checkScans(data []byte) error {
	const stuffed, restart, lastRestart, end, scan, fill = 0x00, 0xd0, 0xd7, 0xd9, 0xda, 0xff
	scans := 0
	for at := 2; ; {
		next := bytes.IndexByte(data[min(at, len(data)):], fill)
		if next < 0 {
			return nil // it is cut off, which decoding says
		}
		at += next
		for at < len(data) && data[at] == fill {
			at++
		}
		if at+3 > len(data) || data[at] == end {
			return nil
		}
		marker := data[at]
		at++
		if marker == stuffed || marker >= restart && marker <= lastRestart {
			continue
		}
		if marker == scan {
			if scans++; scans > maxScans {
				return fmt.Errorf("it is a jpeg of more than %d scans", maxScans)
			}
		}
		at += int(binary.BigEndian.Uint16(data[at:]))
	}
}
