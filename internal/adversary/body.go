package adversary

import "encoding/binary"

// blockSize is how many bytes of a body name the file, the version and the place they are
// of; it is what findings are told in.
const blockSize = 4 << 10

// fill writes the bytes of a version of a file from off on into p. Each 8 bytes are
// splitmix64 (Steele, Lea and Flood 2014) of file, version and place, so that versions
// differ everywhere; each block begins with these three in plain.
func fill(p []byte, file, version int, off int64) {
	seed := uint64(file+1)<<48 | uint64(version+1)<<40
	for len(p) > 0 {
		word, skip := off/8, off%8
		var w [8]byte
		if off%blockSize < 8 {
			w = [8]byte{'A', 'D', 'V', byte('0' + version%10), byte(file)}
			w[5], w[6], w[7] = byte(off/blockSize), byte(off/blockSize>>8), byte(off/blockSize>>16)
		} else {
			z := (seed + uint64(word)) * 0x9e3779b97f4a7c15
			z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
			z = (z ^ z>>27) * 0x94d049bb133111eb
			binary.LittleEndian.PutUint64(w[:], z^z>>31)
		}
		n := copy(p, w[skip:])
		p, off = p[n:], off+int64(n)
	}
}

// page is what a portal gives for everything.
const page = "<!DOCTYPE html><html><head><title>Welcome</title></head><body>" +
	"<h1>Welcome to the network</h1><p>Please accept the terms of use to go on.</p></body></html>\n"

// bytesAt fills p with what a story's body has from off on.
func bytesAt(p []byte, file, version int, off int64) {
	if version == portalPage {
		copy(p, page[min(off, int64(len(page))):])
		return
	}
	fill(p, file, version, off)
}

// Fill writes the beginning of a version of a file into p.
func Fill(p []byte, file, version int) { fill(p, file, version, 0) }
