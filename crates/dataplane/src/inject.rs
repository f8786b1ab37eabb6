//! What control asks a worker to do with a frame: the `kind` of a record of the inject ring.

/// What a worker does with a frame of the inject ring. The record's `port` says on which port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum InjectKind {
    /// Send it as it is.
    Transmit = 0,
    /// Take it through the pipeline as though it had just been received: a frame that was held for a neighbour.
    Receive = 1,
}

impl InjectKind {
    /// The inverse of `as u8`.
    #[must_use]
    pub const fn from_u8(value: u8) -> Option<Self> {
        match value {
            0 => Some(Self::Transmit),
            1 => Some(Self::Receive),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        for kind in [InjectKind::Transmit, InjectKind::Receive] {
            assert_eq!(InjectKind::from_u8(kind as u8), Some(kind));
        }
        assert_eq!(InjectKind::from_u8(2), None);
    }
}
