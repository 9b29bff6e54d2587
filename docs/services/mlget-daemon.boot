#!/data/data/com.termux/files/usr/bin/sh
# For Termux:Boot (F-Droid), which has to be opened once:
#   mkdir -p ~/.termux/boot
#   cp mlget-daemon.boot ~/.termux/boot/mlget-daemon && chmod 700 ~/.termux/boot/mlget-daemon
#   termux-setup-storage
# Without the wake lock Android suspends the daemon while the screen is off.
termux-wake-lock
exec mlget daemon --quiet --dir "$HOME/storage/downloads" 2> "$HOME/.mlget-daemon.log"
