//! The name by which DHCPv6 clients know the box.

use std::path::Path;

use anyhow::Context as _;
use bng_wire::MacAddr;
use tracing::{info, warn};

/// DUID-UUID (RFC 6355), DUID-LL and the hardware type of Ethernet (RFC 8415 section 11.4).
const DUID_UUID: u16 = 4;
const DUID_LL: u16 = 3;
const ETHERNET: u16 = 1;

/// The box's DUID: from the file `duid` in `folder`, which is made at the first start. RFC 8415 section 11: it stays the
/// same as long as the box lives, or clients would take its leases for another server's. Where the file cannot be kept,
/// the DUID is made from `mac`, with a warning.
///
/// # Errors
/// The kernel gives no randomness.
pub fn load(folder: &Path, mac: MacAddr) -> anyhow::Result<Vec<u8>> {
    let path = folder.join("duid");
    match std::fs::read_to_string(&path).map(|text| decode(text.trim())) {
        Ok(Some(duid)) => return Ok(duid),
        Ok(None) => warn!(path = %path.display(), "the DUID in this file cannot be read: a new one is made"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            warn!(path = %path.display(), %error, "the DUID cannot be read: it is made from a MAC address");
            return Ok(from_mac(mac));
        }
    }
    let mut uuid = [0u8; 16];
    getrandom::fill(&mut uuid).map_err(|error| anyhow::anyhow!("the kernel gives no randomness: {error}"))?;
    // RFC 9562 section 5.4: version 4, variant 10.
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    let duid = [&DUID_UUID.to_be_bytes()[..], &uuid].concat();
    match keep(folder, &path, &duid) {
        Ok(()) => {
            info!(path = %path.display(), "a DUID was made");
            Ok(duid)
        }
        Err(error) => {
            warn!("{error:#}: the DUID is made from a MAC address");
            Ok(from_mac(mac))
        }
    }
}

/// Whole or not at all, so that a power cut leaves no half of it.
fn keep(folder: &Path, path: &Path, duid: &[u8]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let part = path.with_extension("part");
    let text: String = duid.iter().map(|octet| format!("{octet:02x}")).collect();
    std::fs::write(&part, text + "\n").with_context(|| format!("{} cannot be written", part.display()))?;
    std::fs::rename(&part, path).with_context(|| format!("{} cannot be written", path.display()))
}

fn from_mac(mac: MacAddr) -> Vec<u8> {
    [&DUID_LL.to_be_bytes()[..], &ETHERNET.to_be_bytes(), &mac.0].concat()
}

/// 3 to 130 octets in hexadecimal: a type and something behind it (RFC 8415 section 11.1).
fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    (3..=130).contains(&pairs.len()).then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_at_every_start() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let first = load(&state, MacAddr([2; 6])).unwrap();
        assert_eq!((first.len(), &first[..2]), (18, &[0, 4][..]));
        assert_eq!(load(&state, MacAddr([3; 6])).unwrap(), first);
        // Spoilt, it is made anew and kept.
        std::fs::write(state.join("duid"), "0004zz").unwrap();
        let second = load(&state, MacAddr([2; 6])).unwrap();
        assert_ne!(second, first);
        assert_eq!(load(&state, MacAddr([2; 6])).unwrap(), second);
    }

    #[test]
    fn without_a_place_to_keep_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let duid = load(&file, MacAddr([2, 0, 0, 0, 0, 9])).unwrap();
        assert_eq!(duid, [0, 3, 0, 1, 2, 0, 0, 0, 0, 9]);
    }
}
