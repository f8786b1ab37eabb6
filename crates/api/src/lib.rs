//! Management types, the HTTP server on TCP and UNIX sockets, and bngctl's client side.
#![forbid(unsafe_code)]
