//go:build !linux && !darwin && !windows && !freebsd

package link

const (
	cannotBind = "this system ties no socket to an interface, and this link is not its default route"
	bindHint   = ""
)
