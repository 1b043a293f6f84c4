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

// systemKeyring returns the keyring of this login, or nil where there is none. It
// starts nothing: on Linux the library would start a message bus, which nobody
// would end.
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

// keyringTimeout is how long a keyring may take. A locked one asks its user for a
// password; a later lookup finds it open.
const keyringTimeout = 5 * time.Second

// timeoutKeyring bounds the time that a keyring may take.
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
	case <-time.After(keyringTimeout):
		return "", errSilent
	}
}

func (p timeoutKeyring) Set(service, name, value string) error {
	done := make(chan error, 1)
	go func() { done <- p.keyStore.Set(service, name, value) }()
	select {
	case err := <-done:
		return err
	case <-time.After(keyringTimeout):
		return errSilent
	}
}

var errSilent = fmt.Errorf("the keyring did not answer within %v; it may be locked", keyringTimeout)

// errLocked says that the store's key is in a keyring that does not answer now,
// and may answer later.
var errLocked = errors.New("the keyring cannot be asked")
