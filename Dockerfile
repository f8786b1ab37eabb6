# bngd and bngctl in a container: built in Rust's own image, run on a slim Debian with nothing but the shared libraries.
#
#   docker build -t bngd .
#   docker run --rm bngd --version
#   docker run --rm -v /etc/bngd:/etc/bngd:ro bngd check /etc/bngd/bngd.yaml
#
# How to run it with ports is in README.md. DPDK is linked statically, so both stages must be the same release of Debian:
# its 22.11 is what the bindings are for.

FROM rust:1.95-bookworm AS build

# The versions are those of the release: pinning them would break the build with each security update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libclang-dev libdpdk-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY . .

# Downloads and objects are kept from one build to the next, and out of the image.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin bngd --bin bngctl \
    && install -D -t /out target/release/bngd target/release/bngctl \
    && strip --strip-debug /out/bngd /out/bngctl


FROM debian:12-slim

LABEL org.opencontainers.image.title="bngd" \
      org.opencontainers.image.description="PPPoE broadband network gateway on DPDK" \
      org.opencontainers.image.licenses="Apache-2.0"

# What `ldd bngd` names: the rest of DPDK is inside.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libbpf1 libbsd0 libelf1 libnuma1 libpcap0.8 libxdp1 \
    && rm -rf /var/lib/apt/lists/*

COPY --from=build /out/bngd /out/bngctl /usr/local/bin/

# A library that is missing fails the build, not the first start.
RUN ["bngd", "--version"]

# bngd needs root within the container: it opens devices, makes taps and locks memory. There is no USER for that reason.
STOPSIGNAL SIGTERM
# Where the configuration names another telemetry.socket, set BNGCTL_SOCKET to it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["bngctl", "show", "version"]

ENTRYPOINT ["bngd"]
CMD ["--config", "/etc/bngd/bngd.yaml"]
