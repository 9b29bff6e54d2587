package link

// FreeBSD has SO_SETFIB alone, which picks a routing table, not an interface;
// which table leads through a link is for its administrator to know.
const (
	cannotBind = "FreeBSD ties sockets to routing tables only, and this link is not the default route of the one in use"
	bindHint   = "setfib 1 mlget" // in a table in which the link is the default route
)
