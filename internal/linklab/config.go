package linklab

import (
	"errors"
	"fmt"
	"os"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab/battery"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// ServerKind chooses the web server.
type ServerKind uint8

// The servers.
const (
	ServerBuiltin ServerKind = iota
	ServerNginx
)

// DefaultSize is the size of the body that a lab serves if nothing is said.
const DefaultSize = 250e6

// Config says what a lab is to be.
type Config struct {
	Scenario    scenario.Scenario // need not be complete
	Seed        uint64            // of everything that is random
	Dir         string            // the directory to serve; empty: a body of Size bytes
	Size        int64             // in bytes; 0 = DefaultSize
	Files       *dataset.Set      // a set of files to serve instead; nil: none
	Server      ServerKind
	TLS         bool // serve https too, with a CA of the lab's own
	SourceRules bool // route by source address, so that binding to one takes effect
	RPFilter    int  // rp_filter of both namespaces: 0 off, 1 strict, 2 loose
	// ReceiveBuffer is the largest receive buffer of a connection of the client, in
	// bytes; some half of it is the window that it offers. 0: enough for every link.
	ReceiveBuffer int64
	// Battery is that of the phone that the lab plays where a link has a power
	// model. Its noise has the lab's Seed.
	Battery battery.Config
}

// complete checks the configuration and fills in defaults.
func (c Config) complete() (Config, error) {
	var err error
	if c.Scenario, err = c.Scenario.Complete(); err != nil {
		return c, err
	}
	c.Battery.Seed = c.Seed
	if c.Battery, err = c.Battery.Complete(); err != nil {
		return c, err
	}
	if c.Size < 0 {
		return c, fmt.Errorf("size %d: must not be negative", c.Size)
	}
	if c.ReceiveBuffer != 0 && (c.ReceiveBuffer < 4096 || c.ReceiveBuffer > 1<<30) {
		return c, fmt.Errorf("receive buffer of %d bytes: must be within 4096..1 GiB", c.ReceiveBuffer)
	}
	if c.RPFilter < 0 || c.RPFilter > 2 {
		return c, fmt.Errorf("rp_filter %d: must be 0, 1 or 2", c.RPFilter)
	}
	if c.Files != nil {
		if c.Dir != "" || c.Size != 0 {
			return c, errors.New("of a directory, a size and a set of files, only one can be served")
		}
		return c, nil
	}
	if c.Dir == "" {
		if c.Size == 0 {
			c.Size = DefaultSize
		}
		return c, nil
	}
	if c.Size != 0 {
		return c, errors.New("either a directory or a size can be served, not both")
	}
	info, err := os.Stat(c.Dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a directory", c.Dir)
	}
	if err != nil {
		return c, fmt.Errorf("serve: %w", err)
	}
	return c, nil
}
