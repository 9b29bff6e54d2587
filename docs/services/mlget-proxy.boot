#!/data/data/com.termux/files/usr/bin/sh
# For Termux:Boot (F-Droid), which has to be opened once:
#   mkdir -p ~/.termux/boot
#   cp mlget-proxy.boot ~/.termux/boot/mlget-proxy && chmod 700 ~/.termux/boot/mlget-proxy
# Without the wake lock Android suspends the proxy while the screen is off.
termux-wake-lock
conf="$HOME/.config/mlget/proxy.conf"
mkdir -p "${conf%/*}"
[ -e "$conf" ] || : > "$conf"
until
	mlget proxy --config "$conf" 2>> "$HOME/.mlget-proxy.log"
do
	sleep 5
done
