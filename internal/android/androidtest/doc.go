// Package androidtest is, for tests, the part of Android that mlget meets:
// netd's routing rules, and netd's two sockets, answering as those of Android
// 8 to 15 do. Sockets are marked for real, by netd's rights, and rules in the
// network namespace of the test lead them for real, so that a download
// succeeds when Android would let it.
//
// It follows system/netd/server/{FwmarkServer,NetworkController,
// RouteController}.cpp and packages/modules/DnsResolver/DnsProxyListener.cpp.
//
// Contract: a Netd is set up first and served then; Close ends its goroutines.
package androidtest
