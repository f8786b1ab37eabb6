# shellcheck shell=bash
# The lists of packages are used by the scripts that source this.
# shellcheck disable=SC2034
# What the scripts share: words to the operator, and the things that have to be there.

REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '\n=== %s\n' "$*"; }
die() {
    printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

need_linux_root_tun() {
    [ "$(uname -s)" = Linux ] || die "this needs Linux."
    [ "$(id -u)" = 0 ] || die "this makes network namespaces and tap devices and must run as root: sudo $0"
    if [ ! -c /dev/net/tun ]; then
        die "there is no /dev/net/tun: load the module (modprobe tun), or give the container the device."
    fi
}

# The rustc that the workspace needs, as its Cargo.toml says.
need_cargo() {
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$REPOSITORY/Cargo.toml" | head -n 1)
    # rustup puts it where root's PATH may not look.
    command -v cargo > /dev/null || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
    command -v cargo > /dev/null ||
        die "there is no cargo: install Rust $wanted or later from https://rustup.rs (Debian 12's own is too old)."
    found=$(cd "$REPOSITORY" && rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n' "$wanted" "${found%%-*}" | sort -V | head -n 1)" != "$wanted" ]; then
        die "rustc is $found, and bngd needs $wanted or later: rustup update stable (Debian 12's own is too old)."
    fi
}

# need_packages NAME...: installs those that are missing.
need_packages() {
    local name missing=()
    command -v dpkg-query > /dev/null || die "this installs packages by apt and needs Debian 12."
    for name; do
        dpkg-query -W -f='${Status}' "$name" 2> /dev/null | grep -q 'ok installed' || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # What is installed here is started by the tests, in their own namespaces, and not by the system.
    local policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' > $policy && chmod 755 $policy
        trap 'rm -f /usr/sbin/policy-rc.d; trap - RETURN' RETURN
    fi
    if ! apt-get install -y -q --no-install-recommends "${missing[@]}"; then
        apt-get update -q || die "apt-get update failed: is there a network?"
        apt-get install -y -q --no-install-recommends "${missing[@]}" || die "cannot install ${missing[*]}."
    fi
    if [[ " ${missing[*]} " = *" freeradius "* ]] && command -v systemctl > /dev/null; then
        systemctl disable freeradius > /dev/null 2>&1
    fi
    if [[ " ${missing[*]} " = *" frr "* ]] && command -v systemctl > /dev/null; then
        systemctl disable frr > /dev/null 2>&1
    fi
    return 0
}

# What bngd is built with, what the lab is made of, and what the tests judge by.
PACKAGES_BUILD=(gcc pkg-config libdpdk-dev libclang-dev)
PACKAGES_LAB=(iproute2 iputils-ping ethtool procps ppp user-mode-linux busybox-static)
PACKAGES_TEST=(tcpdump tshark python3-scapy iperf3 jq curl freeradius freeradius-utils frr dhcpcd-base)

# The build's folder, also where CARGO_TARGET_DIR or a configuration file moves it.
target_folder() {
    (cd "$REPOSITORY" && cargo metadata --no-deps --format-version 1) |
        sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}

# The host's own interfaces, addresses and routes as text, without what ticks by itself (lifetimes).
host_state() {
    {
        ip -d link show
        ip address show
        ip -4 route show table all
        ip -6 route show table all
        ip rule show
    } | sed -E 's/(valid_lft|preferred_lft|expires) [^ ]+//g'
}
