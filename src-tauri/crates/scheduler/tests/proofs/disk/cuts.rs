//! Power cuts at any disk call: every acknowledged write survives, and the file is intact.

use rouse_testkit::Dice;
use rouse_testkit::FaultyDisk;
use rouse_testkit::dice::{count_or, first_seed};
use rouse_testkit::faulty_disk::Record;

use super::script::{AcknowledgedWrite, Script, broken};
use super::{folder, folder_of, integrity, open};

/// Records the disk while the store is opened, written to, checkpointed, closed and opened again.
async fn recorded() -> (Record, Vec<AcknowledgedWrite>) {
    let folder = folder();
    let disk = FaultyDisk::over(folder.path());
    disk.record();
    let mut script = Script::new(&disk);
    let mut store = open(folder.path()).await.expect("a store");
    for round in 0..10 {
        script.round(&store, round).await;
        if round % 4 == 1 {
            empty_the_log(folder.path()).await;
        }
        if round % 4 == 3 {
            store.close().await;
            store = open(folder.path()).await.expect("a store");
        }
    }
    store.close().await;
    assert_eq!(script.refused, 0, "nothing failed");
    (disk.recorded(), script.acknowledged)
}

/// Checkpoints the write-ahead log, as SQLite does with a large log.
async fn empty_the_log(folder: &std::path::Path) {
    let url = format!("sqlite:{}", folder.join(super::FILE).display());
    let file = sqlx::SqlitePool::connect(&url).await.expect("opened");
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&file).await.expect("emptied");
    file.close().await;
}

#[tokio::test]
async fn power_cut_keeps_every_acknowledged_write() {
    let (record, acknowledged) = recorded().await;
    let length = record.entries().len();
    let images = count_or(300);
    for n in 0..images {
        let seed = first_seed() + u64::try_from(n).expect("few");
        let mut dice = Dice::new(seed);
        // With enough images, each cut position is tested once before any repeats. Otherwise positions are random.
        let upto = if images >= length { n % (length + 1) } else { dice.below(length + 1) };
        let image = folder_of(&record.image(upto, || dice.number()));
        let noted = record.notes(upto).last().unwrap_or(0);
        let noted = &acknowledged[..usize::try_from(noted).expect("few")];
        let place = format!("ROUSE_SEED={seed}, after {upto} of {length} calls");
        let store = open(image.path()).await.unwrap_or_else(|error| panic!("{place}: {error:?}"));
        let broken = broken(&store, noted).await.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(broken, [], "{place}");
        Script::new(&FaultyDisk::over(image.path())).round(&store, 99).await;
        store.close().await;
        assert_eq!(integrity(image.path()).await, "ok", "{place}");
    }
    println!("{images} images over {length} calls, {} acknowledged writes", acknowledged.len());
}
