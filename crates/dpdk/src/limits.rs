//! Limits of drivers that are known and not enforced by DPDK, checked before anything is made: above all net_tap's.

use crate::device::Device;
use crate::port::PortConfig;
use crate::port_error::PortError;

/// The most queues a net_tap port may have: its driver of DPDK 22.11 overwrites its stack from five on.
pub const TAP_QUEUES_MAX: u16 = 4;

/// The largest MTU of a net_tap port. Its driver sends frames up to this plus 22 octets (Ethernet and two tags).
pub const TAP_MTU_MAX: u16 = 1504;

/// net_tap holds a buffer for each receive descriptor, but uses one of them at a time: frames wait in the kernel.
pub(crate) const TAP_RX_DESCRIPTORS_MAX: u16 = 16;

/// What is known to go wrong with the device, before anything is made.
pub(crate) fn check(device: &Device, config: &PortConfig) -> Result<(), PortError> {
    let name = || device.name().to_owned();
    for (side, wanted) in [("receive", config.rx_queues), ("transmit", config.tx_queues)] {
        let max = if device.is_tap() { TAP_QUEUES_MAX } else { u16::MAX };
        if wanted == 0 || wanted > max {
            return Err(PortError::QueueCount { device: name(), side, wanted, max });
        }
    }
    if !device.is_tap() {
        return Ok(());
    }
    if config.rx_queues != config.tx_queues {
        return Err(PortError::UnequalQueues { device: name(), rx: config.rx_queues, tx: config.tx_queues });
    }
    if config.mtu > TAP_MTU_MAX {
        return Err(PortError::Mtu { device: name(), wanted: config.mtu, min: 68, max: TAP_MTU_MAX });
    }
    for pair in device.arguments().split(',').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        match key {
            "mac" | "persist" | "remote" => {}
            "iface" => {
                if value.is_empty() || value.len() > 15 || value.contains('/') {
                    return Err(PortError::InterfaceName { device: name(), name: value.to_owned() });
                }
            }
            _ => return Err(PortError::UnknownArgument { device: name(), key: key.to_owned() }),
        }
    }
    Ok(())
}

/// The kernel lets a second tap join one that exists, as further queues of it: two processes would share the frames
/// between them without a word. Only a persistent tap is taken over.
pub(crate) fn check_interface(device: &Device) -> Result<(), PortError> {
    if !device.is_tap() {
        return Ok(());
    }
    let mut name = None;
    for pair in device.arguments().split(',') {
        match pair.split_once('=').unwrap_or((pair, "")) {
            ("persist", _) => return Ok(()),
            ("iface", value) => name = Some(value),
            _ => {}
        }
    }
    match name {
        Some(name) if nix::net::if_::if_nametoindex(name).is_ok() => {
            Err(PortError::InterfaceInUse { device: device.name().to_owned(), name: name.to_owned() })
        }
        _ => Ok(()),
    }
}
