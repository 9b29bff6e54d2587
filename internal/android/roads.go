package android

import "strconv"

// preferredUIDs is the setting by which apps get cellular as their default network
// (Android 12 and later; ConnectivitySettingsManager). It holds user ids in
// decimal, parted by semicolons. Anything else crashes the system at every boot
// (12 to 15: Integer.parseInt in the system's server).
const preferredUIDs = "mobile_data_preferred_uids"

// PreferCellular returns the commands, for adb shell, that show the setting, add a
// user id to those that it holds, and take it back. They are for the phone's owner
// to read and run, never for this program: the setting changes the default network
// of everything that the app does.
//
// What the second writes is checked there: an old value that is no list of numbers
// ("null" where nothing is set) is left out.
func PreferCellular(uid uint32) (show, add, undo string) {
	show = "settings get secure " + preferredUIDs
	add = "n=" + strconv.FormatUint(uint64(uid), 10) + "; o=$(" + show + `); case ";$o;" in *[!0-9\;]*|*\;\;*) ;; *) n="$o;$n";; esac; ` +
		"settings put secure " + preferredUIDs + ` "$n"`
	return show, add, "settings delete secure " + preferredUIDs
}

// WaysToCellular says, line by line, how a user that Android refuses cellular beside
// Wi-Fi gets it all the same. A line that is indented is a command.
func WaysToCellular(uid uint32) []string {
	show, add, undo := PreferCellular(uid)
	return []string{
		"1. Android 11 and later, on the phone alone, Wi-Fi on: adb from Termux to itself. In the developer options,",
		"   Wireless debugging, Pair device with pairing code, beside Termux on a split screen; then in Termux",
		"       pkg install android-tools",
		"       adb pair localhost:PORT       # the port and the code of that window",
		"       adb connect localhost:PORT    # the port of the window before",
		"       adb push $PREFIX/bin/mlget /data/local/tmp/",
		"       adb shell 'cd /data/local/tmp && ./mlget --links wifi,cellular URL'",
		"2. with root: su -c mlget ...",
		"3. from a computer: adb shell /data/local/tmp/mlget ...",
		"4. Android 12 and later, once, in the shell of 1 or 3: make cellular the default network of this app, for",
		"   all that it does, which costs data. First see what is set, and keep a note of it; then add this app",
		"       " + show,
		"       " + add,
		"   and to undo it, where nothing was set before (else put the old numbers back)",
		"       " + undo,
		"Mobile data always active (developer options) has to be on, or the phone ends cellular beside Wi-Fi.",
	}
}
