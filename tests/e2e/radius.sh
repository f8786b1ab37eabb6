# shellcheck shell=bash
# What the cases with RADIUS share: FreeRADIUS in the host's namespace, and bngd set up for it. Sourced by these cases.

RADIUS_SECRET=a-shared-secret-of-the-lab
# RADIUS=ADDRESS of the server to be started or asked; there may be several, each with a folder of its own.
radius_folder() { echo "$LAB_FOLDER/radius-$1"; }

# radius_server ADDRESS [SED-EXPRESSION...]: starts FreeRADIUS at an address of the host, with configs/freeradius changed
# by the expressions. Its process is in RADIUS_PROCESS[ADDRESS], its accounting in the file detail of its folder.
declare -A RADIUS_PROCESS=()
radius_server() {
    local address=$1 folder expression arguments=()
    shift
    folder=$(radius_folder "$address")
    if [ ! -d "$folder" ]; then
        cp -r "$REPOSITORY/configs/freeradius" "$folder"
        mkdir -p "$folder/log" "$folder/run"
        for expression; do arguments+=(-e "$expression"); done
        sed -i -e "s|^raddb = .*|raddb = $folder|" -e "s|ipaddr = \\*|ipaddr = $address|" \
            ${arguments[@]+"${arguments[@]}"} "$folder/radiusd.conf"
        sed -i -e "s/^	secret = .*/	secret = $RADIUS_SECRET/" "$folder/clients.conf"
        cat "$LAB_FOLDER/users" >> "$folder/users" 2> /dev/null
    fi
    : > "$folder/server.log"
    setsid ip netns exec "$NS_INET" freeradius -f -l stdout -d "$folder" -n radiusd \
        >> "$folder/server.log" 2>&1 < /dev/null &
    RADIUS_PROCESS[$address]=$!
    LAB_STARTED+=("$!")
    within 15 "FreeRADIUS at $address" radius_ready "$folder/server.log"
}
radius_ready() { grep -q 'Ready to process requests' "$1"; }
# radius_stop ADDRESS: ends it.
radius_stop() {
    lab_stop "${RADIUS_PROCESS[$1]}"
    wait "${RADIUS_PROCESS[$1]}" 2> /dev/null
}

# bngd_radius METHODS SERVERS ACCOUNTING-SERVERS [LINES]: starts bngd with these methods in its profile; servers are
# addresses in order of priority; LINES go under `radius:`, indented by four.
bngd_radius() {
    local methods=$1 servers=$2 accounting=$3 lines=${4:-}
    shift 3
    [ $# = 0 ] || shift
    printf '%s\n' "$RADIUS_SECRET" > "$LAB_FOLDER/radius.secret"
    chmod 600 "$LAB_FOLDER/radius.secret"
    config "s/aaa: local/aaa: $methods/" "$@"
    {
        echo "  radius:"
        echo "    nas_ip_address: $ROUTER"
        echo "    requests: {timeout: 500ms, timeout_max: 2s, dead_after: 1s, probe_interval: 500ms}"
        [ -z "$lines" ] || printf '%s\n' "$lines"
        echo "    servers:"
        radius_list "$servers"
        if [ -n "$accounting" ]; then
            echo "    accounting:"
            echo "      folder: $LAB_FOLDER/accounting"
            echo "      servers:"
            radius_list "$accounting"
        fi
    } > "$LAB_FOLDER/radius.yaml"
    # Behind `aaa:`, whatever else stands there.
    sed -i "/^aaa:/r $LAB_FOLDER/radius.yaml" "$CONFIG"
    lab_bngd "$E2E_BNGD" "$CONFIG" 30 || fail "bngd does not come up"
}
radius_list() {
    local server priority=0
    for server in $1; do
        echo "        - {address: $server, priority: $priority, secret_file: radius.secret}"
        priority=$((priority + 1))
    done
}

# radius FILTER: of jq, over what bngctl shows of RADIUS
radius() { bngctl --json show radius | jq -r "$1"; }
# radius_metric NAME LABEL: the sum of the samples of this name that have this text in their labels
radius_metric() { bngctl_metrics | awk -v name="$1" -v label="$2" 'index($0, name) == 1 && index($0, label) { sum += $NF } END { print sum + 0 }'; }
bngctl_metrics() {
    curl -s --max-time 5 --unix-socket "$LAB_SOCKET" http://localhost/metrics
}
# detail ADDRESS: the accounting records of a server, a JSON object a line
detail() {
    awk '
        function end() { if (open) print "{" line "}"; open = 0; line = "" }
        /^[^\t ]/ { end(); next }
        /^$/ { end(); next }
        {
            open = 1
            name = $1
            value = $0
            sub(/^[^=]*= /, "", value)
            gsub(/^"|"$/, "", value)
            gsub(/\\/, "\\\\", value)
            gsub(/"/, "\\\"", value)
            line = line (line == "" ? "" : ",") "\"" name "\":\"" value "\""
        }
        END { end() }' "$(radius_folder "$1")/log/detail" 2> /dev/null
}
# records ADDRESS FILTER: how many accounting records of a server pass a filter of jq
records() { detail "$1" | jq -c "select($2)" | wc -l; }
records_are() { [ "$(records "$1" "$2")" = "$3" ]; }
