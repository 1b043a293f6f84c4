package picture

import "encoding/binary"

// orientation reads from a JPEG how the camera was held, as EXIF counts: 1 to 8, 1 where it is
// not said.
func orientation(data []byte) int {
	const upright = 1
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker, size := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xda || marker == 0xd9 || size < 2 || at+2+size > len(data) {
			return upright
		}
		body := data[at+4 : at+2+size]
		if marker == 0xe1 && len(body) > 6 && string(body[:6]) == "Exif\x00\x00" {
			if turn := exifOrientation(body[6:]); turn >= 1 && turn <= 8 {
				return turn
			}
			return upright
		}
		at += 2 + size
	}
	return upright
}

// exifOrientation finds the entry in the first directory of an EXIF block.
func exifOrientation(block []byte) int {
	const head, entry, tag = 8, 12, 0x0112
	if len(block) < head {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(block[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int(order.Uint32(block[4:]))
	if at < head || at+2 > len(block) {
		return 0
	}
	n := int(order.Uint16(block[at:]))
	for i := range n {
		from := at + 2 + i*entry
		if from+entry > len(block) {
			return 0
		}
		if order.Uint16(block[from:]) == tag {
			return int(order.Uint16(block[from+8:]))
		}
	}
	return 0
}
