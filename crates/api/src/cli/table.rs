//! Tables for terminals.

/// Which side of its column a cell stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Rows under headings, each column as wide as its widest cell.
pub(crate) struct Table {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Side)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    pub(crate) fn render(&self) -> String {
        let headings = self.columns.iter().map(|(heading, _)| (*heading).to_owned()).collect::<Vec<_>>();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.chain(headings.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, side)), width) in row.iter().zip(&self.columns).zip(&widths) {
                let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
                match side {
                    Side::Left => line.push_str(&format!("{cell}{gap}  ")),
                    Side::Right => line.push_str(&format!("{gap}{cell}  ")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Names with their values, the values beneath each other.
pub(crate) fn list(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    fields
        .iter()
        .map(|(name, value)| format!("{name:width$}  {}\n", printable(value)).trim_end().to_owned() + "\n")
        .collect()
}

/// The text without anything that a terminal would obey: user names and circuit ids come from the network.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("NAME", Side::Left), ("PACKETS", Side::Right)]);
        table.row(["a".into(), "1".into()]);
        table.row(["longer".into(), "1234567890".into()]);
        assert_eq!(table.render(), "NAME       PACKETS\na                1\nlonger  1234567890\n");
    }

    #[test]
    fn what_a_terminal_obeys_is_spelt_out() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c"), "a\\u{1b}[31mb\\u{202e}c");
        assert_eq!(printable("zoë"), "zoë");
    }

    #[test]
    fn a_list_of_fields() {
        assert_eq!(list(&[("user", "a".into()), ("mac", String::new())]), "user  a\nmac\n");
    }
}
