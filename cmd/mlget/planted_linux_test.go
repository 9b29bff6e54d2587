package main_test

import "testing"

// TestPlantedPart: in a directory where others may write, what they have put there for a download
// to fill in is left alone, and nothing is left of a run that cannot do without it.
func TestPlantedPart(t *testing.T) {
	s := newSite(t)
	inMounts(t, s, "size=16m", `
chmod 1777 .
: >f.bin.part
chown 1234 f.bin.part
get 0 "$URL/ranges/3000/f.bin"
says '^mlget: f.bin.part is left alone, and another name is used: it belongs to another user$'
[ ! -e f.bin ] || fail "f.bin"
[ "$(stat -c '%u %h %a %s' f.bin.1)" = "0 1 644 3000" ] || fail "f.bin.1"
[ "$(stat -c '%u %s' f.bin.part)" = "1234 0" ] || fail "f.bin.part"
for flag in -o -co; do
	get 3 $flag f.bin "$URL/ranges/3000/f.bin"
	says '^mlget: .*f.bin.part: in the way and not made by mlget: it belongs to another user$'
	says '^mlget: hint: move it away'
done
[ "$(ls -A | tr '\n' ' ')" = "f.bin.1 f.bin.part " ] || fail "something was left"

# A list's, and what -c goes on with.
: >g.bin.part
chown 1234 g.bin.part
printf half >h.bin
chown 1234 h.bin
get 3 -c "$URL/ranges/3000/g.bin" "$URL/ranges/3000/h.bin"
says 'g.bin.part: .*another user'
says 'h.bin: .*another user'
get 0 "$URL/ranges/3000/g.bin" "$URL/ranges/2000/i.bin"
[ "$(stat -c '%u %s' g.bin.1)" = "0 3000" ] || fail "g.bin.1"
[ "$(cat h.bin)" = half ] || fail "h.bin"
`)
}
