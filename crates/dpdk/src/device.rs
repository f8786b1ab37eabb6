//! What a port is made of: a virtual device of DPDK's or a PCI address.

use std::ffi::CString;
use std::fmt;

/// A device as the configuration names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Device {
    /// A virtual device: its name, which starts with the driver's (`net_tap0`), and what stands behind the comma.
    Virtual {
        /// Driver and number, for example `net_tap0`. Unique in the process.
        name: String,
        /// `key=value` pairs joined by commas, for example `iface=acc0`. May be empty.
        arguments: String,
    },
    /// A card, by its PCI address with the domain: `0000:3b:00.0`.
    Pci {
        /// The address, lower case, with the domain.
        address: String,
        /// `key=value` pairs for the driver. May be empty.
        arguments: String,
    },
}

/// What is wrong with the text of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Neither a PCI address nor the name of a virtual device.
    #[error(
        "\"{text}\" is no device: give a PCI address such as 0000:3b:00.0, or a virtual device such as \
         \"net_tap0,iface=acc0\""
    )]
    Unknown {
        /// The text as given.
        text: String,
    },
    /// The name of a virtual device is longer than DPDK takes.
    #[error("the device name \"{name}\" is longer than {max} characters", max = Device::NAME_MAX)]
    TooLong {
        /// The name as given.
        name: String,
    },
}

impl Device {
    /// The longest name DPDK takes, without the final zero (RTE_DEV_NAME_MAX_LEN).
    pub const NAME_MAX: usize = 63;

    /// Reads the text of a configuration.
    ///
    /// # Errors
    /// [`DeviceError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown { text: text.to_owned() };
        if text.contains('\0') || text.chars().any(char::is_whitespace) {
            return Err(unknown());
        }
        let (name, arguments) = text.split_once(',').unwrap_or((text, ""));
        if let Some(address) = pci_address(name) {
            return Ok(Self::Pci { address, arguments: arguments.to_owned() });
        }
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !name.starts_with("net_") || !plain {
            return Err(unknown());
        }
        if name.len() > Self::NAME_MAX {
            return Err(DeviceError::TooLong { name: name.to_owned() });
        }
        Ok(Self::Virtual { name: name.to_owned(), arguments: arguments.to_owned() })
    }

    /// The name under which DPDK knows the port.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Virtual { name, .. } => name,
            Self::Pci { address, .. } => address,
        }
    }

    /// The PCI address, where it is a card.
    #[must_use]
    pub fn pci_address(&self) -> Option<&str> {
        match self {
            Self::Virtual { .. } => None,
            Self::Pci { address, .. } => Some(address),
        }
    }

    /// The NUMA node that the device sits on; none for a virtual device, or where the machine does not say.
    #[must_use]
    pub fn numa_node(&self) -> Option<u32> {
        let address = self.pci_address()?;
        let text = std::fs::read_to_string(format!("/sys/bus/pci/devices/{address}/numa_node")).ok()?;
        text.trim().parse().ok()
    }

    /// True for the driver that makes Linux taps, which has limits of its own.
    #[must_use]
    pub fn is_tap(&self) -> bool {
        matches!(self, Self::Virtual { name, .. } if name.starts_with("net_tap"))
    }

    pub(crate) fn bus(&self) -> &'static std::ffi::CStr {
        match self {
            Self::Virtual { .. } => c"vdev",
            Self::Pci { .. } => c"pci",
        }
    }

    pub(crate) fn arguments(&self) -> &str {
        match self {
            Self::Virtual { arguments, .. } | Self::Pci { arguments, .. } => arguments,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A C string of a text that [`Device::parse`] or a caller has already cleared of zeros; one that still holds some
/// ends at the first.
pub(crate) fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// `dddd:bb:dd.f` or `bb:dd.f` in hexadecimal, as lspci prints it; the answer has the domain.
fn pci_address(text: &str) -> Option<String> {
    let (rest, function) = text.rsplit_once('.')?;
    let parts: Vec<&str> = rest.split(':').collect();
    let (domain, bus, slot) = match parts.as_slice() {
        [bus, slot] => ("0000", *bus, *slot),
        [domain, bus, slot] => (*domain, *bus, *slot),
        _ => return None,
    };
    let hex = |part: &str, digits: usize| part.len() == digits && part.bytes().all(|b| b.is_ascii_hexdigit());
    let function_ok = matches!(function.as_bytes(), [b'0'..=b'7']);
    (hex(domain, 4) && hex(bus, 2) && hex(slot, 2) && function_ok)
        .then(|| format!("{domain}:{bus}:{slot}.{function}").to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_device_keeps_its_arguments() {
        let device = Device::parse("net_tap0,iface=acc0,mac=02:00:00:00:00:01").unwrap();
        assert_eq!(device.name(), "net_tap0");
        assert_eq!(device.arguments(), "iface=acc0,mac=02:00:00:00:00:01");
        assert!(device.is_tap());
        assert_eq!(device.numa_node(), None);
    }

    #[test]
    fn a_pci_address_gets_its_domain() {
        assert_eq!(Device::parse("3B:00.0").unwrap().name(), "0000:3b:00.0");
        assert_eq!(Device::parse("0001:3b:00.7").unwrap().pci_address(), Some("0001:3b:00.7"));
    }

    #[test]
    fn what_is_no_device_is_refused_with_an_example() {
        for text in ["", "eth0", "0000:3b:00", "0000:3b:00.8", "g000:3b:00.0", "net_tap 0", "net_tap0\0", "net-tap0"] {
            let error = Device::parse(text).unwrap_err().to_string();
            assert!(error.contains("net_tap0,iface=acc0"), "{text}: {error}");
        }
        assert!(matches!(Device::parse(&format!("net_{}", "x".repeat(60))), Err(DeviceError::TooLong { .. })));
    }
}
