//! Local users.

use std::collections::HashMap;

use crate::decode::At;
use crate::received::{Root, UserSection};
use crate::source::Sources;
use crate::{AaaMethod, LocalUser};

/// The users of the configuration and those of its file, in this order.
pub(crate) fn users(root: &Root, more: Vec<At<UserSection>>, out: &mut Sources) -> Vec<LocalUser> {
    let local = &root.aaa.local;
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let all: Vec<&At<UserSection>> = local.users.0.iter().chain(&more).collect();
    for user in &all {
        let (here, name) = (&user.name.here, user.name.value.0.as_str());
        match seen.get(name) {
            Some(line) => {
                out.error(here.at, &here.path, format!("the user `{name}` is already there, in line {line}"), None);
            }
            None => {
                seen.insert(name, here.at.start.line);
            }
        }
    }
    let asked = root.profiles.0.iter().any(|(_, p)| p.as_ref().is_some_and(|p| p.aaa.0.contains(&AaaMethod::Local)));
    if asked && all.is_empty() && local.file.is_none() {
        out.hint(local.here.at, &local.here.path, "there is no user: nobody can log in", None);
    }
    all.into_iter()
        .map(|user| LocalUser { name: user.name.value.0.clone(), password: user.password.value.clone() })
        .collect()
}
