//! Safe wrappers over DPDK: EAL, mempool, mbuf, port, queue.
#![deny(unsafe_op_in_unsafe_fn)]
