//! TypeScript knows every method.

use std::collections::BTreeSet;

use rouse_gateway::{METHODS, export_types};

#[test]
fn every_method_is_exported_once() {
    let folder = tempfile::tempdir().expect("a folder");
    export_types(folder.path()).expect("the types");
    let methods = std::fs::read_to_string(folder.path().join("methods.ts")).expect("a file");
    for method in METHODS {
        assert_eq!(methods.matches(&format!("\"{method}\":")).count(), 1, "{method}");
    }
    let names: BTreeSet<&&str> = METHODS.iter().collect();
    assert_eq!(names.len(), METHODS.len());
    for line in methods.lines().filter(|line| line.starts_with("import")) {
        let file = line.rsplit('"').nth(1).expect("a path");
        let path = folder.path().join(format!("{}.ts", file.trim_start_matches("./")));
        assert!(path.exists(), "{line}");
    }
}
