//go:build !unix

package proxy

// onHangup does nothing: there is no SIGHUP.
func onHangup(func()) (stop func()) { return func() {} }
