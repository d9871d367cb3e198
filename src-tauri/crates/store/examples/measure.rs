use rouse_core::job::stored_job_from_json;
use rouse_core::run::Usage;
use rouse_core::*;
use rouse_store::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
const NOW: UnixMs = UnixMs(1_800_000_000_000);
fn job(id: &str) -> Job {
    let mut j = stored_job_from_json(json!({"id": id,"name": format!("Job {id}"),"description":"A test job for the measurement","createdAtMs": NOW.0,"updatedAtMs": NOW.0,
        "schedule": { "kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin" },
        "payload": { "kind": "agentTurn", "message": "Look at the news and tell me about anything that has to do with SQLite", "deliver": true },
        "policies": {"notify":"findings","timeoutSeconds":120}})).unwrap();
    j.state.next_run_at = Some(NOW);
    j
}
fn run(j: &str) -> Run {
    Run { id: RunId::generate(NOW), job_id: Some(JobId::new(j)), job_name: "Job".into(), slot_at: Some(NOW), trigger: RunTrigger::Schedule, state: RunState::Queued,
        reason: None, stands_for: 1, created_at: NOW, started_at: None, finished_at: None, attempt: 0, retry_of: None, summary: None, error: None, session: None, model: None,
        usage: Usage::default(), payload: json!({ "kind": "agentTurn", "message": "Look at the news and tell me about anything that has to do with SQLite", "deliver": true }) }
}
fn rss() -> String { std::fs::read_to_string("/proc/self/status").unwrap().lines().filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM")).collect::<Vec<_>>().join(" ") }
#[tokio::main]
async fn main() {
    let n: usize = std::env::args().nth(1).map_or(10_000, |a| a.parse().unwrap());
    let dir = std::path::PathBuf::from(std::env::args().nth(2).unwrap_or("/tmp/rouse-measure".into()));
    let _ = std::fs::remove_dir_all(&dir);
    let path = dir.join("r.db");
    let quiet: EventListener = Arc::new(|_| {});
    macro_rules! time { ($name:expr, $e:expr) => {{ let t = Instant::now(); let r = $e; println!("{:40} {:10.3} ms   {}", $name, t.elapsed().as_secs_f64()*1e3, rss()); r }} }
    let store = time!("open new", Store::open(&path, quiet.clone()).await.unwrap());
    let jobs: Vec<Job> = (0..n).map(|i| job(&format!("{i:08}-aaaa-bbbb-cccc-0123456789ab"))).collect();
    time!(format!("insert {n} jobs one by one"), for j in &jobs { store.insert_job(j, NOW).await.unwrap(); });
    time!("close", store.close().await);
    for _ in 0..3 { let s = time!("open", Store::open(&path, quiet.clone()).await.unwrap()); s.close().await; }
    let store = Store::open(&path, quiet.clone()).await.unwrap();
    time!("first next_due (opens reader)", store.next_due_at().await.unwrap());
    time!("next_due", store.next_due_at().await.unwrap());
    time!("insert 1", store.insert_job(&job("x1"), NOW).await.unwrap());
    time!("insert 1", store.insert_job(&job("x2"), NOW).await.unwrap());
    time!("job_counts", store.job_counts().await.unwrap());
    time!("jobs()", store.jobs(&JobQuery::default()).await.unwrap().len());
    time!("jobs()", store.jobs(&JobQuery::default()).await.unwrap().len());
    let t = Instant::now(); let docs: Vec<String> = jobs.iter().map(|j| rouse_core::job::job_to_json(j).to_string()).collect();
    println!("job_to_json {:?}", t.elapsed());
    let t = Instant::now(); let v: Vec<serde_json::Value> = docs.iter().map(|d| serde_json::from_str(d).unwrap()).collect();
    println!("parse json {:?}", t.elapsed());
    let t = Instant::now(); for d in v { stored_job_from_json(d).unwrap(); } 
    println!("stored_job {:?}", t.elapsed());
    for k in [1000.min(n), n] {
        store.set_next_run(&jobs.iter().map(|j| (j.id.clone(), Some(NOW))).collect::<Vec<_>>(), NOW).await.unwrap();
        let due = time!(format!("due_jobs {k}"), store.due_jobs(NOW, k as u32).await.unwrap());
        let claims: Vec<Claim> = due.iter().enumerate().map(|(i, d)| { let mut r = run(d.job.id.as_str()); r.slot_at = Some(UnixMs(NOW.0 + (k + i) as i64)); Claim { job_id: d.job.id.clone(), slot_at: NOW, next_run_at: Some(UnixMs(NOW.0 + 60_000)), runs: vec![r] }}).collect();
        let ids = time!(format!("claim {k}"), store.claim(&claims, NOW).await.unwrap());
        time!(format!("start {k}"), store.start_runs(&ids, NOW).await.unwrap());
        let some = &ids[..200.min(ids.len())];
        time!("finish 200 one by one", for id in some { store.finish_run(&Finish { run_id: id.clone(), outcome: Outcome::succeeded("ok"), deliveries: vec![], system_event: None, delete_job: false, now: NOW }).await.unwrap(); });
    }
    time!("recent_states all", store.recent_states(&jobs.iter().map(|j| j.id.clone()).collect::<Vec<_>>(), 14).await.unwrap().len());
    time!("runs page", store.runs(&RunQuery::default()).await.unwrap().total);
    time!("runs page failed", store.runs(&RunQuery { states: vec![RunState::Failed, RunState::TimedOut], ..RunQuery::default() }).await.unwrap().total);
    time!("set_next_run all", store.set_next_run(&jobs.iter().map(|j| (j.id.clone(), Some(UnixMs(NOW.0 + 5)))).collect::<Vec<_>>(), NOW).await.unwrap());
    time!("close", store.close().await);
    println!("{}", rss());
}
