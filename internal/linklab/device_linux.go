package linklab

import (
	"errors"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
)

// clientDevice is the client's device of a link, which can vanish and be made
// anew. One goroutine reads, another one writes; Leave and Return may be called
// from a third.
type clientDevice struct {
	thread      *nsThread // of the client's namespace
	subnet      subnet
	sourceRules bool

	device atomic.Pointer[tun] // nil while there is none

	mu     sync.Mutex
	made   int
	closed bool
	back   chan struct{} // closed when there is a device again, or never will be
}

// newClientDevice makes the device with its first addresses.
func newClientDevice(thread *nsThread, s subnet, sourceRules bool) (*clientDevice, error) {
	d := &clientDevice{thread: thread, subnet: s, sourceRules: sourceRules, back: make(chan struct{})}
	_, err := d.Return()
	return d, err
}

// Return makes the device, and gives its addresses: other ones each time.
func (d *clientDevice) Return() ([]netip.Addr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.subnet.visit(d.made)
	if d.closed || d.device.Load() != nil {
		return s.addrs(), nil
	}
	d.made++
	s = d.subnet.visit(d.made)
	err := d.thread.do(func() error {
		t, err := addClientDevice(s, d.sourceRules)
		if err == nil {
			d.device.Store(t)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	close(d.back)
	return s.addrs(), nil
}

// Leave takes the device away, and with it its addresses and routes.
func (d *clientDevice) Leave() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.device.Swap(nil)
	if t == nil {
		return nil
	}
	d.back = make(chan struct{})
	return t.Close()
}

// Read takes the next packet from the device, when there is one.
func (d *clientDevice) Read(b []byte) (int, error) {
	for {
		if t := d.device.Load(); t != nil {
			n, err := t.Read(b)
			if err == nil || d.device.Load() == t {
				return n, err
			}
			continue // it has left
		}
		d.mu.Lock()
		back, closed := d.back, d.closed
		d.mu.Unlock()
		if closed {
			return 0, os.ErrClosed
		}
		<-back
	}
}

// Write gives the device a packet; it is lost while there is no device.
func (d *clientDevice) Write(b []byte) (int, error) {
	t := d.device.Load()
	if t == nil {
		return len(b), nil
	}
	n, err := t.Write(b)
	if err != nil && d.device.Load() != t {
		return len(b), nil
	}
	return n, err
}

// SetCarrier switches the device's carrier; one that is not there has none.
func (d *clientDevice) SetCarrier(on bool) error {
	if t := d.device.Load(); t != nil {
		if err := t.SetCarrier(on); err != nil && d.device.Load() == t {
			return err
		}
	}
	return nil
}

// Close takes the device away for good.
func (d *clientDevice) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	d.closed = true
	t := d.device.Swap(nil)
	if t == nil {
		close(d.back)
		return nil
	}
	err := t.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
