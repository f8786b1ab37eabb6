//! What a YAML file says, with the place of every key and value.
//!
//! The tree is built from the parser's events and not by a deserializer: a deserializer stops at the first thing it
//! cannot use, while here every section reports what is wrong with it and the rest is still looked at.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};
use zeroize::Zeroizing;

use crate::source::{Extent, FileId, Mark};

/// Nodes that one file may have, those that aliases repeat included: an alias bomb ends here.
const NODES_MAX: usize = 2_000_000;
/// How deep maps and lists may be nested; the format itself needs 8.
const DEPTH_MAX: usize = 32;

/// One YAML node.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) kind: Kind,
    pub(crate) at: Extent,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// Any other scalar, as the text that was written: whether `0100` is a number is the reader's to say. It may be a
    /// password, so it is wiped.
    Scalar(Zeroizing<String>),
    List(Vec<Tree>),
    Map(Vec<(Key, Tree)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) at: Extent,
}

/// What is wrong with a file as YAML.
#[derive(Debug)]
pub(crate) struct TreeError {
    pub(crate) at: Extent,
    pub(crate) reason: String,
    pub(crate) help: Option<String>,
}

/// A map or list that is still open.
struct Open {
    at: Extent,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Tree>),
    Map { entries: Vec<(Key, Tree)>, key: Option<Key>, merges: Vec<Tree> },
}

struct Builder {
    stack: Vec<Open>,
    anchors: HashMap<usize, (Tree, usize)>,
    nodes: usize,
    root: Option<Tree>,
    duplicates: Vec<TreeError>,
}

/// Reads one file. Duplicate keys come with the tree (the first of them counts), whatever else is wrong stands alone.
pub(crate) fn read(file: FileId, text: &str) -> Result<(Tree, Vec<TreeError>), TreeError> {
    let mut builder =
        Builder { stack: Vec::new(), anchors: HashMap::new(), nodes: 0, root: None, duplicates: Vec::new() };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => {
                let mark = |marker: granit_parser::Marker| Mark { line: marker.line(), column: marker.col() + 1 };
                builder.event(event, Extent { file, start: mark(span.start), end: mark(span.end) })?;
            }
            Err(error) => {
                let start = Mark { line: error.marker().line().max(1), column: error.marker().col() + 1 };
                return Err(TreeError {
                    at: Extent { file, start, end: start },
                    reason: format!("this is not YAML: {}", error.info()),
                    help: None,
                });
            }
        }
    }
    let start = Mark { line: 1, column: 1 };
    let empty = Tree { kind: Kind::Null, at: Extent { file, start, end: start } };
    Ok((builder.root.unwrap_or(empty), builder.duplicates))
}

fn fail<T>(at: Extent, reason: impl Into<String>) -> Result<T, TreeError> {
    Err(TreeError { at, reason: reason.into(), help: None })
}

impl Builder {
    fn event(&mut self, event: Event<'_>, at: Extent) -> Result<(), TreeError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some() {
                    return fail(at, "YAML tags (`!`) have no use here");
                }
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                let kind = if null { Kind::Null } else { Kind::Scalar(Zeroizing::new(text.into_owned())) };
                self.add(Tree { kind, at }, anchor, 1)
            }
            Event::SequenceStart(_, anchor, tag) => self.open(at, anchor, tag.is_some(), Content::List(Vec::new())),
            Event::MappingStart(_, anchor, tag) => {
                let content = Content::Map { entries: Vec::new(), key: None, merges: Vec::new() };
                self.open(at, anchor, tag.is_some(), content)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(at),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some((tree, nodes)) => {
                    let (mut tree, nodes) = (tree.clone(), *nodes);
                    tree.at = at;
                    self.add(tree, 0, nodes)
                }
                None => fail(at, "this alias stands inside the thing that it stands for"),
            },
            Event::DocumentStart(..) if self.root.is_some() => {
                fail(at, "a second YAML document (`---`) begins here: one file holds one configuration")
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, at: Extent, anchor: usize, tagged: bool, content: Content) -> Result<(), TreeError> {
        if tagged {
            return fail(at, "YAML tags (`!`) have no use here");
        }
        if self.stack.len() >= DEPTH_MAX {
            return fail(at, format!("nested more than {DEPTH_MAX} deep"));
        }
        self.stack.push(Open { at, anchor, content });
        Ok(())
    }

    fn close(&mut self, end: Extent) -> Result<(), TreeError> {
        let Some(Open { at, anchor, content }) = self.stack.pop() else { return Ok(()) };
        let kind = match content {
            Content::List(list) => Kind::List(list),
            Content::Map { mut entries, merges, .. } => {
                // What is written in the map itself wins, then what the first merge brings.
                for merge in merges {
                    let Kind::Map(more) = merge.kind else {
                        return fail(merge.at, "`<<` takes an alias of a map, or a list of them");
                    };
                    for (key, value) in more {
                        if !entries.iter().any(|(known, _)| known.name == key.name) {
                            entries.push((key, value));
                        }
                    }
                }
                Kind::Map(entries)
            }
        };
        let tree = Tree { kind, at: Extent { end: end.end, ..at } };
        self.add(tree, anchor, 1)
    }

    fn add(&mut self, tree: Tree, anchor: usize, nodes: usize) -> Result<(), TreeError> {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            return fail(tree.at, format!("more than {NODES_MAX} keys and values"));
        }
        if anchor != 0 {
            let nodes = count(&tree);
            self.anchors.insert(anchor, (tree.clone(), nodes));
        }
        match self.stack.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(tree),
            Some(Content::List(list)) => list.push(tree),
            Some(Content::Map { entries, key: slot, merges }) => match slot.take() {
                None => {
                    let at = tree.at;
                    let name = match tree.kind {
                        Kind::Scalar(text) => text.to_string(),
                        Kind::Null => "null".into(),
                        _ => return fail(at, "a key must be a plain word"),
                    };
                    *slot = Some(Key { name, at });
                }
                Some(key) if key.name == "<<" => match tree.kind {
                    Kind::List(list) => merges.extend(list),
                    _ => merges.push(tree),
                },
                Some(key) => match entries.iter().find(|(known, _)| known.name == key.name) {
                    Some((known, _)) => self.duplicates.push(TreeError {
                        at: key.at,
                        reason: format!("the key `{}` is already there, in line {}", key.name, known.at.start.line),
                        help: Some("remove one of them".into()),
                    }),
                    None => entries.push((key, tree)),
                },
            },
        }
        Ok(())
    }
}

fn count(tree: &Tree) -> usize {
    match &tree.kind {
        Kind::Null | Kind::Scalar(_) => 1,
        Kind::List(list) => 1 + list.iter().map(count).sum::<usize>(),
        Kind::Map(entries) => 1 + entries.iter().map(|(_, value)| 1 + count(value)).sum::<usize>(),
    }
}
