//! Packet traces as pcapng and recovery traces as qlog.
