//! Files that tool calls returned.

use rouse_core::attachment::{Attachment, MAX_ATTACHMENT_BYTES, MediaKind};

use super::steps::step;
use super::*;
use crate::{CallAttachment, StepEnd, StepKind, StepStatus, StoreError};

/// A finished step with these files; returns the number.
pub(super) async fn call_with_files(store: &Store, run: &RunId, files: &[Attachment]) -> u32 {
    let seq = store.begin_step(&step(run, StepKind::ToolCall, true), NOW).await.unwrap();
    store.end_call(run, seq, &finished(), files, NOW).await.unwrap();
    seq
}

fn finished() -> StepEnd {
    StepEnd {
        status: StepStatus::Finished,
        output: None,
        is_error: false,
        usage: Usage::default(),
        duration_ms: None,
    }
}

#[tokio::test]
async fn files_of_a_call_are_kept_in_order() {
    let fixture = Fixture::new().await;
    let (a, b) = (fixture.running("a").await, fixture.running("b").await);
    let files = [
        Attachment::new("chart.png", MediaKind::Png, vec![1, 0, 255]),
        Attachment::new("report.pdf", MediaKind::Pdf, b"%PDF-1.7".to_vec()),
    ];
    let store = &fixture.store;
    assert_eq!(call_with_files(store, &a, &[]).await, 1);
    assert_eq!(call_with_files(store, &a, &files).await, 2);
    let file = |name: &str, kind, size| CallAttachment {
        step: 2,
        name: name.to_owned(),
        kind,
        size,
        is_kept: true,
    };
    let kept = [file("chart.png", MediaKind::Png, 3), file("report.pdf", MediaKind::Pdf, 8)];
    assert_eq!(store.call_attachments(&a).await.unwrap(), kept);
    assert_eq!(store.call_attachments(&b).await.unwrap(), []);
    let first = store.call_attachment(&a, 2, 0).await.unwrap();
    assert_eq!(first, Some((MediaKind::Png, vec![1, 0, 255])));
    let second = store.call_attachment(&a, 2, 1).await.unwrap();
    assert_eq!(second, Some((MediaKind::Pdf, b"%PDF-1.7".to_vec())));
    for (run, step, position) in [(&a, 2, 2), (&a, 1, 0), (&b, 2, 0)] {
        assert_eq!(store.call_attachment(run, step, position).await.unwrap(), None);
    }
}

#[tokio::test]
async fn files_beyond_the_limit_of_a_run_are_only_named() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let large = Attachment::new("large.png", MediaKind::Png, vec![0; MAX_ATTACHMENT_BYTES]);
    let small = Attachment::new("small.png", MediaKind::Png, vec![0; 1_000]);
    let mut dropped = small.clone();
    dropped.drop_data();
    // Five large files are 18.75 MB.
    let files = [vec![large; 6], vec![small, dropped]].concat();
    let seq = call_with_files(&fixture.store, &id, &files).await;
    let listed = fixture.store.call_attachments(&id).await.unwrap();
    let kept: Vec<bool> = listed.iter().map(|file| file.is_kept).collect();
    assert_eq!(kept, [true, true, true, true, true, false, true, false]);
    assert_eq!(listed[5].size, 3_750_000);
    assert_eq!(fixture.store.call_attachment(&id, seq, 5).await.unwrap(), None);
}

#[tokio::test]
async fn files_of_a_missing_step_are_not_kept() {
    let fixture = Fixture::new().await;
    let id = fixture.running("a").await;
    let file = Attachment::new("chart.png", MediaKind::Png, vec![1]);
    let lost = fixture.store.end_call(&id, 1, &finished(), &[file], NOW).await;
    assert!(matches!(lost, Err(StoreError::NotFound { what: "step", .. })), "{lost:?}");
    assert_eq!(fixture.store.call_attachments(&id).await.unwrap(), []);
}
