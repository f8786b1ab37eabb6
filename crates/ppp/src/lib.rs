//! PPP: RFC 1661 automaton, LCP, PAP, CHAP, IPCP, sans-I/O.
#![forbid(unsafe_code)]
