package conversations

import (
	"errors"

	"callgate/internal/amount"
	"callgate/internal/tui/attach"
	"callgate/llm"
	"callgate/tool"
)

// How many pictures one message has, and their bytes together.
const (
	maxPictures     = 10
	maxPictureBytes = 25 << 20
)

// readPictures reads the pictures that go with the message.
func (t *turns) readPictures() (pictures []llm.Image, err error) {
	if len(t.images) > maxPictures {
		return nil, tool.Errorf(opRequest, tool.Invalid, "there are %d pictures, and a message may have %d",
			len(t.images), maxPictures).WithHint("give the others with --continue")
	}
	var size int64
	for _, file := range t.images {
		picture, err := attach.ReadPicture(t.Path(file))
		if err != nil {
			var e *tool.Error
			if errors.As(err, &e) {
				return nil, &tool.Error{Op: opRequest, Kind: e.Kind, Message: file + ": " + e.Message, Hint: e.Hint, Err: e.Err}
			}
			return nil, err
		}
		if size += int64(len(picture.Data)); size > maxPictureBytes {
			return nil, tool.Errorf(opRequest, tool.Invalid, "the pictures have more than %s together",
				amount.Bytes(maxPictureBytes)).WithHint("make them smaller, or give some with --continue")
		}
		pictures = append(pictures, *picture)
	}
	return pictures, nil
}
