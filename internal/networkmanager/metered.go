// Package networkmanager asks NetworkManager, over D-Bus, what it knows of links
// that nothing else tells. It changes nothing, and starts nothing: where
// NetworkManager does not run, it says so.
package networkmanager

// Metered is NetworkManager's word on whether data over a device costs money
// (the type NMMetered of its D-Bus interface).
type Metered uint32

// The values of NMMetered.
const (
	Unknown  Metered = 0
	Yes      Metered = 1 // its user says so
	No       Metered = 2 // its user says so
	GuessYes Metered = 3 // from the kind of device, or from what the network says of itself
	GuessNo  Metered = 4
)
