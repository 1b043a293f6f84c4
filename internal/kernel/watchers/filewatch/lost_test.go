package filewatch

import "testing"

// When the system lost count, everybody is told.
func TestLostCount(t *testing.T) {
	var hub Hub
	told := make(chan struct{}, 2)
	stop, err := hub.Watch(t.TempDir(), func() { told <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	hub.mu.Lock()
	system := hub.system
	hub.mu.Unlock()
	hub.tellAll(system)
	<-told
}
