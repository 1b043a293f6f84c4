// Package limits bounds what one call at the gate may take. Law: a zero field means the
// default, so that no call is without a bound.
package limits

import "time"

// Limits bounds what one call may take; zero fields mean the defaults.
type Limits struct {
	Timeout  time.Duration // of a handler whose tool names none; default 2 minutes
	LockWait time.Duration // in the lock queue; default 1 minute
	Grace    time.Duration // for a cancelled handler to return; default 5 seconds
	Result   int           // bytes of a result given to a model; default 48 KiB
	Inline   int           // bytes of arguments or result kept in a record; default 8 KiB
}

// WithDefaults returns the limits with the defaults in the place of zeros.
func (l Limits) WithDefaults() Limits {
	pick := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	pick(&l.Timeout, 2*time.Minute)
	pick(&l.LockWait, time.Minute)
	pick(&l.Grace, 5*time.Second)
	if l.Result == 0 {
		l.Result = 48 << 10
	}
	if l.Inline == 0 {
		l.Inline = 8 << 10
	}
	return l
}
