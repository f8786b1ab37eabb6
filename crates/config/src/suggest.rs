//! What was likely meant by a name that nobody knows.

/// The one of `known` that is nearest to `name`, if any is near enough to be worth a question.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_lowercase().replace('-', "_");
    let allowed = (name.chars().count() / 3).max(1);
    known
        .iter()
        .map(|known| (distance(&lower, &known.to_lowercase().replace('-', "_")), *known))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// How many single-character insertions, removals, replacements and swaps of neighbours lead from one to the other
/// (optimal string alignment).
fn distance(one: &str, two: &str) -> usize {
    let one: Vec<char> = one.chars().take(64).collect();
    let two: Vec<char> = two.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let mut best = (row[j] + 1).min(last[j + 1] + 1).min(last[j] + usize::from(a != b));
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (one, two, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("mtu", "mtu", 0),
            ("mut", "mtu", 1),
            ("pool4", "pool5", 1),
            ("queus", "queues", 1),
        ] {
            assert_eq!(distance(one, two), expected, "{one} {two}");
            assert_eq!(distance(two, one), expected, "{two} {one}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["device", "mtu", "queues", "echo_interval"];
        assert_eq!(nearest("devise", &known), Some("device"));
        assert_eq!(nearest("MTU", &known), Some("mtu"));
        assert_eq!(nearest("echo-interval", &known), Some("echo_interval"));
        assert_eq!(nearest("speed", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
