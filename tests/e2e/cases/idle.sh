# shellcheck shell=bash
# An idle box uses less than 10% of a CPU, and is awake at once when a packet comes.
bngd
sleep 3
before=$(cpu_time "$LAB_BNGD")
sleep 10
used=$(($(cpu_time "$LAB_BNGD") - before))
note "$used hundredths of a second of CPU time in 10 s"
at_most "the hundredths of a second of CPU time in 10 s" "$used" 99
ping_from "$NS_INET" 5 "$ROUTER"
