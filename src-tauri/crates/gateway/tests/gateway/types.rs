//! The TypeScript export declares every method and every type.

use std::collections::BTreeSet;

use rouse_gateway::{METHODS, export_types};

#[test]
fn every_method_is_exported_once_with_its_types() {
    let folder = tempfile::tempdir().expect("a folder");
    export_types(folder.path()).expect("the types");
    let text = std::fs::read_to_string(folder.path().join("index.ts")).expect("a file");
    let names: BTreeSet<&&str> = METHODS.iter().collect();
    assert_eq!(names.len(), METHODS.len());
    let declared: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("export type ")?.split([' ', '<']).next())
        .collect();
    let (_, methods) = text.split_once("export type Methods").expect("the methods");
    for method in METHODS {
        let line = format!("\"{method}\": {{ params: ");
        assert_eq!(methods.matches(&line).count(), 1, "{method}");
    }
    let used = methods.lines().filter_map(|line| line.split_once("{ params: "));
    for (_, types) in used {
        for name in types.trim_end_matches(" };").split("; result: ") {
            assert!(declared.contains(name), "{name}");
        }
    }
}
