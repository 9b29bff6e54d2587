// Package hostile is a web server that misbehaves in one chosen way, from a
// chosen place of the download on: what a downloader has to withstand, over
// HTTP/1.1 and HTTP/2. It is at home in a linklab, but needs only listeners.
//
// A Server's methods may be called from any goroutine. It serves from Start to
// Close, which cuts all connections and waits for all goroutines.
package hostile
