package logincode_test

import (
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/token/logincode"
	"callgate/tool"
)

func TestCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var codes logincode.Codes
		code, err := codes.Offer("ada")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := codes.Take(code + "x"); ok {
			t.Error("another code counts")
		}
		if by, ok := codes.Take(code); !ok || by != "ada" {
			t.Errorf("%q, %v", by, ok)
		}
		if _, ok := codes.Take(code); ok {
			t.Error("a code counts twice")
		}
		late, err := codes.Offer("ada")
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(11 * time.Minute) // by the clock of the bubble
		if _, ok := codes.Take(late); ok {
			t.Error("a code counts after its end")
		}
		for err == nil {
			_, err = codes.Offer("ada")
		}
		if tool.KindOf(err) != tool.Limited {
			t.Error(err)
		}
	})
}
