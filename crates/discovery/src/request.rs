//! What a PADI or PADR says: its tags, read once.

use bng_wire::pppoe::access_line::{AccessLineRead, VENDOR_BROADBAND_FORUM};
use bng_wire::pppoe::{AccessLine, TagError, TagType, Tags};

use crate::outcome::DiscoveryDrop;

/// The tags of a PADI or PADR that mean something here. Of a tag that comes twice the first counts, except for the access
/// line.
#[derive(Debug, Default)]
pub(crate) struct RequestTags<'a> {
    /// The one Service-Name.
    pub(crate) service_name: &'a [u8],
    pub(crate) host_uniq: Option<&'a [u8]>,
    pub(crate) cookie: Option<&'a [u8]>,
    pub(crate) relay_session_id: Option<&'a [u8]>,
    /// A PPP-Max-Payload of the right length.
    pub(crate) max_payload: Option<u16>,
    /// The value of the last Vendor-Specific tag that describes the access line: access nodes append theirs, so one that
    /// the client forged in front of it is not believed.
    access_line: Option<&'a [u8]>,
}

impl<'a> RequestTags<'a> {
    /// Reads all tags; one that is malformed makes the packet so.
    pub(crate) fn read(tags: Tags<'a>) -> Result<Self, DiscoveryDrop> {
        let mut read = Self::default();
        let mut service_name = None;
        let mut several = false;
        for tag in tags {
            let tag = tag.map_err(malformed)?;
            match tag.kind {
                TagType::SERVICE_NAME => several |= service_name.replace(tag.value).is_some(),
                TagType::HOST_UNIQ => read.host_uniq = read.host_uniq.or(Some(tag.value)),
                TagType::AC_COOKIE => read.cookie = read.cookie.or(Some(tag.value)),
                TagType::RELAY_SESSION_ID => read.relay_session_id = read.relay_session_id.or(Some(tag.value)),
                TagType::PPP_MAX_PAYLOAD => {
                    // RFC 4638 section 3: two octets. Any other length is not this tag.
                    read.max_payload = read.max_payload.or_else(|| tag.value.try_into().ok().map(u16::from_be_bytes));
                }
                TagType::VENDOR_SPECIFIC if tag.value.starts_with(&VENDOR_BROADBAND_FORUM) => {
                    read.access_line = Some(tag.value);
                }
                // RFC 2516 section 5: an unknown tag MUST be ignored.
                _ => {}
            }
        }
        // RFC 2516 sections 5.1 and 5.3: exactly one Service-Name.
        if several {
            return Err(DiscoveryDrop::SeveralServiceNames);
        }
        read.service_name = service_name.ok_or(DiscoveryDrop::NoServiceName)?;
        Ok(read)
    }

    /// The access line, where the access node describes it.
    pub(crate) fn access_line(&self) -> Option<AccessLineRead> {
        self.access_line.and_then(AccessLine::from_vendor_tag)
    }
}

/// The reason for a tag that cannot be read.
pub(crate) const fn malformed(error: TagError) -> DiscoveryDrop {
    match error {
        TagError::HeaderCut { .. } => DiscoveryDrop::TagHeaderCut,
        TagError::ValueCut { .. } => DiscoveryDrop::TagValueCut,
    }
}
