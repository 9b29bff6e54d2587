package sweep

import "fmt"

// Header is the first line of a file of results: what they are results of.
type Header struct {
	Schema      int    `json:"sweep"`
	Grid        Grid   `json:"grid"`
	Seed        uint64 `json:"seed"`
	Target      string `json:"target"`                // what is downloaded, in words that name it for good
	Fingerprint string `json:"fingerprint,omitempty"` // of mlget's further flags, if there are any
	Version     string `json:"version,omitempty"`     // mlget's
}

// Schema is the version of the format of results.
const Schema = 1

// Check refuses other versions, and what no sweep can be of.
func (h Header) Check() error {
	if h.Schema != Schema {
		return fmt.Errorf("version %d", h.Schema)
	}
	return h.Grid.Check()
}

// Settings are all of it.
func (h Header) Settings() any { return h }
