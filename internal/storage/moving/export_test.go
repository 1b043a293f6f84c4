package moving

// SetSwitched has a function called when the database has become the kernel's.
func (m *Migration) SetSwitched(f func()) { m.switched = f }
