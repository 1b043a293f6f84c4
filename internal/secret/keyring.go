package secret

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/zalando/go-keyring"
)

// keyStore is the keyring of the operating system. A name that is not in it is
// keyring.ErrNotFound.
type keyStore interface {
	Get(service, name string) (string, error)
	Set(service, name, value string) error
}

// The services under which the keyring knows us.
const (
	ringSecrets = "callgate"            // secrets by their names, set by the user's own means
	ringKeys    = "callgate secret key" // the store's key, by its id
)

// systemKeyring returns the keyring of this login, or nil where there is none.
// Nothing is started to have one: on Linux the library would start a message
// bus, which nobody would end.
func systemKeyring() keyStore {
	if os.Getenv("CALLGATE_KEYRING") == "off" {
		return nil
	}
	switch runtime.GOOS {
	case "darwin", "windows":
		return timeoutKeyring{osKeyring{}}
	}
	if bus := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); bus != "" && bus != "autolaunch:" {
		return timeoutKeyring{osKeyring{}}
	}
	if _, err := os.Stat(filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus")); err == nil {
		return timeoutKeyring{osKeyring{}}
	}
	return nil
}

type osKeyring struct{}

func (osKeyring) Get(service, name string) (string, error) { return keyring.Get(service, name) }
func (osKeyring) Set(service, name, value string) error    { return keyring.Set(service, name, value) }

// patience is how long a keyring may take. One that is locked asks its user
// for a password; who comes back later finds it open.
const patience = 5 * time.Second

// timeoutKeyring is a keyring that is not waited for without end.
type timeoutKeyring struct{ keyStore }

func (p timeoutKeyring) Get(service, name string) (value string, err error) {
	type answer struct {
		value string
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := p.keyStore.Get(service, name)
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-time.After(patience):
		return "", errSilent
	}
}

func (p timeoutKeyring) Set(service, name, value string) error {
	done := make(chan error, 1)
	go func() { done <- p.keyStore.Set(service, name, value) }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return errSilent
	}
}

var errSilent = fmt.Errorf("the keyring did not answer within %v; it may be locked", patience)

// errLocked is a store whose key is in a keyring that cannot be asked now. It
// may be later.
var errLocked = errors.New("the keyring cannot be asked")
